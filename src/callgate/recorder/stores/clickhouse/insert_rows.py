"""A batch of journalled rows as the one INSERT that stores it. Pure.

The bytes are made once. Every attempt sends the same ones, with the same token: what an insert is called
follows from what is in it, so another content never passes for one that is stored.
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import msgspec

from callgate.recorder.flush.batch import Batch
from callgate.recorder.read.pages import EPOCH
from callgate.recorder.rows import EventRow, GapRow, HopRow
from callgate.recorder.stores.batch_rows import SessionPart, read_batch, tokens_of
from callgate.recorder.stores.clickhouse.schema import BODIES, COLUMNS, LEG_BODIES, LEG_NAMES, RECORD
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS

Values = dict[str, Any]

_MADE = ("ts", "request_tokens", "response_tokens", "tokens_by", *BODIES)  # not as the row has them
_PLAIN = [name for name in EVENT_COLUMNS if name not in _MADE]
_encode = msgspec.json.Encoder().encode
# A column that is missing is an error, and not a value that is left out.
INSERT = f"INSERT INTO {RECORD} ({', '.join(f'`{name}`' for name in COLUMNS)}) FORMAT JSONEachRow"


@dataclass(frozen=True, slots=True)
class Insert:
    writer: str
    batch: str  # also the token by which the server knows a second attempt
    stored_on: date
    rows: int
    body: bytes = field(repr=False)  # a line each

    def only(self, places: Iterable[int]) -> bytes:
        lines = self.body.splitlines(keepends=True)
        return b"".join(lines[place] for place in places)


def insert_of(name: str, writer: str, rows: Iterable[Values], stored_on: date) -> Insert:
    """`name`: what the rows are, such as a stretch of a segment."""
    lines = [_encode(row)[:-1] for row in rows]
    crc = 0
    for line in lines:
        crc = zlib.crc32(line, crc)
    batch = f"{name}:{len(lines)}:{crc:08x}"
    rest = b',"batch":' + _encode(batch) + b',"stored_on":' + _encode(stored_on) + b',"place":'
    body = b"".join(b"%b%b%d}\n" % (line, rest, place) for place, line in enumerate(lines))
    return Insert(writer, batch, stored_on, len(lines), body)


def rows_of(batch: Batch, writer: str, folder: str) -> list[Values]:
    """Frames that cannot be read are counted as gaps, and hide nothing that follows."""
    events: list[Values] = []
    opened: list[Values] = []

    def keep_event(row: EventRow, request: str | None, response: str | None) -> None:
        values = _event_values("event", row, request, response)
        values["request_tokens"], values["response_tokens"], values["tokens_by"] = tokens_of(row)
        if row.hops:
            values["legs"] = [_leg_values(hop) for hop in row.hops]
            for name, of in zip(LEG_BODIES, BODIES, strict=True):
                values[name] = [getattr(hop, of) for hop in row.hops]
        events.append(values)

    def keep_open(row: EventRow, request: str | None, response: str | None) -> None:
        values = _event_values("open", row, request, response)
        opened.append({**values, "writer": row.writer or writer, "folder": folder})

    parts = read_batch(batch, keep_event, keep_open)
    return [
        *events,
        *opened,
        *({"row_kind": "closed", "id": event_id} for event_id in parts.settled),
        *(session_values(name, part, writer, folder) for name, part in sorted(parts.sessions.items())),
        *(_gap_values(row) for row in parts.gaps),
        *(_segment_values(segment, end, writer) for segment, end in batch.reached.items()),
    ]


def _event_values(kind: str, row: EventRow, request: str | None, response: str | None) -> Values:
    values: Values = {"row_kind": kind, "ts": moment_text(row.ts)}
    for name in _PLAIN:
        if (value := getattr(row, name)) is not None:
            values[name] = value
    if request is not None:
        values["request_json"] = request
    if response is not None:
        values["response_json"] = response
    return values


def _leg_values(hop: HopRow) -> Values:
    return {name: getattr(hop, name) for name in LEG_NAMES}


def session_values(session_id: str, part: SessionPart, writer: str, folder: str) -> Values:
    return {
        "row_kind": "session",
        "row_key": session_id,
        "session_id": session_id,
        **{
            name: moment_text(moment)
            for name, moment in (
                ("created_at", part.created_at),
                ("last_seen_at", part.last_seen_at or None),
                ("ended_at", part.ended_at),
            )
            if moment is not None
        },
        **part.words,
        "tool_call_count": part.calls,
        "error_count": part.errors,
        "total_tokens": part.tokens,
        "writer": writer,
        "folder": folder,
    }


def _gap_values(row: GapRow) -> Values:
    return {
        "row_kind": "gap",
        "ts": moment_text(row.since),
        "gap_until": moment_text(row.until),
        "gap_count": row.count,
        "gap_reason": row.reason,
    }


def _segment_values(segment: str, end: int, writer: str) -> Values:
    return {"row_kind": "segment", "row_key": segment, "to_offset": end, "writer": writer}


def moment_text(micros: int) -> str:
    return (EPOCH + timedelta(microseconds=micros)).isoformat(" ")


def batch_name(reached: Mapping[str, int], began: Mapping[str, int]) -> str:
    """Which stretches of which segments."""
    return ",".join(f"{segment}@{began[segment]}-{end}" for segment, end in reached.items())
