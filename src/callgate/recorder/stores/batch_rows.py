"""A batch's frames as rows, for the stores of which each row is decoded: PostgreSQL and ClickHouse.

DuckDB reads the frames' JSON itself. Nothing here knows an engine.
"""

from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from callgate.ports.record_reader import TOOL_CALL
from callgate.recorder.call_columns import WrittenCalls, read_calls
from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import CALLS, EVENTS, GAPS, OPENED, SESSIONS, Bodies, Frame
from callgate.recorder.rows import EventRow, GapRow, SessionRow
from callgate.recorder.stores.duckdb.schema import SESSION_COLUMNS

_Rows = TypeVar("_Rows", bound=Sized)

SUM_NAMES = ["tool_call_count", "error_count", "total_tokens"]
MOMENT_NAMES = ["created_at", "last_seen_at", "ended_at"]
WORD_NAMES = [
    name for name in SESSION_COLUMNS if name not in ("session_id", "writer", *MOMENT_NAMES, *SUM_NAMES)
]


@dataclass(slots=True)
class SessionPart:
    """What a batch says of one session."""

    created_at: int | None = None
    last_seen_at: int = 0
    ended_at: int | None = None
    words: dict[str, str] = field(default_factory=dict[str, str])
    calls: int = 0
    errors: int = 0
    tokens: int = 0

    def add_row(self, row: SessionRow) -> None:
        self.created_at = row.created_at if self.created_at is None else min(self.created_at, row.created_at)
        self.last_seen_at = max(self.last_seen_at, row.last_seen_at)
        self.ended_at = self.ended_at if row.ended_at is None else max(self.ended_at or 0, row.ended_at)
        for name in WORD_NAMES:
            if (value := getattr(row, name)) is not None:
                self.words[name] = value

    def add_event(self, ts: int, tokens: int, *, is_call: bool, is_error: bool) -> None:
        if self.created_at is None:
            self.created_at = ts
        if ts > self.last_seen_at:
            self.last_seen_at = ts
        self.calls += is_call
        self.errors += is_error
        self.tokens += tokens


_sessions = msgspec.json.Decoder(list[SessionRow]).decode
_events = msgspec.json.Decoder(list[EventRow]).decode
_gaps = msgspec.json.Decoder(list[GapRow]).decode

Tokens = tuple[int, int, str]
Keep = Callable[[EventRow, str | None, str | None], None]
KeepCalls = Callable[[WrittenCalls, Bodies | None], None]


@dataclass(slots=True)
class BatchParts:
    """What a batch says beside its events."""

    sessions: dict[str, SessionPart] = field(default_factory=dict[str, SessionPart])
    settled: dict[str, None] = field(default_factory=dict[str, None])  # that were open in an earlier batch
    gaps: list[GapRow] = field(default_factory=list[GapRow])

    def _session(self, session_id: str) -> SessionPart:
        part = self.sessions.get(session_id)
        if part is None:
            part = self.sessions[session_id] = SessionPart()
        return part

    def add_session(self, row: SessionRow) -> None:
        self._session(row.session_id).add_row(row)

    def add_event(self, row: EventRow) -> None:
        if row.session_id is not None:
            request, response, _ = tokens_of(row)
            self._session(row.session_id).add_event(
                row.ts, request + response, is_call=row.method == TOOL_CALL, is_error=row.ok is False
            )
        if row.was_open:
            self.settled[row.id] = None

    def add_calls(self, written: WrittenCalls) -> None:
        is_call = [shape.method == TOOL_CALL for shape in written.shapes]
        for call in written.calls:
            _, ts, session_id, _, _, _, request_bytes, response_bytes, _, _, shape, *_ = call
            tokens = (request_bytes + 3) // 4 + (response_bytes + 3) // 4
            self._session(session_id).add_event(ts, tokens, is_call=is_call[shape], is_error=False)

    def ended_within(self, row: EventRow) -> bool:
        """It opened and ended within this batch."""
        if row.id not in self.settled:
            return False
        del self.settled[row.id]
        return True


def read_batch(
    batch: Batch, keep_event: Keep, keep_open: Keep, keep_calls: KeepCalls | None = None
) -> BatchParts:
    """Frames that cannot be read are counted as gaps, and hide nothing that follows. `keep_calls`: takes
    frames of calls as they are, behind all events; without it they are events like any other."""
    if keep_calls is None:
        batch.spell_out_calls()
    parts = BatchParts()
    for _, sessions in _read(batch, SESSIONS, _sessions):
        for session in sessions:
            parts.add_session(session)
    for frame, rows in _read(batch, EVENTS, _events):
        for place, row in enumerate(rows):
            keep_event(row, *texts_of(frame, place))
            parts.add_event(row)
    for frame, written in _read(batch, CALLS, read_calls):
        if keep_calls is not None:
            keep_calls(written, frame.bodies)
        parts.add_calls(written)
    for frame, rows in _read(batch, OPENED, _events):
        for place, row in enumerate(rows):
            if not parts.ended_within(row):
                keep_open(row, *texts_of(frame, place))
    for _, gaps in _read(batch, GAPS, _gaps):  # the last: the others may add some
        parts.gaps += gaps
    return parts


def _read(batch: Batch, kind: bytes, rows_of: Callable[[bytes], _Rows]) -> Iterator[tuple[Frame, _Rows]]:
    """One after the other, as they are asked for. Frames that cannot be read are counted as gaps, and hide
    nothing that follows."""
    for frame in list(batch.frames[kind]):
        try:
            rows = rows_of(frame.rows_json)
        except (msgspec.DecodeError, UnicodeDecodeError):
            rows = None
        if rows is not None and len(rows) == frame.count:
            yield frame, rows
        else:
            batch.give_up(frame)


def texts_of(frame: Frame, place: int) -> tuple[str | None, str | None]:
    """The bodies of a frame's row."""
    return frame.bodies.texts(place) if frame.bodies is not None else (None, None)


def tokens_of(row: EventRow) -> Tokens:
    """Nobody counted the tokens (see tokens.py): four bytes are one, and the column says so."""
    request, response = row.request_tokens, row.response_tokens
    return (
        (row.request_bytes + 3) // 4 if request is None else request,
        (row.response_bytes + 3) // 4 if response is None else response,
        "bytes" if request is None else "o200k",
    )
