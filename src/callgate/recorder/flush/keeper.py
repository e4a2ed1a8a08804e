"""The store's thread: keeps the store up to date with the journals.

The process that holds the folder's lock drains all journals in it. Only it may open a DuckDB store;
a shared one is open to every process, and each of them may drain its own journal.

Storing is of low priority: on a busy core it gives way to the relay, and on a free one it runs beside it.
When somebody waits for it, or it falls behind and journals would grow without an end, it stops giving way
after the next batch. A thread that is put off while it has the interpreter lock puts the relay off too.
DuckDB's work needs no lock. Rows for a shared store are made in Python, so a gateway that serves has them
made in a process of their own (`storing`).
"""

import logging
import os
import random
import sys
import threading
import time
from collections import deque
from contextlib import suppress

from callgate.background import Background
from callgate.model.errors import SetupError
from callgate.ports.record_reader import StoreProgress
from callgate.ports.record_store import AlreadyStoredError, RecordStore, StoreBusyError
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.drain import Drain, RoundCutError, StoreLock, has_rows, journalled_bytes
from callgate.recorder.flush.foreign_rows import ForeignRows
from callgate.recorder.flush.keeping import Flushed, KeptJournals
from callgate.recorder.flush.round_times import RoundTimes
from callgate.recorder.folder import journals_in
from callgate.recorder.trouble import Trouble, attempt, describe, waiting_text
from callgate.this_process import trim_heap

_log = logging.getLogger(__name__)

# A process that does not keep the store (`callgate stdio`) opens it now and then, if nobody else has it. Who
# keeps it looks this often for what others left behind, and for days that are overdue.
_DRAIN_NOW_AND_THEN_S = 60.0
# A tenth of a full core is still 10,000 small events a second, but only 2,000 of 3 KB.
_NICENESS = 10
_BEHIND_BYTES = 32 * 1024 * 1024
_MOST_CONFLICTS = 5
# A large batch leaves 16 MB of freed memory with the C library; to give it back takes a millisecond.
_LARGE_ROWS = 2048


