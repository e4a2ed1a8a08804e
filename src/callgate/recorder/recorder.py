"""The recorder's thread: takes events off the loop's hands, journals them, and keeps the store up to date.

Implements `ports.EventSink` (emit) and `ports.RecordReader` (reads drain what is pending first, so that a
settled call is visible to every read at once).
"""

import asyncio
import logging
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from callgate.model.error_codes import SETUP_RECORD_ELSEWHERE, SETUP_STATE_FOLDER
from callgate.model.errors import SetupError
from callgate.model.events import Event, ExchangeSettled, SessionClosed, SessionOpened
from callgate.ports.record_reader import SourceRequest
from callgate.recorder.drain import StoreLock, drain
from callgate.recorder.journal import JournalWriter
from callgate.recorder.redact import Redactor
from callgate.recorder.rows import Row, event_row, session_row
from callgate.recorder.store import Store

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
        self._folder = folder
        self._redactor = redactor
        self._keeps_store = keeps_store
        self._queue: deque[Event] = deque()
        self._flushes: deque[asyncio.Future[None]] = deque()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._stopping = False
        self._store: Store | None = None
        self._lock = StoreLock(folder / "store.lock")
        self._drained_mono = time.monotonic()
        try:
            (folder / "journal").mkdir(parents=True, exist_ok=True, mode=0o700)
            self._journal = JournalWriter(folder / "journal")
        except OSError as problem:
            raise SetupError(
                SETUP_STATE_FOLDER,
                f"The record cannot be written in {folder}: {problem.strerror}",
                hint="Choose another place with [record] path or CALLGATE_STATE_DIR",
            ) from problem
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

    async def _read(self, sql: str, params: list[Any]) -> list[Any]:
        flushed: asyncio.Future[None] = self._loop.create_future()
        self._flushes.append(flushed)
        self._hurry.set()
        self._wake.set()
        await flushed
        store = self._store
        if store is None:
            raise SetupError(
                SETUP_RECORD_ELSEWHERE,
                "Another process holds the record's store",
                hint="Ask the gateway that was started first on this state folder",
            )
        return await asyncio.to_thread(lambda: store.cursor().execute(sql, params).fetchall())

    # ---- the thread

    def _run(self) -> None:
        last = False
        while not last:
            self._wake.wait(timeout=_DRAIN_EVERY_S)
            self._hurry.wait(timeout=_GATHER_S)
            last = self._turn()
        self._close_store()

    def _turn(self) -> bool:
        """One round; whether it was the last."""
        self._wake.clear()
        self._hurry.clear()
        last = self._stopping  # read before the queue: what was emitted until then is in this turn
        flushes = [self._flushes.popleft() for _ in range(len(self._flushes))]
        try:
            self._write_journal()
            if last:
                self._journal.close()  # before draining: a segment without a writer can go
            if last or flushes or self._drain_is_due():
                self._drain()
        except Exception:  # noqa: BLE001 - a full disk or a broken store must not end the recording for good
            _log.exception("the record could not be written; it is tried again")
        for flushed in flushes:
            self._loop.call_soon_threadsafe(_resolve, flushed)
        return last

    def _write_journal(self) -> None:
        rows = [self._row(self._queue.popleft()) for _ in range(len(self._queue))]
        if rows:
            self._journal.append(rows)

    def _row(self, event: Event) -> Row:
        if isinstance(event, ExchangeSettled):
            return event_row(event.exchange, self._redactor)
        assert isinstance(event, (SessionOpened, SessionClosed))
        return session_row(event.session)

    def _drain_is_due(self) -> bool:
        every_s = _DRAIN_EVERY_S if self._keeps_store else _DRAIN_NOW_AND_THEN_S
        return time.monotonic() - self._drained_mono >= every_s

    def _drain(self) -> None:
        self._drained_mono = time.monotonic()
        if not self._lock.try_acquire():
            return
        try:
            if self._store is None:
                self._store = Store(self._folder / "record.duckdb")
            drain(self._folder / "journal", self._store)
        finally:
            if not self._keeps_store:
                self._close_store()

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
        self._lock.release()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():  # the reader may have been cancelled meanwhile
        future.set_result(None)
