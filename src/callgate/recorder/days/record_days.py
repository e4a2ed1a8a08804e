"""Rows of the record by the day under which they are stored, as a copy reads and writes them.

A section is a part of a day that only grows at its end, so that a place in it stays the same: a DuckDB file,
or a day of PostgreSQL. A row is the recorder's own, with its bodies and legs. Its number in the live stream
is left out, since another store gives its own.
"""

import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol, Self

import msgspec

from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import EVENTS, GAPS, HEAD, SESSIONS, Frame, frame, read_frame
from callgate.recorder.rows import EventRow, GapRow, HopRow, SessionRow

# As a flush has it: a piece is in memory twice while it is written.
PIECE_ROWS = 2048
PIECE_BYTES = 8 * 1024 * 1024
_DIGEST_BYTES = 32
_INSTEAD_OF_NUL = "\ufffd".encode()
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Section:
    day: date
    name: str  # unique in its store, and the same tomorrow
    is_open: bool = False  # it may still grow


class DayCounts(msgspec.Struct, frozen=True):
    """Rows of a day, by which an archive sees whether the store still has the same."""

    events: int
    upstreams: int
    gaps: int


@dataclass(slots=True)
class Piece:
    """Events that lie behind each other in a section."""

    begin: int
    end: int
    events: list[EventRow] = field(default_factory=list[EventRow])


@dataclass(slots=True)
class Rest:
    """What else belongs to a section: few rows, read at once."""

    sessions: list[SessionRow]  # may be written again: what is known of a session is merged
    gaps: list[GapRow]  # in an order that stays the same while the section grows


class DaySource(Protocol):
    @property
    def source_id(self) -> str:
        """Of this store, wherever it is moved to."""
        ...

    @property
    def is_in_use(self) -> bool:
        """A gateway has the newest section for itself: it is left out."""
        ...

    async def sections(self) -> Sequence[Section]:
        """Those that can be read now, oldest first."""
        ...

    def pieces(self, section: Section, after: int) -> AsyncGenerator[Piece]: ...

    async def rest(self, section: Section) -> Rest: ...


class DayTarget(Protocol):
    async def reached(self, segments: Sequence[str]) -> Mapping[str, int]: ...

    async def write(self, day: date, batch: Batch) -> None:
        """All of it, exactly once. Raises AlreadyStoredError."""
        ...

    async def find(self, day: date, ids: Sequence[str]) -> list[EventRow]: ...

    async def gaps(self, day: date) -> Sequence[GapRow]: ...

    async def counts(self, day: date) -> DayCounts: ...


class ArchiveSource(Protocol):
    """A store whose days are archived."""

    @property
    def source_id(self) -> str: ...

    async def closed_days(self) -> Sequence[date]:
        """Those that get no more rows, oldest first."""
        ...

    async def counts(self, day: date) -> DayCounts: ...

    def day_files(self, day: date, passing: Path) -> AbstractAsyncContextManager[Sequence[Path]]:
        """DuckDB files with what is in that day; `passing` is an empty folder for those that must be made."""
        ...

    def alone(self) -> AbstractAsyncContextManager[bool]:
        """Whether nobody else archives this record meanwhile."""
        ...


class RecordDays(DaySource, DayTarget, ArchiveSource, Protocol):
    """A store as all of these."""

    @property
    def shown(self) -> str: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


def event_of(columns: Sequence[str], values: Sequence[Any]) -> EventRow:
    """Of a stored row: `ts` in microseconds, bodies as text. Tokens that were not counted are left out: the
    store that takes the row works them out again."""
    found = {name: value for name, value in zip(columns, values, strict=True) if value is not None}
    if found.pop("tokens_by", None) != "o200k":
        found.pop("request_tokens", None)
        found.pop("response_tokens", None)
    for name in ("request_json", "response_json"):
        if name in found:
            found[name] = found[name].encode("utf-8", "replace")
    found.pop("seq", None)
    found["id"] = str(found["id"])
    found.setdefault("session_id", None)
    return EventRow(**found)


def hop_of(columns: Sequence[str], values: Sequence[Any]) -> HopRow:
    found = {name: value for name, value in zip(columns, values, strict=True) if value is not None}
    return HopRow(**found)


def batch_of_events(segment: str, piece: Piece) -> Batch:
    batch = Batch()
    bodies = [row.request_json or b"" for row in piece.events]
    bodies += [row.response_json or b"" for row in piece.events]
    made = frame(EVENTS, _encode([_without_bodies(row) for row in piece.events]), len(piece.events), bodies)
    batch.add(segment, read_frame(bytes(made[HEAD.size :]), piece.end), piece.begin)
    return batch


def batch_of_sessions(section_segment: str, sessions: Sequence[SessionRow]) -> Batch:
    """Under a segment that is theirs alone: the same sessions are stored once, what is new of them again."""
    said = _encode(sessions)
    batch = Batch()
    segment = f"{section_segment}.{hashlib.sha256(said).hexdigest()[:32]}"
    batch.add(segment, Frame(SESSIONS, said, len(sessions), end=1))
    return batch


def batch_of_gaps(segment: str, gaps: Sequence[GapRow], begin: int, end: int) -> Batch:
    batch = Batch()
    batch.add(segment, Frame(GAPS, _encode(gaps), len(gaps), end=end), begin)
    return batch


class RowDigest:
    """A count and a digest of rows, whatever their order."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum = 0

    def add(self, events: Sequence[EventRow]) -> None:
        for row in events:
            # PostgreSQL keeps no character of code 0; the rest of a body is compared byte by byte.
            hashed = hashlib.sha256(_encode(_without_bodies(row)).replace(b"\\u0000", _INSTEAD_OF_NUL))
            for body in (row.request_json or b"", row.response_json or b""):
                kept = body.replace(b"\0", _INSTEAD_OF_NUL)
                hashed.update(b"%d:" % len(kept))
                hashed.update(kept)
            self._sum += int.from_bytes(hashed.digest())
            self.rows += 1

    @property
    def hex(self) -> str:
        return (self._sum % (1 << 8 * _DIGEST_BYTES)).to_bytes(_DIGEST_BYTES).hex()


def _without_bodies(row: EventRow) -> EventRow:
    return msgspec.structs.replace(row, request_json=None, response_json=None)
