"""A batch: the rows that a store takes in one transaction, as frames of a journal."""

import time
from dataclasses import dataclass, field

import msgspec

from callgate.recorder.call_columns import read_event_rows
from callgate.recorder.journal.frames import CALLS, EVENTS, GAPS, OPENED, SESSIONS, Frame
from callgate.recorder.rows import GapRow, micros

# As many rows as DuckDB compresses and writes at once. The journal's frames keep to multiples of it, which
# suits any other store too.
ROW_GROUP_ROWS = 2048
# What makes the fixed cost of a transaction (8 ms) small.
_ENOUGH_ROWS = 4 * ROW_GROUP_ROWS
_ENOUGH_BYTES = 8 * 1024 * 1024
# What a whole row group may take to be worth waiting for: it is in memory, once here and once in DuckDB, but
# what is not whole takes three times its own. Bodies of 20 KB fit.
_MAX_BYTES = 48 * 1024 * 1024


@dataclass(slots=True)
class Batch:
    """Frames of one transaction, all of one writer, and how far into their segments they reach."""

    reached: dict[str, int] = field(default_factory=dict[str, int])
    began: dict[str, int] = field(default_factory=dict[str, int])  # where in each of them
    size_bytes: int = 0
    events: int = 0
    frames: dict[bytes, list[Frame]] = field(
        default_factory=lambda: {SESSIONS: [], OPENED: [], EVENTS: [], CALLS: [], GAPS: []}
    )
    is_complete: bool = False
    is_whole: bool = False  # it ends with a row group of its writer
    is_backlog: bool = False  # of a segment that is not written to any more: it may have to wait for others'

    def add(self, segment: str, frame: Frame, start: int = 0) -> None:
        """`start`: how far the segment is stored, or in the batch already."""
        self.began.setdefault(segment, start)
        self.reached[segment] = frame.end
        self.size_bytes += len(frame.rows_json) + (len(frame.bodies.data) if frame.bodies else 0) + 1
        if frame.kind not in self.frames:
            self.count_unreadable()
            return
        self.frames[frame.kind].append(frame)
        if frame.kind in (EVENTS, CALLS):
            self.events += frame.count
            self.is_whole = frame.wanted_rows == 0
            self.is_complete = self._is_complete(frame.wanted_rows)
        else:
            self.is_complete = self.size_bytes >= _MAX_BYTES

    def _is_complete(self, wanted_rows: int) -> bool:
        is_enough = self.size_bytes >= _ENOUGH_BYTES
        if (self.events + wanted_rows) % ROW_GROUP_ROWS != 0:
            # It does not begin with a row group: then it ends with one, and the next does.
            return is_enough or wanted_rows == 0
        if wanted_rows == 0:
            return is_enough or self.events >= _ENOUGH_ROWS
        filled_bytes = self.size_bytes * (self.events + wanted_rows) // self.events
        return is_enough and filled_bytes > _MAX_BYTES

    def spell_out_calls(self) -> None:
        """Frames of calls (`call_rows`) become frames of whole rows, for those who look at each row."""
        calls, self.frames[CALLS] = self.frames[CALLS], []
        for frame in calls:
            try:
                rows = read_event_rows(frame.rows_json, frame.bodies.requests if frame.bodies else ())
            except msgspec.DecodeError:
                rows = []
            if len(rows) != frame.count:
                self.count_unreadable()
                continue
            frame.kind, frame.rows_json = EVENTS, msgspec.json.encode(rows)
            self.frames[EVENTS].append(frame)

    def drop_unreadable(self) -> None:
        """Whole frames, but not of this version: they must not hide what follows."""
        self.spell_out_calls()
        for kind, frames in self.frames.items():
            readable = [frame for frame in frames if _is_readable(frame)]
            unreadable = len(frames) - len(readable)
            self.frames[kind] = readable
            for _ in range(unreadable):
                self.count_unreadable()

    def give_up(self, frame: Frame) -> None:
        """It cannot be read; counted once, however often the batch is tried."""
        self.frames[frame.kind] = [other for other in self.frames[frame.kind] if other is not frame]
        self.count_unreadable()

    def count_unreadable(self) -> None:
        now = micros(time.time())
        gap = GapRow(now, now, 1, "journalled rows could not be read")
        self.frames[GAPS].append(Frame(GAPS, msgspec.json.encode([gap]), 1))

    @property
    def is_empty(self) -> bool:
        return not self.size_bytes


def _is_readable(frame: Frame) -> bool:
    try:
        return len(msgspec.json.decode(frame.rows_json, type=list[msgspec.Raw])) == frame.count
    except msgspec.DecodeError:
        return False
