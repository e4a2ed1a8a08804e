"""SqliteDriver: one file, a pool of connections in worker threads. Implements `driver.Driver`.

Talks; does not judge. The session it opens holds the policy by itself (`connection`, `authorizer`).
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from callgate.sql.drivers.driver import Cell, Column, StatementResult
from callgate.sql.drivers.posture import Posture
from callgate.sql.drivers.workers.file_calls import FileCalls, FileWords
from callgate.sql.drivers.workers.job import Job, Stopped
from callgate.sql.engines.sqlite.driver.authorizer import make_authorizer
from callgate.sql.engines.sqlite.driver.connection import (
    FileConnection,
    check_file,
    identity_of,
    open_connection,
)
from callgate.sql.engines.sqlite.failures import explain_failure, out_of_memory
from callgate.sql.engines.sqlite.session_limits import read_schema
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits, Policy
from callgate.sql.results.cells import RawCell, merge_types, to_cell, type_of

# interrupt() does nothing when it comes before the statement has begun; the flag is looked at again every so
# many steps of SQLite's machine (about a millisecond's worth).
_STEPS_BETWEEN_CHECKS = 100_000
_WORDS = FileWords("callgate-sqlite", check_file, "Use indexes on filtered columns (see EXPLAIN QUERY PLAN)")


class SqliteDriver:
    def __init__(self, path: Path, policy: Policy, pool_size: int) -> None:
        self._path = path
        self._policy = policy
        self._calls: FileCalls[FileConnection] = FileCalls(
            path, policy, pool_size, _WORDS, self._ready_connection
        )

    @property
    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        return await self._calls.run(lambda connection, job: self._run(connection, job, statements))

    def placeholder(self, index: int) -> str:
        return f"?{index}"

    async def posture(self) -> Posture:
        """A file has no accounts: what may be done with it, its permissions and our session say."""
        reading = f"SELECT count(*) FROM {self._policy.table_list}"  # noqa: S608 - our own word; finds broken files
        await self.run([Statement(reading, "SELECT")])
        return Posture(self.version)

    def trouble(self) -> str | None:
        return self._calls.trouble()

    async def close(self) -> None:
        await self._calls.close()

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
            read_schema(held, self._policy.table_list)
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
        plans_write = statement.plans_write and not self._policy.may_write
        try:
            if plans_write:
                connection.set_authorizer(make_authorizer(self._policy, plans_write=True))
            return run_statement(connection, statement, statement.limits or self._policy.limits)
        except (sqlite3.Error, MemoryError) as error:
            told = explain_failure(error, statement, connection, self._policy)
            if count > 1:
                told.message += f" (Statement {done + 1} of {count}; {done} before it were run.)"
            raise told from error
        finally:
            if plans_write:
                connection.set_authorizer(make_authorizer(self._policy))


def run_statement(connection: sqlite3.Connection, statement: Statement, limits: Limits) -> StatementResult:
    """Running one statement on one connection, in a worker's thread: stream rows, stop at the limits.

    Never rewrites LIMIT: rows are fetched until one more than allowed is there, so `truncated` is exact.
    """
    started = time.perf_counter()
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement.text, statement.parameters)
        names = [str(entry[0]) for entry in cursor.description or ()]
        rows, types, truncated = _fetch(cursor, len(names), limits)
        if statement.is_write:
            # RETURNING: the write is done at the first row, but the statement must come to its end.
            for _ in cursor:
                pass
        affected = max(cursor.rowcount, 0)
    return StatementResult(
        statement_type=statement.statement_type,
        columns=tuple(Column(name, kind) for name, kind in zip(names, types, strict=True)),
        rows=rows,
        row_count=affected if statement.is_write else len(rows),
        elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
        truncated=truncated,
        is_write=statement.is_write,
    )


def _fetch(
    cursor: sqlite3.Cursor, width: int, limits: Limits
) -> tuple[tuple[tuple[Cell, ...], ...], list[str], bool]:
    rows: list[tuple[Cell, ...]] = []
    types = ["null"] * width
    characters = 0
    raw_rows: Iterator[tuple[RawCell, ...]] = iter(cursor)
    for raw in raw_rows:
        # More characters than the reply may have: the rest would only be thrown away.
        if len(rows) == limits.max_rows or characters > limits.character_limit:
            return tuple(rows), types, True
        types = [merge_types(kind, type_of(value)) for kind, value in zip(types, raw, strict=True)]
        row = tuple(to_cell(value, limits.cell_bytes) for value in raw)
        characters += sum(len(cell) if isinstance(cell, str) else 1 for cell in row)
        rows.append(row)
    return tuple(rows), types, False
