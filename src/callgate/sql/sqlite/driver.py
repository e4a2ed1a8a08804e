"""SqliteDriver: one file, a pool of connections in worker threads. Implements `driver.Driver`.

Talks; does not judge. The session it opens holds the policy by itself (`connection`, `authorizer`).
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from callgate.model import error_codes as codes
from callgate.model.errors import SourceError
from callgate.sql.driver import StatementResult
from callgate.sql.guard.judgement import Statement
from callgate.sql.policy import Policy
from callgate.sql.sqlite.connection import FileConnection, check_file, identity_of, open_connection
from callgate.sql.sqlite.failures import explain_failure, out_of_memory
from callgate.sql.sqlite.session_limits import read_schema
from callgate.sql.sqlite.statement_run import run_statement
from callgate.sql.workers.job import Job, Stopped, StopReason
from callgate.sql.workers.pool import Pool, PoolBusy

# interrupt() does nothing when it comes before the statement has begun; the flag is looked at again every so
# many steps of SQLite's machine (about a millisecond's worth).
_STEPS_BETWEEN_CHECKS = 100_000


class SqliteDriver:
    def __init__(self, path: Path, policy: Policy, pool_size: int) -> None:
        self._path = path
        self._policy = policy
        self._last_failure: str | None = None
        self._pool: Pool[FileConnection] = Pool(
            "callgate-sqlite", pool_size, policy.limits.timeout_s, self._ready_connection
        )

    @property
    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        try:
            results = await self._pool.run(lambda connection, job: self._run(connection, job, statements))
        except Stopped as stopped:
            raise self._stopped(stopped.reason) from None
        except PoolBusy:
            raise SourceError(
                codes.SOURCE_TIMEOUT,
                f"No connection became free within {self._policy.limits.timeout_s:g} s.",
                hint="Other queries are still running. Try again in a moment.",
            ) from None
        except SourceError as error:
            if error.code is codes.SOURCE_UNAVAILABLE:
                self._last_failure = f"{error.message} {error.hint}".strip()
            # The operator sees the whole path (`trouble`); a caller has no use for our folders.
            error.message = error.message.replace(str(self._path), self._path.name)
            raise
        self._last_failure = None
        return results

    def trouble(self) -> str | None:
        try:
            check_file(self._path)
        except SourceError as error:
            return f"{error.message} {error.hint}".strip()
        return self._last_failure

    async def close(self) -> None:
        await self._pool.close()

    def _ready_connection(self, held: FileConnection | None) -> FileConnection:
        """In a worker's thread, before each job: the file may have been replaced, or have come back."""
        try:
            if held is not None:
                if not held.is_spent and held.identity == identity_of(self._path):
                    return self._refreshed(held)
                held.close()
            return open_connection(self._path, self._policy)
        except MemoryError:
            if held is not None:
                held.close()
            raise out_of_memory() from None

    def _refreshed(self, held: FileConnection) -> FileConnection:
        try:
            read_schema(held, self._policy.catalogue)
        except sqlite3.Error as error:
            if "locked" not in str(error):  # that one passes, and the statement itself says it best
                held.close()
                return open_connection(self._path, self._policy)
        return held

    def _run(
        self,
        connection: FileConnection,
        job: Job[FileConnection, tuple[StatementResult, ...]],
        statements: Sequence[Statement],
    ) -> tuple[StatementResult, ...]:
        results: list[StatementResult] = []
        connection.set_progress_handler(job.is_stopped, _STEPS_BETWEEN_CHECKS)
        try:
            for statement in statements:
                if job.stop_reason is not None:
                    raise Stopped(job.stop_reason)
                results.append(self._run_one(connection, statement, done=len(results), count=len(statements)))
        finally:
            connection.set_progress_handler(None, 0)
            # A transaction ends with its call, whatever happened in between.
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.rollback()
        return tuple(results)

    def _run_one(
        self, connection: sqlite3.Connection, statement: Statement, *, done: int, count: int
    ) -> StatementResult:
        try:
            return run_statement(connection, statement, self._policy.limits)
        except (sqlite3.Error, MemoryError) as error:
            told = explain_failure(error, statement, connection, self._policy)
            if count > 1:
                told.message += f" (Statement {done + 1} of {count}; {done} before it were run.)"
            raise told from error

    def _stopped(self, reason: StopReason) -> SourceError:
        if reason is StopReason.TIMEOUT:
            limit_ms = round(self._policy.limits.timeout_s * 1000)
            return SourceError(
                codes.SOURCE_TIMEOUT,
                f"Query execution timeout exceeded ({limit_ms} ms).",
                hint="Suggestions:\n"
                "- Add a LIMIT clause to reduce result set size\n"
                "- Add WHERE clauses to filter data more specifically\n"
                "- Use indexes on filtered columns (see EXPLAIN QUERY PLAN)\n"
                "- The operator can raise timeout_s for this source",
            )
        return SourceError(codes.SOURCE_UNAVAILABLE, "the source was closed.", hint="")
