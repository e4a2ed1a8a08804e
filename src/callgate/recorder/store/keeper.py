"""The store's thread: keeps the store up to date with the journals, for as long as the lock is ours.

The work itself is of low priority: DuckDB's needs no interpreter lock, so on a busy core it gives way to the
relay, and on a free one it runs beside it. When it falls behind, it stops giving way: journals would grow
without an end.
"""

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb

from callgate.background import Background
from callgate.model.errors import SetupError
from callgate.recorder.folder import journals_in
from callgate.recorder.store.body_columns import load_arrow
from callgate.recorder.store.day_files import Day, remove_passing, today
from callgate.recorder.store.drain import (
    StoreLock,
    behind_bytes,
    drain,
    has_work,
    journalled_bytes,
    living_writers,
)
from callgate.recorder.store.foreign_rows import ForeignRows
from callgate.recorder.store.retention import Retention
from callgate.recorder.store.store import Store
from callgate.recorder.store.tokens import TokenCounter
from callgate.recorder.trouble import Trouble, attempt, store_unopenable, store_unusable

_log = logging.getLogger(__name__)

# When nothing was journalled for a quarter of a second, the store has the machine to itself. Until then it
# waits: large batches cost half of small ones, a round as such 8 ms, and nobody waits for one, since a read
# asks for its own. What a crash leaves is 0.5 s of work for 10,000 events.
_LOOK_EVERY_S = 0.25
_DRAIN_EVERY_S = 5.0
_TRY_AGAIN_S = 1.0
# A process that does not keep the store (`callgate stdio`) opens it now and then, if nobody else has it. Who
# keeps it looks this often for what others left behind, and for days that are overdue.
_DRAIN_NOW_AND_THEN_S = 60.0
# A tenth of a full core is still 10,000 small events a second, but only 2,000 of 3 KB.
_NICENESS = 10
_BEHIND_BYTES = 32 * 1024 * 1024

Flushed = Callable[[SetupError | None], object]


class Keeper:
    def __init__(
        self,
        folder: Path,
        keeps_store: bool,
        retention: Retention,
        background: Background,
        foreign_rows: ForeignRows | None = None,
    ) -> None:
        """`keeps_store`: hold the store as long as we run (serve), not just now and then (stdio, call).
        `foreign_rows`: who tells of other processes' rows."""
        self._foreign_rows = foreign_rows
        self._retention = retention
        self._days_folder = folder / "days"
        self._journal_folder = journals_in(folder)
        self._keeps_store = keeps_store
        self._lock = StoreLock(folder / "store.lock")
        self._flushes: deque[Flushed] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._was_asked = False
        self._tokens = TokenCounter()
        self._is_behind = False
        self._is_tidied = False
        self._drained_mono = time.monotonic()
        self._journalled_bytes = self._drained_bytes = 0
        self.trouble = Trouble()
        self.store: Store | None = None
        self._thread = background.thread("record store", self._run)

    @property
    def days_folder(self) -> Path:
        return self._days_folder

    def flush(self, flushed: Flushed) -> None:
        """From any thread; `flushed` is called on ours, once all that was journalled before is stored."""
        self._was_asked = True
        self._flushes.append(flushed)
        self._wake.set()

    def close(self) -> None:
        """A last round, then an end. Blocks."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    # ---- the thread

    def _run(self) -> None:
        load_arrow()
        last = False
        while not last:
            self._wake.wait(timeout=_LOOK_EVERY_S)
            self._wake.clear()
            last = self._stopping
            flushes = [self._flushes.popleft() for _ in range(len(self._flushes))]
            try:
                if flushes or last or self._is_due():
                    self._run_round(gives_way=not (flushes or self._is_behind))
            except (OSError, RuntimeError) as problem:  # no descriptor for a look, no thread for a round
                self._drained_mono = time.monotonic()
                self.trouble.note(store_unusable(self._days_folder, problem))
            finally:
                for flushed in flushes:
                    self._tell(flushed)
        self._let_go_of_store()

    def _tell(self, flushed: Flushed) -> None:
        """One that fails must not keep the others waiting for ever."""
        try:
            flushed(self.trouble.error)
        except Exception:  # noqa: BLE001 - see above
            _log.exception("Those that waited for the store could not be notified")

    def _run_round(self, gives_way: bool) -> None:
        """In a thread of its own: it inherits our priority, and may lower but never raise it."""
        one_round = threading.Thread(target=self._round, args=(gives_way,), name="record round")
        one_round.start()
        one_round.join()

    def _is_due(self) -> bool:
        waited_s = time.monotonic() - self._drained_mono
        if waited_s >= _DRAIN_NOW_AND_THEN_S or not self._keeps_store:
            return waited_s >= _DRAIN_NOW_AND_THEN_S
        if self.trouble.error is not None:
            return waited_s >= _TRY_AGAIN_S
        size, before = journalled_bytes(self._journal_folder), self._journalled_bytes
        self._journalled_bytes = size
        return size != self._drained_bytes and (size == before or waited_s >= _DRAIN_EVERY_S)

    def _round(self, gives_way: bool) -> None:
        if gives_way and sys.platform == "linux":  # where a thread has a priority of its own
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        attempt(self._drain, self.trouble)
        self._drained_mono = time.monotonic()

    def _drain(self) -> None:
        try:
            # Before the rest: what is journalled meanwhile is for the next round.
            size = journalled_bytes(self._journal_folder)
            if self._lock.try_acquire() and self._needs_store():
                self._bring_up_to_date()
            self._drained_bytes = size
        except (duckdb.Error, OSError) as problem:
            path = self.store.path if self.store is not None else self._days_folder
            self._close_store()  # opened anew the next time, see Store; who keeps the store keeps the lock
            raise store_unusable(path, problem) from problem
        finally:
            if not self._keeps_store:
                self._let_go_of_store()

    def _bring_up_to_date(self) -> None:
        is_new = self.store is None
        store, day = self._open_store(), today()
        store.turn_to(day)
        ended = drain(self._journal_folder, store, self._tokens, self._foreign_rows)
        self._is_behind = behind_bytes(self._journal_folder, store) > _BEHIND_BYTES
        if ended or is_new:
            store.sweep(living_writers(self._journal_folder))
        if self._retention.is_too_large(store.days[0]):
            store.begin_part()
        for overdue in self._retention.overdue(store.days, day):
            store.drop(overdue)
            _log.info("the record of %s was deleted, as [record] keep or max_size says", overdue.path.name)
        store.seal()

    def _needs_store(self) -> bool:
        """An open store costs 30 MB: a gateway that nobody has called yet does without."""
        return self.store is not None or self._was_asked or has_work(self._journal_folder)

    def _open_store(self) -> Store:
        if self.store is None:
            day = today()
            if not self._is_tidied:  # once: later, a reader of ours may have such a file
                self._is_tidied = True
                remove_passing(self._days_folder)
            try:
                self.store = Store(self._days_folder, day)
            except (duckdb.Error, OSError) as problem:
                raise store_unopenable(Day(self._days_folder, day).path, problem) from problem
        return self.store

    def _close_store(self) -> None:
        store, self.store = self.store, None
        try:
            if store is not None:
                store.close()
        except duckdb.Error as problem:
            _log.error("%s", store_unusable(self._days_folder, problem).message)

    def _let_go_of_store(self) -> None:
        self._close_store()
        self._lock.release()
