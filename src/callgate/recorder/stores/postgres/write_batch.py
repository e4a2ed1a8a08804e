"""A batch of journalled rows as rows of PostgreSQL's tables, and the transaction that stores them.

Rows are decoded once and go by binary COPY; ordinary calls have a shorter way (`packed_calls`). The row of
`batches` is the first of the transaction: that its segment and offset are unique is what stores a batch
exactly once, without a look at any other row.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import Any, cast

from callgate.ports.record_store import AlreadyStoredError, StoreBusyError
from callgate.postgres_connection import Connection
from callgate.recorder.call_columns import WrittenCalls
from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import Bodies
from callgate.recorder.read.pages import EPOCH
from callgate.recorder.rows import EventRow, GapRow
from callgate.recorder.stores.batch_rows import (
    MOMENT_NAMES,
    SUM_NAMES,
    WORD_NAMES,
    SessionPart,
    read_batch,
    tokens_of,
)
from callgate.recorder.stores.postgres.packed_calls import PackedCalls
from callgate.recorder.stores.postgres.schema import (
    BACKLOG_LOCK,
    EVENT_NAMES,
    GAP_NAMES,
    HOP_NAMES,
    PARTED,
    STORE,
)
from callgate.recorder.stores.postgres.sweep import subtract, take_back_lost

_Values = tuple[Any, ...]

_MADE = ("ts", "request_tokens", "response_tokens", "tokens_by")  # not as the row has them
_PLAIN = [name for name in EVENT_NAMES if name not in _MADE]
_plain = attrgetter(*_PLAIN)
_hop_values = attrgetter(*HOP_NAMES)
_EVENT_COLUMNS = [*_MADE, *_PLAIN]
_BODIES = ("request_json", "response_json")
_PART_COLUMNS = ["session_id", "writer", *MOMENT_NAMES, *SUM_NAMES, *WORD_NAMES]
_KINDS = ["text"] * 2 + ["timestamp"] * 3 + ["bigint"] * 3 + ["text"] * len(WORD_NAMES)

_BATCHES = f"""
INSERT INTO {STORE}.batches (segment, from_offset, to_offset, events, writer)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
ON CONFLICT DO NOTHING RETURNING batch
"""  # noqa: S608
_WRITER = f"INSERT INTO {STORE}.writers (writer, folder) VALUES ($1, $2) ON CONFLICT DO NOTHING"  # noqa: S608
SIGN_OF_LIFE = f"UPDATE {STORE}.writers SET seen_at = now() WHERE writer = ANY($1::text[])"  # noqa: S608
_BACKLOG_PLACES = 16
_PLACE = f"""
SELECT place FROM unnest($1::int[]) AS place WHERE pg_try_advisory_xact_lock({BACKLOG_LOCK}, place) LIMIT 1
"""  # noqa: S608
# Newer segments are stored before a backlog: the end of a call may be there before its beginning.
_FORGET_SETTLED = f"""
DELETE FROM {STORE}.rpc_open AS o WHERE id = ANY($1::uuid[])
    AND EXISTS (SELECT FROM {STORE}.rpc_events AS e WHERE e.id = o.id)
