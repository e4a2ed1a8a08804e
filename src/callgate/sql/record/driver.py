"""ExcerptDriver: takes an excerpt for a call, has DuckDB's own driver run the call on it, and removes it.

Implements `driver.Driver`. What a DuckDB source is held to holds here too: a process of its own with a limit
of memory, time-outs that kill, no file and no network beside the one file.
"""

from collections.abc import Sequence
from importlib.metadata import version

from msgspec.structs import replace

from callgate.model import error_codes as codes
from callgate.model.errors import SetupError, SourceError
from callgate.ports.record_queries import RecordExcerpts
from callgate.sql.drivers.driver import StatementResult
from callgate.sql.drivers.posture import Posture
from callgate.sql.engines.duckdb.driver.driver import DuckdbDriver
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.record.turns import Turns


class ExcerptDriver:
    def __init__(self, excerpts: RecordExcerpts, principal: str, policy: Policy, turns: Turns) -> None:
        """`turns`: how many calls of all principals run at once."""
        self._excerpts = excerpts
        self._principal = principal
        self._policy = policy
        self._turns = turns
        self._trouble: str | None = None

    @property
    def version(self) -> str:
        return f"DuckDB {version('duckdb')}"

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        busy = SourceError(
            codes.SOURCE_TIMEOUT,
            "Other queries of the record are still running.",
            hint="Try again in a moment.",
        )
        async with self._turns.taken(self._policy.limits.timeout_s, busy):
            return await self._run(statements)

    def placeholder(self, index: int) -> str:
        return f"${index}"

    async def posture(self) -> Posture:
        return Posture(self.version)

    def trouble(self) -> str | None:
        return self._trouble

    async def close(self) -> None:
        """Nothing outlives its call."""

    async def _run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        try:
            excerpt = await self._excerpts.take(self._principal, [one.text for one in statements])
        except SetupError as error:
            self._trouble = f"{error.message}. {error.hint}"
            raise SourceError(
                codes.SOURCE_UNAVAILABLE,
                "the record cannot be read from here.",
                hint="Tell the operator: /healthz says what is wrong.",
            ) from error
        self._trouble = None
        driver = DuckdbDriver(excerpt.path, self._policy, pool_size=1)
        try:
            results = await driver.run(statements)
        finally:
            await driver.close()
            excerpt.path.unlink(missing_ok=True)
        if not excerpt.left_out or not any(one.tables for one in statements):
            return results
        note = f"{excerpt.left_out:,} older calls of yours are left out."
        return tuple(replace(result, note=note) for result in results)
