"""Events are redacted and journalled in groups, on the loop or in a thread (see `group_writer`).

Implements `ports.EventSink` and `ports.RecordGate`. The store has a thread of its own (`keeper`); reading is
`reader`'s.

1. All calls that end in one turn of the loop share one write when it is over: what they touched is still in
   the caches. With `sync = "reply"` they leave after it, with "interval" nobody waits.
2. After a group of several calls others are under way: the next one waits as long as each turn brings more,
   for a millisecond at most.
3. What the loop does not write itself is the thread's, and whoever waits for it is told by the thread.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from callgate.background import Background
from callgate.model.error_codes import REFUSED_UNRECORDED
from callgate.model.errors import RefusedError, SetupError
from callgate.model.events import Aside, Event, ExchangeSettled, NoticePassed
from callgate.ports.record_reader import Backlog
from callgate.ports.record_store import RecordStore
from callgate.recorder.asides import Asides
from callgate.recorder.feed import Feed, FeedNumbers
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.keeper import Keeper
from callgate.recorder.flush.keeping import Flushed, KeptJournals, StoreKeeper
from callgate.recorder.folder import make_record_folder
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Group
from callgate.recorder.group_writer import GroupWriter
from callgate.recorder.intake import Intake
from callgate.recorder.journal.journal import JournalRoom, JournalSync, JournalWriter
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.sequence import Sequence
from callgate.recorder.trouble import Trouble, attempt, describe, journal_unwritable, record_closed

_log = logging.getLogger(__name__)

T = TypeVar("T")

# How long the thread sleeps when nobody wakes it: what it counted is due now and then.
_IDLE_S = 0.5

# A write costs as much as a few small calls: with fewer of them all calls leave sooner (rule 2). After 5 ms
# what the calls touched is no longer in the caches.
_GATHER_S = 0.001

# With the number up to which every row is stored now (see Sequence), or what is wrong.
CaughtUp = Callable[[int, SetupError | None], object]
# What is called once the journal has everything that was emitted before, and its argument.
_Waiting = tuple[Callable[[Any], object], Any]


class Wakeup:
    """`threading.Event` for two threads: one sets it, one other waits for it and clears it.

    `threading.Event` is written in Python around a condition variable: a wait costs 5 µs beside the sleep
    itself, and `set` costs 1 µs on the event loop.
    """

    __slots__ = ("_unset",)

    def __init__(self) -> None:
        self._unset = threading.Lock()  # held until it is set; waiting takes it again
        self._unset.acquire()

    def set(self) -> None:
        if self._unset.locked():
            self._unset.release()

    def wait(self, timeout_s: float) -> bool:
        """Whether it was set within that time. Clears it."""
        return self._unset.acquire(timeout=timeout_s)

    def clear(self) -> None:
        self._unset.acquire(blocking=False)


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    folder: Path
    keeps_store: bool  # hold the store as long as we run (serve), not just now and then (stdio, call)
    # These can change while we run.
    waits_for_journal: bool = True  # `sync = "reply"`
    refuses_unrecorded: bool = False  # `on_failure = "refuse"`
    waits_for_store: bool = False  # `sync = "store"`
    journal_max_bytes: int | None = None


class Recorder:
    def __init__(
        self,
        settings: RecorderSettings,
        redactor: RowRedactor,
        store: RecordStore[Batch],
        background: Background | None = None,
        keep_apart: Callable[[KeptJournals], StoreKeeper] | None = None,
    ) -> None:
        """`keep_apart`: who keeps the store, if it is not a thread of ours. Raises SetupError. On the event
        loop."""
        background = background or Background()
        room = JournalRoom(settings.journal_max_bytes) if settings.journal_max_bytes is not None else None
        self._room = room
        self.use(settings)
        self._intake = Intake()
        self._asides = Asides()
        self.feed = Feed()
        self._waiting: deque[_Waiting] = deque()  # with `sync = "reply"`: who waits for the journal
        self._flushes: deque[CaughtUp] = deque()
        self._is_due = False  # the loop will write, or have written, what was emitted
        # Events of the group that waits, now and a turn ago, and of the one before.
        self._emitted = self._grown_to = self._last_group = 0
        self._gathers_until_mono = 0.0
        self._wake = Wakeup()
        self._stopping = False
        self._is_over = False
        self._trouble = Trouble()
        try:
            self._journal_folder = make_record_folder(settings.folder)
            self._journal = JournalWriter(self._journal_folder, room)
        except OSError as problem:
            raise journal_unwritable(settings.folder, problem) from problem
        self._loop = asyncio.get_running_loop()
        self.sequence = Sequence()
        self.redactor = redactor
        framer = Framer(redactor)
        self._writer = GroupWriter(
            self._intake, self._asides, self.sequence, framer, self._journal, self._publish
        )
        numbers = None if store.traits.tells_live else FeedNumbers(self.sequence, self.feed, self._loop)
        kept = KeptJournals(settings.folder, self._journal.writer_id, numbers, room)
        self.keeper: StoreKeeper = (
            keep_apart(kept)
            if keep_apart is not None
            else Keeper(kept, store, settings.keeps_store, background)
        )
        self._sync = JournalSync(self._journal, background)
        self._thread = background.thread("recorder", self._run)

    def use(self, settings: RecorderSettings) -> None:
        """From now on. On the event loop."""
        self._waits = settings.waits_for_journal
        self.refuses = settings.refuses_unrecorded
        self._waits_for_store = settings.waits_for_store
        if self._room is not None and settings.journal_max_bytes is not None:
            self._room.max_bytes = settings.journal_max_bytes

    # ---- ports.EventSink

    def emit(self, event: Event) -> None:
        if isinstance(event, NoticePassed):
            if not self._asides.admit_notice(event.exchange, time.monotonic()):
                return
            event = ExchangeSettled(event.exchange)
        elif isinstance(event, Aside) and not self._asides.admit(event, time.monotonic()):
            return
        self._intake.put(event)
        self._emitted += 1
        if not self._is_due:
            self._make_due()

    # ---- ports.RecordGate

    @property
    def is_refusing(self) -> bool:
        if not self.refuses:
            return False
        is_store_away = self._waits_for_store and self.keeper.error is not None
        return is_store_away or self.refuses_for_journal

    @property
    def refuses_for_journal(self) -> bool:
        """Calls are refused because nothing can be journalled, wherever the store is."""
        return self.refuses and self._trouble.error is not None

    def admit(self) -> None:
        if self.is_refusing:
            raise RefusedError(
                REFUSED_UNRECORDED,
                "Calls are refused while they cannot be recorded",
                hint="Try again later; the gateway's own log and /healthz say what is wrong",
            )

    def written(self) -> asyncio.Future[None] | None:
        written: asyncio.Future[None] = self._loop.create_future()
        return written if self.when_written(_resolve, written) else None

    def when_written(self, reply: Callable[[T], object], argument: T) -> bool:
        if not self._waits or self._is_over:
            return False
        self._waiting.append((reply, argument))
        if not self._is_due:  # the event may be written already: nobody else asks for this
            self._make_due()
        return True

    # ---- on the loop

    def _make_due(self) -> None:
        if self._stopping:
            self._wake.set()
            return
        self._is_due = True
        self._gathers_until_mono = time.monotonic() + _GATHER_S if self._last_group > 1 else 0.0
        self._loop.call_soon(self._write_due)  # when this turn of the loop is over

    def _write_due(self) -> None:
        emitted = self._emitted
        if emitted > self._grown_to and self._gathers_until_mono and self._may_gather():
            self._grown_to = emitted
            self._loop.call_soon(self._write_due)
            return
        self._last_group, self._emitted, self._grown_to = emitted, 0, 0
        self._is_due = False
        if self._waits_for_store or self._stopping or not self._writer.write_short():
            self._wake.set()
        elif self._waiting:
            _release(self._take_waiting())

    def _may_gather(self) -> bool:
        return time.monotonic() < self._gathers_until_mono and self._writer.may_grow and not self._stopping

    def _take_waiting(self) -> list[_Waiting]:
        """On any thread."""
        waiting: list[_Waiting] = []
        with suppress(IndexError):  # until there is none: two threads take
            while True:
                waiting.append(self._waiting.popleft())
        return waiting

    # ---- for the reader

    def flush(self, caught_up: CaughtUp) -> None:
        """On the loop. It is called, on any thread, once everything emitted so far is in the store."""
        self._flushes.append(caught_up)
        self._wake.set()
        if self._is_over:
            self._answer_late()

    @property
    def waiting_bytes(self) -> int:
        """What was emitted and is not journalled yet."""
        return self._intake.size_bytes

    def problem(self) -> str | None:
        if self._trouble.error is None and (problem := self.keeper.problem()) is not None:
            return problem
        error = self._trouble.error or self._sync.trouble.error
        return None if error is None else describe(error)

    def backlog(self) -> Backlog:
        return Backlog(len(self._intake), self._intake.size_bytes, self.keeper.progress())

    async def close(self) -> None:
        """Everything emitted so far is in the journal, and in the store if it was ours to write."""
        self._stopping = True
        self._wake.set()
        await asyncio.to_thread(self._join)
        self._is_over = True
        self._answer_late()

    def _join(self) -> None:
        self._thread.join()
        self._sync.close()
        self.keeper.close()

    def _answer_late(self) -> None:
        """A caller that came after the last turn would wait for ever."""
        _release(self._take_waiting())
        while self._flushes:
            self._flushes.popleft()(0, record_closed())

    # ---- the thread

    def _run(self) -> None:
        last = False
        while not last:
            self._wake.wait(_IDLE_S)
            self.redactor.prepare()
            last = self._turn()
        if missing := self._writer.missing_events:
            _log.error("%d events could not be recorded before the end", missing)

    def _turn(self) -> bool:
        """One round; whether it was the last."""
        self._wake.clear()
        last = self._stopping  # read before the queue: what was emitted until then is in this turn
        waiting = self._take_waiting()
        flushes = [self._flushes.popleft() for _ in range(len(self._flushes))]
        attempt(lambda: self._write(tells_counts=last or bool(flushes)), self._trouble)
        if waiting:  # also when it could not be written: the call was made, and its answer is due
            if self._waits_for_store:
                self.keeper.flush(lambda _: self._loop.call_soon_threadsafe(_release, waiting))
            else:
                self._loop.call_soon_threadsafe(_release, waiting)
        if last:
            self._journal.close()  # before the last drain: a segment without a writer can go
        error, reached = self._trouble.error, self.sequence.reached()
        for caught_up in flushes:
            # A drain may make the room that the journal needs, so it is asked for in any case.
            self.keeper.flush(_after_turn(caught_up, reached, error))
        return last

    def _write(self, *, tells_counts: bool) -> None:
        try:
            self._writer.write_all(tells_counts=tells_counts)
        except OSError as problem:
            self._intake.reason = problem.strerror or type(problem).__name__
            raise journal_unwritable(self._journal_folder, problem) from problem

    def _publish(self, group: Group) -> None:
        if self.feed.has_listeners:
            group.spell_out_calls()
            self._loop.call_soon_threadsafe(self.feed.tell, group)


def _release(waiting: list[_Waiting]) -> None:
    for reply, argument in waiting:
        try:
            reply(argument)
        except Exception:  # noqa: BLE001 - one that fails must not keep the others waiting for ever
            _log.exception("a reply could not be sent after its call was recorded")


def _resolve(written: asyncio.Future[None]) -> None:
    if not written.done():  # the client may have gone meanwhile
        written.set_result(None)


def _after_turn(caught_up: CaughtUp, reached: int, error: SetupError | None) -> Flushed:
    return lambda problem: caught_up(reached, error or problem)