"""  # noqa: S608
_SETS = [
    "created_at = least(p.created_at, new.created_at)",
    "last_seen_at = greatest(p.last_seen_at, new.last_seen_at)",
    # It was ended for a writer that was taken for dead, and goes on.
    "ended_at = coalesce(new.ended_at, CASE WHEN new.last_seen_at <= p.ended_at THEN p.ended_at END)",
    *(f"{name} = p.{name} + new.{name}" for name in SUM_NAMES),
    *(f"{name} = coalesce(new.{name}, p.{name})" for name in WORD_NAMES),
]
_PARTS = f"""
INSERT INTO {STORE}.session_parts AS p ({", ".join(_PART_COLUMNS)})
SELECT * FROM unnest({", ".join(f"${n}::{kind}[]" for n, kind in enumerate(_KINDS, 1))}) ORDER BY 1
ON CONFLICT (session_id, writer) DO UPDATE SET {", ".join(_SETS).replace("new.", "excluded.")}
"""  # noqa: S608
_FORGET_OPEN = f"DELETE FROM {STORE}.rpc_open WHERE id = ANY($1::uuid[]) RETURNING id"  # noqa: S608


def _part_values(part: SessionPart, session_id: str, writer: str) -> _Values:
    moments = (_moment(part.created_at), _moment(part.last_seen_at), _moment(part.ended_at))
    words = (part.words.get(name) for name in WORD_NAMES)
    return session_id, writer, *moments, part.calls, part.errors, part.tokens, *words


@dataclass(slots=True)
class BatchRows:
    """Values by table."""

    writer: str
    segments: list[tuple[str, int, int]]  # from and to which offset
    tables: dict[str, tuple[Sequence[str], list[_Values]]]
    parts: list[_Values]
    settled: list[str]  # that were open in an earlier batch
    calls: PackedCalls
    is_backlog: bool

    @property
    def events(self) -> int:
        return len(self.tables["rpc_events"][1]) + self.calls.count

    def store_under(self, day: date) -> None:
        """Not under the day of storing: rows that are copied keep theirs."""
        for table in PARTED:
            if table in self.tables:
                names, rows = self.tables[table]
                self.tables[table] = ([*names, "stored_on"], [(*row, day) for row in rows])

    def clean(self) -> None:
        """PostgreSQL keeps no character of code 0."""
        for _, rows in self.tables.values():
            rows[:] = [tuple(map(_cleaned, row)) for row in rows]
        self.parts = [tuple(map(_cleaned, row)) for row in self.parts]


def rows_of(batch: Batch) -> BatchRows:
    """Frames that cannot be read are counted as gaps, and hide nothing that follows. Raises ValueError and
    struct.error for calls with values that no column takes; not for those that the batch has spelled out."""
    segments = [(segment, batch.began[segment], end) for segment, end in batch.reached.items()]
    writer = segments[0][0].partition(".")[0]
    events: list[_Values] = []
    bodies: list[_Values] = []
    legs: list[_Values] = []
    opened: list[_Values] = []
    calls = PackedCalls()

    def keep_event(row: EventRow, request: str | None, response: str | None) -> None:
        events.append((_moment(row.ts), *tokens_of(row), *_plain(row), len(events)))
        if request is not None or response is not None:
            bodies.append((row.id, 0, request, response))
        for leg, hop in enumerate(row.hops, 1):
            legs.append((row.id, leg, *_hop_values(hop)))
            if hop.request_json is not None or hop.response_json is not None:
                bodies.append((row.id, leg, hop.request_json, hop.response_json))

    def keep_open(row: EventRow, request: str | None, response: str | None) -> None:
        values = (_moment(row.ts), None, None, None, *_plain(row))
        opened.append((*values, request, response, row.writer or writer))

    def keep_calls(written: WrittenCalls, of_calls: Bodies | None) -> None:
        calls.add(written, of_calls, len(events) + calls.count)

    parts = read_batch(batch, keep_event, keep_open, keep_calls)
    return BatchRows(
        writer,
        segments,
        {
            "rpc_events": ([*_EVENT_COLUMNS, "place"], events),
            "rpc_bodies": (["id", "leg", *_BODIES], bodies),
            "rpc_event_upstreams": (["event_id", "leg", *HOP_NAMES], legs),
            "gaps": (GAP_NAMES, [_gap_values(row) for row in parts.gaps]),
            "rpc_open": ([*_EVENT_COLUMNS, *_BODIES, "writer"], opened),
        },
        [_part_values(part, session_id, writer) for session_id, part in sorted(parts.sessions.items())],
        list(parts.settled),
        calls,
        batch.is_backlog,
    )


def _gap_values(row: GapRow) -> _Values:
    return _moment(row.since), _moment(row.until), row.count, row.reason


async def store_rows(connection: Connection, rows: BatchRows, folder: str) -> None:
    """Inside of the caller's transaction. Raises AlreadyStoredError and StoreBusyError: then nothing may be
    committed."""
    if rows.is_backlog:
        await _take_place(connection)
    segments = rows.segments
    counts = [0] * (len(segments) - 1) + [rows.events]
    columns = [list(column) for column in zip(*segments, strict=True)]
    stored = await connection.fetch(_BATCHES, *columns, counts, [rows.writer] * len(segments))
    if len(stored) < len(segments):
        raise AlreadyStoredError
    if segments[0][1] == 0 or rows.tables["rpc_open"][1]:  # else it has said so before
        await connection.execute(_WRITER, rows.writer, folder)
    lost = await _forget_open(connection, rows.settled) if rows.settled else ()
    for table, (names, values) in rows.tables.items():
        if values:
            await connection.copy_records_to_table(table, schema_name=STORE, columns=names, records=values)
    for table, packed in rows.calls.tables.items():
        if packed.pieces:
            await connection.copy_to_table(
                table, schema_name=STORE, columns=packed.names, source=packed.copy(), format="binary"
            )
    if rows.is_backlog and (opened := rows.tables["rpc_open"][1]):
        names = rows.tables["rpc_open"][0]
        await connection.execute(_FORGET_SETTLED, [row[names.index("id")] for row in opened])
    if rows.parts:
        await connection.execute(_PARTS, *(list(column) for column in zip(*rows.parts, strict=True)))
    await subtract(connection, rows.writer, lost)


async def _take_place(connection: Connection) -> None:
    """Of all gateways on a store that just came back, so many store their backlog at once."""
    places = random.sample(range(_BACKLOG_PLACES), _BACKLOG_PLACES)
    if await connection.fetchval(_PLACE, places) is None:
        raise StoreBusyError


async def _forget_open(connection: Connection, settled: list[str]) -> Sequence[Any]:
    """Those that are not open were taken for lost, or open in a part of the journal that is stored later.
    What the lost ones had counted."""
    found = {str(row[0]) for row in await connection.fetch(_FORGET_OPEN, settled)}
    missing = [event_id for event_id in settled if event_id not in found]
    return await take_back_lost(connection, missing) if missing else ()


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_cleaned(one) for one in cast(list[Any], value)]
    return value