class Keeper:
    """Implements `StoreKeeper`."""

    def __init__(
        self,
        kept: KeptJournals,
        store: RecordStore[Batch],
        keeps_store: bool,
        background: Background,
        *,
        is_apart: bool = False,
    ) -> None:
        """`keeps_store`: hold the store as long as we run (serve), not just now and then (stdio, call).
        `is_apart`: no relay is in this process."""
        self._room = kept.room
        self._journal_folder = journals_in(kept.folder)
        self._store = store
        self._keeps_store = keeps_store
        self._own_writer = kept.own_writer
        self._may_be_put_off = (is_apart or not store.traits.is_shared) and sys.platform == "linux"
        self._lock = StoreLock(kept.folder / "store.lock")
        foreign_rows = None if kept.numbers is None else ForeignRows(kept.own_writer, kept.numbers)
        self._drain = Drain(self._journal_folder, store, foreign_rows=foreign_rows)
        self._flushes: deque[Flushed] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._was_asked = False
        self._is_behind = self._is_loaded = self._gives_way = self._was_cut = False
        self._stored_mono = time.monotonic()
        self._times = RoundTimes(store.traits, self._stored_mono)
        self._begun_bytes = self._trimmed_rows = 0
        self._trouble = Trouble()
        self.rounds = 0  # that are over
        self._thread = background.thread("record store", self._run)

    @property
    def error(self) -> SetupError | None:
        return self._trouble.error

    @property
    def since_s(self) -> float | None:
        return self._trouble.since_s

    def flush(self, flushed: Flushed) -> None:
        self._was_asked = True
        self._flushes.append(flushed)
        self._wake.set()

    def problem(self) -> str | None:
        error = self._trouble.error
        if error is None or not self._store.traits.is_shared:
            return None if error is None else describe(error)
        max_bytes = self._room.max_bytes if self._room is not None else None
        return f"{describe(error)}. {waiting_text(self._trouble.since_s, self._waiting_bytes(), max_bytes)}"

    def progress(self) -> StoreProgress:
        waiting_bytes = self._waiting_bytes()
        return StoreProgress(
            time.monotonic() - self._stored_mono if waiting_bytes else 0.0,
            waiting_bytes,
            self._drain.batches,
            self._drain.rows,
            self._trouble.error is not None,
        )

    def _waiting_bytes(self) -> int:
        try:
            return self._drain.waiting_bytes()
        except OSError:  # no descriptor for a look
            return 0

    def close(self) -> None:
        self._stopping = True
        self._wake.set()
        self._thread.join()

    # ---- the thread

    def _run(self) -> None:
        last = False
        while not last:
            self._wake.wait(timeout=0.0 if self._was_cut else self._times.next_look_s(time.monotonic()))
            self._wake.clear()
            self._measure()
            last = self._stopping
            flushes = [self._flushes.popleft() for _ in range(len(self._flushes))]
            try:
                self._load()
                if last or self._is_due() or (flushes and not self._waits_to_retry()):
                    self._run_round(gives_way=not (last or flushes or self._is_behind))
            except (OSError, RuntimeError) as problem:  # no descriptor for a look, no thread for a round
                self._times.not_begun(time.monotonic())
                self._trouble.note(self._store.trouble(problem))
            finally:
                for flushed in flushes:
                    self._tell(flushed)
        self._let_go_of_store()

    def _load(self) -> None:
        """With the first call, not with the first round: later there may be no descriptor for it."""
        if not self._is_loaded and (self._store.traits.is_shared or self._needs_store()):
            self._store.load()
            self._is_loaded = True

    def _measure(self) -> None:
        if self._room is not None:
            with suppress(OSError):  # a segment that went this moment, or no descriptor: then the next time
                self._room.measure(self._drain.waiting_bytes())
                is_half_full = 2 * journalled_bytes(self._journal_folder) > self._room.max_bytes
                self._drain.stored.needs_room = is_half_full

    def _tell(self, flushed: Flushed) -> None:
        """One that fails must not keep the others waiting for ever."""
        try:
            flushed(self._trouble.error)
        except Exception:  # noqa: BLE001 - see above
            _log.exception("Those that waited for the store could not be notified")

    def _run_round(self, gives_way: bool) -> None:
        """In a thread of its own: it inherits our priority, and may lower but never raise it."""
        one_round = threading.Thread(target=self._round, args=(gives_way,), name="record round")
        one_round.start()
        one_round.join()

    def _is_due(self) -> bool:
        if self._was_cut:
            return True
        now_mono = time.monotonic()
        waited_s = self._times.since_round_s(now_mono)
        if waited_s >= _DRAIN_NOW_AND_THEN_S or not self._keeps_store:
            return waited_s >= _DRAIN_NOW_AND_THEN_S
        if self._trouble.error is not None:
            return self._times.may_retry(now_mono)
        return self._times.is_due(journalled_bytes(self._journal_folder), now_mono)

    def _waits_to_retry(self) -> bool:
        """A read of a shared store that is away fails at once, and puts no load on it."""
        if self._trouble.error is None or not self._store.traits.is_shared:
            return False
        return not self._times.may_retry(time.monotonic())

    def _round(self, gives_way: bool) -> None:
        self._gives_way = gives_way and self._may_be_put_off
        if self._gives_way:  # on Linux a thread has a priority of its own
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        attempt(self._bring_up_to_date, self._trouble)
        if self._drain.rows - self._trimmed_rows >= _LARGE_ROWS:
            self._trimmed_rows = self._drain.rows
            trim_heap()
        has_failed, is_watched = self._trouble.error is not None, self._store.is_watched
        self._times.ended(time.monotonic(), random.uniform, has_failed=has_failed, is_watched=is_watched)
        self.rounds += 1

    def _bring_up_to_date(self) -> None:
        self._was_cut = False
        try:
            # Before the rest: what is journalled meanwhile is for the next round.
            size, begun_mono = journalled_bytes(self._journal_folder), time.monotonic()
            self._begun_bytes = size
            is_holder = self._lock.try_acquire()
            if (is_holder or self._store.traits.is_shared) and self._needs_store():
                self._drain_into_store(is_holder)
                self._is_behind = self._drain.waiting_bytes() > _BEHIND_BYTES
                self._stored_mono = begun_mono
            self._times.stored(size)
        except RoundCutError:
            self._was_cut = self._is_behind = True
        except StoreBusyError as busy:
            raise self._store.trouble(busy) from busy
        except (*self._store.failures, OSError) as problem:
            trouble = self._store.trouble(problem)
            self._store.close()  # opened again the next time; the process keeps the lock
            raise trouble from problem
        finally:
            if not self._keeps_store:
                self._let_go_of_store()

    def _drain_into_store(self, is_holder: bool) -> None:
        is_new = not self._store.is_open
        self._store.open()
        self._store.begin_round()
        has_ended = self._drained(None if is_holder else self._own_writer)
        self._store.note_living(self._drain.living_writers() if is_holder else [self._own_writer])
        if is_holder:
            if has_ended or is_new:
                self._store.sweep(self._drain.living_writers())
            self._store.tend()

    def _drained(self, only: str | None) -> bool:
        """Whether a segment came to its end."""
        for _ in range(_MOST_CONFLICTS):
            with suppress(AlreadyStoredError):
                return self._drain.run(only, self._is_cut)
        return False  # somebody else is at it: the next round will see

    def _is_cut(self) -> bool:
        """A thread that gives way cannot stop doing so: after a batch it may leave the rest to another."""
        if not self._gives_way:
            return False
        since_bytes = journalled_bytes(self._journal_folder) - self._begun_bytes
        return self._stopping or bool(self._flushes) or since_bytes > _BEHIND_BYTES

    def _needs_store(self) -> bool:
        """An open store costs 30 MB: a gateway that nobody has called yet does without."""
        return self._store.is_open or self._was_asked or has_rows(self._journal_folder, or_ended=True)

    def _let_go_of_store(self) -> None:
        self._store.close()
        self._lock.release()
