"""From the intake to the journal, a group at a time: rows are made, looked through, and written.

The event loop does it itself where that is short: a hand-over to a thread and back costs more than a small
group does, and both share one interpreter. Everything else is the recorder's thread's:

1. What has to be redacted, shortened or told of (sessions, losses), and bodies of many bytes.
2. Everything, while the journal cannot be written, or for a while after a write that was slow.
3. Whoever writes holds the lock. The loop never waits for it: what it cannot do at once is the thread's.
"""

import threading
import time
from collections.abc import Callable

from callgate.recorder.asides import Asides
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Group, Grouper
from callgate.recorder.intake import Intake, Taken
from callgate.recorder.journal.journal import JournalWriter
from callgate.recorder.losses import Losses
from callgate.recorder.sequence import Sequence

# One write: a failed one is kept and repeated whole, so it should not be long.
_GROUP_EVENTS = 512
_GROUP_BYTES = 4 * 1024 * 1024
# What the loop does itself: half a millisecond at most for these bodies, 2 ms for a group of small calls.
_SHORT_BYTES = 256 * 1024
# write(2) goes to the page cache, which takes microseconds. A disk that is behind may make it wait. A machine
# that is busy takes the core away for some 20 ms.
_SLOW_S = 0.1
_AFTER_SLOW_S = 10.0


class GroupWriter:
    """`write_short` from the loop's thread, `write_all` from the recorder's."""

    def __init__(
        self,
        intake: Intake,
        asides: Asides,
        sequence: Sequence,
        framer: Framer,
        journal: JournalWriter,
        tell: Callable[[Group], None],
    ) -> None:
        """`tell`: of each group that was written, while the sequence's lock is held."""
        self._intake = intake
        self._asides = asides
        self._sequence = sequence
        self._grouper = Grouper(sequence, journal.writer_id)
        self._framer = framer
        self._journal = journal
        self._tell = tell
        self._lock = threading.Lock()
        self._group: Group | None = None  # taken from the intake, not in the journal yet
        self._frames: list[bytearray] | None = None  # of it, once they are made
        self._taken_events = 0
        self._no_losses = Losses()
        self._slow_until_mono = 0.0

    @property
    def missing_events(self) -> int:
        """What was emitted and is not in the journal."""
        return self._taken_events + len(self._intake)

    @property
    def may_grow(self) -> bool:
        """Whether twice as much would still be short."""
        return self._intake.is_short(_GROUP_EVENTS // 2, _SHORT_BYTES // 2)

    def write_short(self) -> bool:
        """Whether everything emitted so far is in the journal. If not, it is for `write_all`, which also says
        what is wrong. On the loop: never waits for another thread, never raises."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._group is not None or not self._intake.is_short(_GROUP_EVENTS, _SHORT_BYTES):
                return False
            return self._write_intake()
        except Exception:  # noqa: BLE001 - the thread tries again, and tells what is wrong
            return False
        finally:
            self._lock.release()

    def _write_intake(self) -> bool:
        begun_mono = time.monotonic()
        if begun_mono < self._slow_until_mono or not self._sequence.lock.acquire(blocking=False):
            return False
        try:
            while taken := self._intake.take_short(most := min(_GROUP_EVENTS, self._framer.room_rows)):
                group = self._rows_of(taken, self._no_losses)
                self._frames = self._framer.clean_frames_of(group)
                if self._frames is None:
                    self._no_losses = Losses()  # it may have got some
                    return False
                self._append(group, self._frames)
                if len(taken) < most:
                    break  # those were all
        finally:
            self._sequence.lock.release()
        ended_mono = time.monotonic()
        if ended_mono - begun_mono > _SLOW_S:
            self._slow_until_mono = ended_mono + _AFTER_SLOW_S
        return True

    def write_all(self, *, tells_counts: bool) -> None:
        """Everything emitted so far. Raises OSError: what could not be written stays first in line, and what
        is behind it in the bounded queue. `tells_counts`: somebody reads the record, or it is the end."""
        with self._lock:
            if self._group is not None:
                with self._sequence.lock:
                    self._write_group(self._group, is_numbered=self._frames is not None)
            until = len(self._intake)
            while until >= 0:
                with self._sequence.lock:
                    losses = self._intake.take_losses()
                    taken = self._intake.take(min(_GROUP_EVENTS, self._framer.room_rows), _GROUP_BYTES)
                    group = self._rows_of(taken, losses)
                    group.gaps += self._asides.take_counted(time.monotonic(), at_once=tells_counts)
                    until -= self._taken_events + 1
                    self._write_group(group, is_numbered=True)

    def _rows_of(self, taken: list[Taken], losses: Losses) -> Group:
        self._taken_events = len(taken)
        self._group, self._frames = self._grouper.group(taken, losses), None
        return self._group

    def _write_group(self, group: Group, *, is_numbered: bool) -> None:
        if not is_numbered:  # others may have got higher numbers since, and be told of already
            self._sequence.number(group.opened)
            self._sequence.number(group.events)
            self._sequence.number_calls(group.calls)
        if self._frames is None:
            self._frames = self._framer.frames_of(group)
        self._append(group, self._frames)

    def _append(self, group: Group, frames: list[bytearray]) -> None:
        if frames:
            self._journal.append(frames)
        self._group, self._frames, self._taken_events = None, None, 0
        if frames:
            self._tell(group)
