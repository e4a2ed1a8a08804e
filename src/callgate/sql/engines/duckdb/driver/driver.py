"""DuckdbDriver: one file, one child process that holds it, a pool of workers that talk to the child.

Implements `driver.Driver`. Talks; does not judge. The session in the child holds the policy by itself
(`child`, `statement_run`). One child for all callers, because a file that is written to can be open
in one process only; when it must be killed, other callers
that wait for it get an error that asks them to try again.
"""

import asyncio
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import cast

from callgate.model import error_codes as codes
from callgate.model.errors import CallgateError, SourceError
from callgate.sql.drivers.driver import Cell, Column, StatementResult
from callgate.sql.drivers.near_columns import ReadTable, tables_of_column
from callgate.sql.drivers.posture import Posture
from callgate.sql.drivers.workers.file_calls import FileCalls, FileWords
from callgate.sql.drivers.workers.job import Job, Stopped, StopReason
from callgate.sql.engines.duckdb.driver.check_file import check_file, explain_opening
from callgate.sql.engines.duckdb.driver.engine_process import EngineGone, EngineProcess, EngineRetired
from callgate.sql.engines.duckdb.driver.lane import Lane
from callgate.sql.engines.duckdb.failures import (
    FATAL,
    explain_failure,
    is_out_of_memory,
    missing_column,
    missing_table,
    process_gone,
    unknown_column,
    unknown_table,
)
from callgate.sql.engines.duckdb.frames import (
    OPENING,
    STOPPED,
    Done,
    Failed,
    Report,
    Setup,
    StatementOrder,
    StatementRows,
)
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits, Policy

# Of everything the child allocates. `repeat('x', 2000000000)` wants 2 GiB in one piece and gets an error;
# five million rows grouped by a text of 32 characters need 0.6 GiB, ten million more than DuckDB's own limit
# (child.MEMORY_LIMIT) gives them.
DATA_BYTES = 2 * 1024**3

_READS = frozenset({"SELECT", "EXPLAIN", "MULTI", "PRAGMA"})
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO", "TRANSACTION"})
_DEFINITIONS = frozenset({"CREATE", "ALTER"})
_TABLE_NAMES = (
    "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
)
# Of a table as it was written: plain, with its schema, or with its database too.
_COLUMN_NAMES = """SELECT column_name FROM duckdb_columns() WHERE lower($1) IN
    (lower(table_name), lower(schema_name || '.' || table_name),
     lower(database_name || '.' || schema_name || '.' || table_name),
     lower(database_name || '.' || table_name)) ORDER BY column_index"""
_MAX_NAMES = 1_000
_SESSION_SQL = """SELECT name, value FROM duckdb_settings() WHERE name IN
    ('access_mode', 'enable_external_access', 'lock_configuration', 'memory_limit', 'threads')
    ORDER BY name"""

_WORDS = FileWords(
    "callgate-duckdb",
    check_file,
    "Aggregate or sample (USING SAMPLE 1%) instead of reading every row (see EXPLAIN)",
)

_Job = Job[Lane, tuple[StatementResult, ...]]


