"""Rows on their way to the journal: gone at once on a good day, a bounded many while it cannot be written.

1. A row leaves only when it was appended, or to make room.
2. Room is made by the oldest bodies first, then by the oldest rows.
3. What was lost is counted, and the count follows the rows as soon as writing works again: the record
   itself says what it does not hold.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

import msgspec

from callgate.recorder.encode_event import EncodedRow
from callgate.recorder.journal import MAX_PAYLOAD_BYTES, JournalWriter, decode_row, encode_row
from callgate.recorder.rows import EventRow, GapRow, Row, without_bodies

# Some minutes of a busy gateway with a full disk; more would endanger the gateway itself.
BACKLOG_BYTES = 64 * 1024 * 1024
# One append: a failed one is taken back and repeated whole, so it should not be long.
APPEND_BYTES = 1024 * 1024
_TOO_LARGE = "larger than the journal takes"


@dataclass(frozen=True, slots=True)
class _Waiting:
    payload: bytes
    at: datetime
    stripped_because: str | None = None


@dataclass(slots=True)
class _Loss:
    """A gap that still grows."""

    what: str
    moments: list[datetime] = field(default_factory=list[datetime])  # the first and the last, or none
    count: int = 0
    reasons: dict[str, None] = field(default_factory=dict[str, None])  # in their order, each once

    def add(self, at: datetime, reason: str) -> None:
        self.moments = [min((*self.moments, at)), max((*self.moments, at))]
        self.count += 1
        self.reasons[reason] = None

    def row(self) -> GapRow:
        since, until = self.moments
        return GapRow(since, until, self.count, f"{self.what}: {', '.join(self.reasons)}")


class Backlog:
    """Used from the recorder's thread only."""

    def __init__(self, limit_bytes: int = BACKLOG_BYTES) -> None:
        self._limit_bytes = limit_bytes
        # In order of arrival over both: what was stripped is always older than what was not.
        self._stripped: deque[_Waiting] = deque()
        self._whole: deque[_Waiting] = deque()
        self._reason = "rows came faster than they could be written"
        self._forget_losses()
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._stripped) + len(self._whole)

    def add(self, encoded: EncodedRow) -> None:
        waiting = _Waiting(encoded.payload, _moment(encoded.row))
        if len(waiting.payload) > MAX_PAYLOAD_BYTES:
            waiting = _strip(waiting, _TOO_LARGE)
            if len(waiting.payload) > MAX_PAYLOAD_BYTES:
                self._missing.add(waiting.at, _TOO_LARGE)
                return
        self._whole.append(waiting)
        self.size_bytes += len(waiting.payload)
        while self.size_bytes > self._limit_bytes:
            self._make_room()

    def count_missing(self, at: datetime, reason: str) -> None:
        """An event that never became a row."""
        self._missing.add(at, reason)

    def write_to(self, journal: JournalWriter) -> None:
        """Raises OSError; what was not appended by then stays."""
        try:
            while len(self):
                self._append_some(journal)
            if losses := [loss.row() for loss in (self._bodiless, self._missing) if loss.count]:
                journal.append([encode_row(row) for row in losses])
                self._forget_losses()
        except OSError as problem:
            self._reason = problem.strerror or type(problem).__name__
            raise

    def _append_some(self, journal: JournalWriter) -> None:
        size_bytes, some = 0, list[_Waiting]()
        for waiting in chain(self._stripped, self._whole):
            size_bytes += len(waiting.payload)
            if some and size_bytes > APPEND_BYTES:
                break
            some.append(waiting)
        journal.append([waiting.payload for waiting in some])
        for waiting in some:
            (self._stripped or self._whole).popleft()
            self.size_bytes -= len(waiting.payload)
            if waiting.stripped_because:  # counted only now: until here the whole row could still go
                self._bodiless.add(waiting.at, waiting.stripped_because)

    def _make_room(self) -> None:
        if self._whole:
            oldest = self._whole.popleft()
            stripped = _strip(oldest, self._reason)
            self._stripped.append(stripped)
            self.size_bytes -= len(oldest.payload) - len(stripped.payload)
        else:
            oldest = self._stripped.popleft()
            self.size_bytes -= len(oldest.payload)
            self._missing.add(oldest.at, self._reason)

    def _forget_losses(self) -> None:
        self._bodiless = _Loss("recorded without bodies")
        self._missing = _Loss("not recorded")


def _strip(waiting: _Waiting, reason: str) -> _Waiting:
    if waiting.stripped_because:
        return waiting
    try:
        row = decode_row(waiting.payload)
    except msgspec.DecodeError:  # a column of the wrong type, a bug: the reader will count it as unreadable
        return waiting
    if not isinstance(row, EventRow):
        return waiting
    return _Waiting(encode_row(without_bodies(row)), waiting.at, reason)


def _moment(row: Row) -> datetime:
    if isinstance(row, EventRow):
        return row.ts
    return row.until if isinstance(row, GapRow) else row.last_seen_at
