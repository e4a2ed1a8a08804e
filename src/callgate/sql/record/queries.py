"""Queries: SQL of users over the whole record, judged and then run in a process of its own.

Implements `ports.RecordQueries`. DuckDB does not count all that a statement allocates, and looks at no
interrupt within one call of a function. So the kernel limits the memory of that process, and it is killed at
the end of the query's time. Each process runs one query at a time: to kill it harms no other.
"""

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path

from callgate.model.error_codes import CALLER_BAD_PARAMS, CALLER_TOO_MANY_READS, SETUP_STATE_FOLDER
from callgate.model.errors import CallerError, CallgateError, SetupError
from callgate.ports.record_queries import Query, RecordFiles, RecordSnapshots, Table
from callgate.sql.drivers.workers.job import Job, Stopped, StopReason
from callgate.sql.drivers.workers.pool import WorkerPool
from callgate.sql.engines.duckdb.driver.check_file import MEMORY_PATH
from callgate.sql.engines.duckdb.driver.driver import DATA_BYTES
from callgate.sql.engines.duckdb.driver.engine_process import EngineGone, EngineProcess, EngineRetired
from callgate.sql.engines.duckdb.driver.lane import Lane
from callgate.sql.engines.duckdb.failures import FATAL, is_out_of_memory
from callgate.sql.engines.duckdb.frames import (
    OPENING,
    STOPPED,
    Attached,
    Done,
    Failed,
    Report,
    Setup,
    StatementOrder,
)
from callgate.sql.record.record_guard import RecordGuard
from callgate.sql.record.turns import Turns

# Each may take 2 GiB and a core. An operator at the page, a second one, and a script wait little.
_AT_ONCE = 2
_PATIENCE_S = 10.0
# An answer passes through the gateway's memory, and a browser's.
_MAX_ANSWER_CHARS = 8 * 1024 * 1024
_MAX_CELL_BYTES = 1024 * 1024
# A process in which nobody asks anything costs 100 MB, and as much again for each million events.
_IDLE_S = 60.0
_TYPES = frozenset({"SELECT", "MULTI"})  # MULTI is a PIVOT that must look for its columns first
_HINT = "Filter by ts, aggregate, or ask for fewer columns"

_Job = Job[Lane, Report]


@dataclass(frozen=True, slots=True)
class QueryLimits:
    at_once: int = _AT_ONCE
    patience_s: float = _PATIENCE_S
    data_bytes: int = DATA_BYTES
    idle_s: float = _IDLE_S