class DuckdbDriver:
    def __init__(self, path: Path, policy: Policy, pool_size: int) -> None:
        self._path = path
        self._policy = policy
        self._setup = Setup(str(path), not policy.may_write, _statement_types(policy), DATA_BYTES)
        self._process: EngineProcess | None = None
        self._process_lock = threading.Lock()
        self._is_closed = False
        self._calls: FileCalls[Lane] = FileCalls(path, policy, pool_size, _WORDS, self._ready_lane)

    @property
    def version(self) -> str:
        return f"DuckDB {version('duckdb')}"

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        return await self._calls.run(lambda lane, job: self._run(lane, job, statements))

    def placeholder(self, index: int) -> str:
        return f"${index}"

    async def posture(self) -> Posture:
        """A file has no accounts: what may be done with it, its permissions and our session say."""
        (result,) = await self.run([Statement(_SESSION_SQL, "SELECT")])
        return Posture(self.version, settings=tuple((str(row[0]), str(row[1])) for row in result.rows))

    def trouble(self) -> str | None:
        return self._calls.trouble()

    async def close(self) -> None:
        await self._calls.close()
        await asyncio.to_thread(self._close_process)

    def _close_process(self) -> None:
        with self._process_lock:
            self._is_closed = True
            if self._process is not None:
                self._process.close()

    def _ready_lane(self, held: Lane | None) -> Lane:
        """In a worker's thread, before each job."""
        check_file(self._path)
        return held if held is not None and not held.is_gone else Lane(self._living_process())

    def _living_process(self) -> EngineProcess:
        with self._process_lock:
            if self._is_closed:
                raise Stopped(StopReason.CLOSED)
            if self._process is None or self._process.is_gone:
                try:
                    self._process = EngineProcess(self._setup)
                except OSError as error:
                    raise SourceError(
                        codes.SOURCE_UNAVAILABLE,
                        f"no process could be started for DuckDB ({error.strerror}).",
                        hint="The machine may have too many of them. Tell the operator.",
                        operator_hint="The machine may have too many of them, or too little memory.",
                    ) from error
            return self._process

    def _run(self, lane: Lane, job: _Job, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        orders = tuple(_order(statement, self._policy.limits) for statement in statements)
        try:
            report = self._report(lane, orders, job)
        except EngineGone:
            raise process_gone() from None
        if isinstance(report, Done):
            return tuple(map(_result, statements, report.results))
        if report.kind == STOPPED:
            raise Stopped(job.stop_reason or StopReason.CANCELLED)
        raise self._failure(report, lane, statements)

    def _report(self, lane: Lane, orders: tuple[StatementOrder, ...], job: _Job) -> Report:
        try:
            return lane.run(orders, job.is_stopped)
        except EngineRetired:  # in the moment between two of our steps
            lane.move_to(self._living_process())
            return self._report(lane, orders, job)

    def _failure(self, failed: Failed, lane: Lane, statements: Sequence[Statement]) -> CallgateError:
        if failed.kind == OPENING:
            return explain_opening(self._path, failed.message)
        if failed.kind in FATAL or is_out_of_memory(failed):
            # Memory that was used once stays reserved and counts, though it is free: 1.8 of 2 GiB after a few
            # large queries that together never used more than 0.8. A new process starts with 0.1.
            lane.retire_process()
        if (wanted := missing_table(failed)) is not None:
            told: CallgateError = unknown_table(wanted, self._names(lane, _TABLE_NAMES))
        elif (wanted := missing_column(failed)) is not None:
            told = unknown_column(wanted, failed, self._columns(lane, wanted, statements[failed.done]))
        else:
            told = explain_failure(failed, statements[failed.done].text, self._policy)
        if len(statements) > 1:
            place = f"Statement {failed.done + 1} of {len(statements)}; {failed.done} before it were run."
            told.message += f" ({place})"
        return told

    def _columns(self, lane: Lane, wanted: str, failed: Statement) -> list[tuple[ReadTable, list[str]]]:
        tables = tables_of_column(wanted, failed, self._policy.dialect)
        return [(table, self._names(lane, _COLUMN_NAMES, table.written)) for table in tables]

    def _names(self, lane: Lane, sql: str, *parameters: str) -> list[str]:
        order = StatementOrder(sql, parameters, _MAX_NAMES, 100_000, 1_000)
        try:
            report = lane.run((order,), lambda: False)
        except (EngineGone, EngineRetired):
            return []  # the first error is the one to tell
        return [str(row[0]) for row in report.results[0].rows] if isinstance(report, Done) else []


def _statement_types(policy: Policy) -> frozenset[str]:
    types = _READS
    if policy.may_write:
        types |= _WRITES
    if policy.may_define:
        types |= _DEFINITIONS
    return types


def _order(statement: Statement, default: Limits) -> StatementOrder:
    limits = statement.limits or default
    return StatementOrder(
        statement.text, statement.parameters, limits.max_rows, limits.character_limit, limits.cell_bytes
    )


def _result(statement: Statement, rows: StatementRows) -> StatementResult:
    return StatementResult(
        statement_type=statement.statement_type,
        columns=tuple(Column(name, kind) for name, kind in rows.columns),
        rows=cast("tuple[tuple[Cell, ...], ...]", rows.rows),  # flat: it was not asked for `as_json`
        row_count=rows.affected if statement.is_write else len(rows.rows),
        elapsed_ms=rows.elapsed_ms,
        truncated=rows.truncated,
        is_write=statement.is_write,
    )
