"""Calls on a database that is a file: through a pool of workers, failures worded for callers and operators.

No engine is known here: how a connection is made ready and how statements run on it is handed in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from callgate.model import error_codes as codes
from callgate.model.errors import SourceError
from callgate.sql.drivers.driver import StatementResult
from callgate.sql.drivers.workers.job import Job, Stopped, StopReason
from callgate.sql.drivers.workers.pool import WorkerPool, WorkersBusy
from callgate.sql.drivers.workers.worker import Interruptible
from callgate.sql.guard.policy import Policy

Connection = TypeVar("Connection", bound=Interruptible)
Results = tuple[StatementResult, ...]


@dataclass(frozen=True, slots=True)
class FileWords:
    """What an engine says differently."""

    pool_name: str
    check_file: Callable[[Path], object]  # raises SourceError when the file cannot be used
    faster: str  # what makes a slow statement faster on this engine


class FileCalls(Generic[Connection]):
    def __init__(
        self,
        path: Path,
        policy: Policy,
        pool_size: int,
        words: FileWords,
        ready: "Callable[[Connection | None], Connection]",
    ) -> None:
        self._path = path
        self._timeout_s = policy.limits.timeout_s
        self._words = words
        self._last_failure: str | None = None
        self._pool: WorkerPool[Connection] = WorkerPool(words.pool_name, pool_size, self._timeout_s, ready)

    async def run(self, work: "Callable[[Connection, Job[Connection, Results]], Results]") -> Results:
        try:
            results = await self._pool.run(work)
        except Stopped as stopped:
            raise self._stopped(stopped.reason) from None
        except WorkersBusy:
            raise SourceError(
                codes.SOURCE_TIMEOUT,
                f"No connection became free within {self._timeout_s:g} s.",
                hint="Other queries are still running. Try again in a moment.",
            ) from None
        except SourceError as error:
            if error.code is codes.SOURCE_UNAVAILABLE:
                self._last_failure = f"{error.message} {error.operator_hint}".strip()
            # The operator sees the whole path (`trouble`); a caller has no use for our folders.
            error.message = error.message.replace(str(self._path), self._path.name)
            raise
        self._last_failure = None
        return results

    def trouble(self) -> str | None:
        try:
            self._words.check_file(self._path)
        except SourceError as error:
            return f"{error.message} {error.hint}".strip()
        return self._last_failure

    async def close(self) -> None:
        await self._pool.close()

    def _stopped(self, reason: StopReason) -> SourceError:
        if reason is not StopReason.TIMEOUT:
            return SourceError(codes.SOURCE_UNAVAILABLE, "the source was closed.", hint="")
        return SourceError(
            codes.SOURCE_TIMEOUT,
            f"Query execution timeout exceeded ({round(self._timeout_s * 1000)} ms).",
            hint="Suggestions:\n"
            "- Add a LIMIT clause to reduce result set size\n"
            "- Add WHERE clauses to filter data more specifically\n"
            f"- {self._words.faster}\n"
            "- The operator can raise timeout_s for this source",
            operator_hint=f"See whether it is overloaded, or raise timeout_s. {self._words.faster}.",
        )