class Queries:
    """Lives on one event loop."""

    def __init__(self, snapshots: RecordSnapshots, limits: QueryLimits | None = None) -> None:
        self._snapshots = snapshots
        self._limits = limits or QueryLimits()
        self._guard = RecordGuard("duckdb")
        self._turns = Turns(self._limits.at_once)
        self._processes: list[EngineProcess] = []
        self._processes_lock = threading.Lock()
        self._is_closed = False
        self._folder = Path()
        self._running = 0
        self._idle: asyncio.TimerHandle | None = None
        self._pool: WorkerPool[Lane] = WorkerPool(
            "callgate-record-query", self._limits.at_once, self._limits.patience_s, self._ready_lane
        )

    @property
    def is_full(self) -> bool:
        """Whether the next one has to wait."""
        return self._turns.are_taken

    @property
    def process_count(self) -> int:
        with self._processes_lock:
            return sum(not process.is_gone for process in self._processes)

    async def query(self, query: Query) -> Table:
        return await self.run(await self._guard.allowed(query.sql), query)

    async def run(self, text: str, query: Query) -> Table:
        """A statement that was judged: the process holds against any other by itself."""
        async with self._turns.taken(self._limits.patience_s, _busy(self._limits)):
            self._begin()
            try:
                return _table(await self._report(text, query))
            finally:
                self._end()

    async def close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        await self._pool.close()
        await asyncio.to_thread(self._end_processes)
        self._guard.close()

    async def _report(self, text: str, query: Query) -> Report:
        order = StatementOrder(text, (), query.max_rows, _MAX_ANSWER_CHARS, _MAX_CELL_BYTES, as_json=True)
        report = await self._ask(order, query)
        if isinstance(report, Failed) and report.kind == OPENING:
            # A day that was dropped, or its copy replaced, in the moment between: there are others now.
            report = await self._ask(order, query)
        return report

    async def _ask(self, order: StatementOrder, query: Query) -> Report:
        async with self._snapshots.hold() as files:
            self._folder = files.folder
            attached = _attached(files)
            try:
                return await self._pool.run(
                    lambda lane, job: self._run(lane, job, order, attached), query.timeout_s
                )
            except Stopped as stopped:
                raise _stopped(stopped.reason, query) from None

    # ---- in a worker's thread

    def _ready_lane(self, held: Lane | None) -> Lane:
        return held if held is not None and not held.is_gone else Lane(self._new_process())

    def _new_process(self) -> EngineProcess:
        setup = Setup(
            MEMORY_PATH,
            read_only=True,
            statement_types=_TYPES,
            data_bytes=self._limits.data_bytes,
            folder=str(self._folder),
        )
        with self._processes_lock:
            if self._is_closed:
                raise Stopped(StopReason.CLOSED)
            try:
                process = EngineProcess(setup)
            except OSError as problem:
                raise SetupError(
                    SETUP_STATE_FOLDER,
                    f"No process could be started for the query ({problem.strerror})",
                    hint="The machine may have too many of them",
                ) from problem
            self._processes = [one for one in self._processes if not one.is_gone]
            self._processes.append(process)
            return process

    def _run(self, lane: Lane, job: _Job, order: StatementOrder, attached: Attached) -> Report:
        try:
            report = lane.run((order,), job.is_stopped, attached)
        except EngineRetired:  # in the moment between two of our steps
            lane.move_to(self._new_process())
            return self._run(lane, job, order, attached)
        except EngineGone:
            raise _too_much() from None
        if isinstance(report, Failed):
            if report.kind == STOPPED:
                raise Stopped(job.stop_reason or StopReason.CANCELLED)
            if report.kind in FATAL or report.kind == OPENING or is_out_of_memory(report):
                lane.retire_process()  # what it has left of its memory, or has open, serves no other
        return report

    # ---- processes that nobody needs

    def _begin(self) -> None:
        self._running += 1
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end(self) -> None:
        self._running -= 1
        if not self._running:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self._limits.idle_s, self._retire_processes)

    def _retire_processes(self) -> None:
        with self._processes_lock:
            for process in self._processes:
                process.retire()

    def _end_processes(self) -> None:
        with self._processes_lock:
            self._is_closed = True
            for process in self._processes:
                process.close()


def _attached(files: RecordFiles) -> Attached:
    return Attached({name: str(path) for name, path in files.paths.items()}, tuple(files.views))


def _table(report: Report) -> Table:
    if isinstance(report, Failed):
        raise _failure(report)
    assert isinstance(report, Done)
    rows = report.results[0]
    return Table([name for name, _ in rows.columns], rows.rows, rows.truncated)


def _failure(failed: Failed) -> CallgateError:
    said = failed.message.partition("\n")[0]
    if failed.kind == OPENING:
        return SetupError(
            SETUP_STATE_FOLDER,
            f"The record cannot be read: {said[:300]}",
            hint="If a file is damaged, move it away",
        )
    if is_out_of_memory(failed):
        return _too_much()
    return CallerError(CALLER_BAD_PARAMS, said[:500])


def _too_much() -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, "The query needs more memory than a query may use", hint=_HINT)


def _stopped(reason: StopReason, query: Query) -> CallgateError:
    if reason is StopReason.TIMEOUT:
        return CallerError(CALLER_BAD_PARAMS, f"The query took longer than {query.timeout_s:g} s", hint=_HINT)
    return SetupError(SETUP_STATE_FOLDER, "The record is closed: the gateway is stopping")


def _busy(limits: QueryLimits) -> CallerError:
    return CallerError(
        CALLER_TOO_MANY_READS,
        f"At most {limits.at_once} queries run at once, and this one did not start "
        f"within {limits.patience_s:g} s",
        hint="Try again in a moment",
    )
