"""The recorder's thread: takes events off the loop's hands, journals them, and keeps the store up to date.

Implements `ports.EventSink` (emit) and `ports.RecordReader` (reads drain what is pending first, so that a
settled call is visible to every read at once).
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from callgate.model.error_codes import SETUP_RECORD_ELSEWHERE
from callgate.model.errors import SetupError
from callgate.model.events import Event, ExchangeSettled, SessionClosed, SessionOpened
from callgate.ports.record_reader import SourceRequest
from callgate.recorder.backlog import APPEND_BYTES, Backlog
from callgate.recorder.drain import StoreLock, drain, has_work
from callgate.recorder.encode_event import encode_event
from callgate.recorder.folder import make_record_folder
from callgate.recorder.journal import JournalWriter
from callgate.recorder.redact import Redactor
from callgate.recorder.rows import moment
from callgate.recorder.store import Store
from callgate.recorder.trouble import (
    Trouble,
    describe,
    journal_unwritable,
    store_unopenable,
    store_unreadable,
    store_unusable,
    unforeseen,
)

_log = logging.getLogger(__name__)

# Events of this long share one write(2): the thread wakes rarely under load, and little is at risk.
_GATHER_S = 0.005
_DRAIN_EVERY_S = 0.25
# A process that does not keep the store (`callgate stdio`) opens it now and then, if nobody else has it.
_DRAIN_NOW_AND_THEN_S = 60.0

_SOURCE_REQUESTS = """
SELECT id::VARCHAR, ts, source_id, tool_name, sql, duration_ms, client, ok, error, error_code FROM (
    SELECT *, row_number() OVER (PARTITION BY source_id ORDER BY ts DESC, id DESC) AS age
    FROM rpc_events WHERE source_id IS NOT NULL AND (?1 IS NULL OR source_id = ?1)
) WHERE age <= 100 ORDER BY ts DESC, id DESC
"""


class Recorder:
    def __init__(self, folder: Path, redactor: Redactor, keeps_store: bool) -> None:
        """`keeps_store`: hold the store as long as we run (serve), not just now and then (stdio, call)."""
        self._store_path = folder / "record.duckdb"
        self._redactor = redactor
        self._keeps_store = keeps_store
        self._queue: deque[Event] = deque()
        self._backlog = Backlog()
        self._flushes: deque[asyncio.Future[None]] = deque()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._stopping = False
        self._journal_trouble = Trouble()
        self._store_trouble = Trouble()
        self._store: Store | None = None
        self._is_read = False
        self._lock = StoreLock(folder / "store.lock")
        self._drained_mono = time.monotonic()
        try:
            self._journal_folder = make_record_folder(folder)
            self._journal = JournalWriter(self._journal_folder)
        except OSError as problem:
            raise journal_unwritable(folder, problem) from problem
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="recorder")
        self._thread.start()

    # ---- ports.EventSink

    def emit(self, event: Event) -> None:
        if isinstance(event, (ExchangeSettled, SessionOpened, SessionClosed)):
            self._queue.append(event)
            if not self._wake.is_set():
                self._wake.set()

    async def close(self) -> None:
        """Everything emitted so far is in the journal, and in the store if it was ours to write."""
        self._stopping = True
        self._hurry.set()
        self._wake.set()
        await asyncio.to_thread(self._thread.join)

    # ---- ports.RecordReader

    async def source_requests(self, source_id: str | None) -> list[SourceRequest]:
        rows = await self._read(_SOURCE_REQUESTS, [source_id])
        return [SourceRequest(*row) for row in rows]

    def problem(self) -> str | None:
        error = self._journal_trouble.error or self._store_trouble.error
        return None if error is None else describe(error)

    async def _read(self, sql: str, params: list[Any]) -> list[Any]:
        flushed: asyncio.Future[None] = self._loop.create_future()
        self._is_read = True
        self._flushes.append(flushed)
        self._hurry.set()
        self._wake.set()
        await flushed  # raises when the store could not be brought up to date: stale rows are no answer
        store = self._store
        if store is None:
            raise SetupError(
                SETUP_RECORD_ELSEWHERE,
                "Another process holds the record's store",
                hint="Ask the gateway that was started first on this state folder",
            )
        try:
            return await asyncio.to_thread(lambda: store.cursor().execute(sql, params).fetchall())
        except duckdb.Error as problem:
            raise store_unreadable(self._store_path, problem) from problem

    # ---- the thread

    def _run(self) -> None:
        last = False
        while not last:
            self._wake.wait(timeout=_DRAIN_EVERY_S)
            self._hurry.wait(timeout=_GATHER_S)
            last = self._turn()
        self._let_go_of_store()
        if len(self._backlog):
            _log.error("%d rows could not be recorded before the end", len(self._backlog))

    def _turn(self) -> bool:
        """One round; whether it was the last."""
        self._wake.clear()
        self._hurry.clear()
        last = self._stopping  # read before the queue: what was emitted until then is in this turn
        flushes = [self._flushes.popleft() for _ in range(len(self._flushes))]
        # Each is tried whatever became of the other: a drain may make the room that the journal needs.
        _try(self._write_journal, self._journal_trouble)
        if last:
            self._journal.close()  # before draining: a segment without a writer can go
        if last or flushes or self._drain_is_due():
            _try(self._drain, self._store_trouble)
        error = self._journal_trouble.error or self._store_trouble.error
        for flushed in flushes:
            self._loop.call_soon_threadsafe(_resolve, flushed, error)
        return last

    def _write_journal(self) -> None:
        failed: OSError | None = None
        for _ in range(len(self._queue)):
            # Even when it cannot be written: the backlog is bounded, the queue is not.
            self._take_in(self._queue[0])
            self._queue.popleft()
            if failed is None and self._backlog.size_bytes >= APPEND_BYTES:
                failed = self._write_backlog()
        if failed := failed or self._write_backlog():
            raise journal_unwritable(self._journal_folder, failed) from failed

    def _take_in(self, event: Event) -> None:
        encoded = encode_event(event, self._redactor)
        if encoded is None:
            self._backlog.count_missing(moment(time.time()), "no row could be made of it")
        else:
            self._backlog.add(encoded)

    def _write_backlog(self) -> OSError | None:
        try:
            self._backlog.write_to(self._journal)
        except OSError as problem:
            return problem
        return None

    def _drain_is_due(self) -> bool:
        every_s = _DRAIN_EVERY_S if self._keeps_store else _DRAIN_NOW_AND_THEN_S
        return time.monotonic() - self._drained_mono >= every_s

    def _drain(self) -> None:
        self._drained_mono = time.monotonic()
        try:
            if self._lock.try_acquire() and self._needs_store():
                drain(self._journal_folder, self._open_store())
        except (duckdb.Error, OSError) as problem:
            self._close_store()  # opened anew the next time, see Store; who keeps the store keeps the lock
            raise store_unusable(self._store_path, problem) from problem
        finally:
            if not self._keeps_store:
                self._let_go_of_store()

    def _needs_store(self) -> bool:
        """An open store costs 30 MB: a gateway that nobody has called yet does without."""
        return self._store is not None or self._is_read or has_work(self._journal_folder)

    def _open_store(self) -> Store:
        if self._store is None:
            try:
                self._store = Store(self._store_path)
            except (duckdb.Error, OSError) as problem:
                raise store_unopenable(self._store_path, problem) from problem
        return self._store

    def _close_store(self) -> None:
        store, self._store = self._store, None
        try:
            if store is not None:
                store.close()
        except duckdb.Error as problem:
            _log.error("%s", store_unusable(self._store_path, problem).message)

    def _let_go_of_store(self) -> None:
        self._close_store()
        self._lock.release()


def _try(step: Callable[[], None], trouble: Trouble) -> None:
    """What goes wrong is kept as the trouble it is: nothing ends the recording for good."""
    try:
        step()
    except SetupError as error:
        trouble.note(error)
    except Exception as bug:  # noqa: BLE001 - see above
        trouble.note(unforeseen(bug), bug=bug)
    else:
        trouble.note(None)


def _resolve(future: asyncio.Future[None], error: SetupError | None) -> None:
    if future.done():  # the reader may have been cancelled meanwhile
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
