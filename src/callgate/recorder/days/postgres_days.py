"""The record in PostgreSQL as either side of a copy, or of an archive; implements `RecordDays`.

A day is read in the order of its batches. Their numbers are given before they are committed, so of the day
that is still written to only those are read before which none can appear any more (`_SETTLED`).
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from callgate.postgres_connection import FAILURES, Connection, pg, transaction
from callgate.recorder.days.copy_days import copy_section
from callgate.recorder.days.duckdb_days import DuckdbDays
from callgate.recorder.days.record_days import (
    PIECE_BYTES,
    PIECE_ROWS,
    DayCounts,
    Piece,
    Rest,
    Section,
    event_of,
    hop_of,
)
from callgate.recorder.flush.batch import Batch
from callgate.recorder.read.pages import EPOCH
from callgate.recorder.rows import EventRow, GapRow, SessionRow
from callgate.recorder.stores.duckdb.day_files import days_in
from callgate.recorder.stores.postgres import partitions
from callgate.recorder.stores.postgres.connection import StoreAddress, connect, trouble_of
from callgate.recorder.stores.postgres.migrations import bring_up_to_date
from callgate.recorder.stores.postgres.schema import (
    ARCHIVE_LOCK,
    EVENT_NAMES,
    GAP_NAMES,
    HOP_NAMES,
    SESSION_NAMES,
    SESSIONS,
    STORE,
    SUM_NAMES,
)
from callgate.recorder.stores.postgres.write_batch import BatchRows, rows_of, store_rows

# A read of one piece, and a write of one.
_LIMIT_S, _LOCK_S = 60.0, 5.0
_BODIES = ("request_json", "response_json")
_WORDS = [name for name in SESSION_NAMES if name not in SUM_NAMES]
# A flush that began before midnight may still be under way; its own limits end it within a minute.
_LATEST_FLUSH = timedelta(minutes=5)
_OF_COPIES = "copy"  # in place of a folder's id: no gateway ends what these writers left

_ID = """
SELECT system_identifier::text || '-' || oid::text FROM pg_control_system(), pg_database
WHERE datname = current_database()
"""
# Who waits for this lock has seen every batch that was begun before; the next ones get higher numbers.
_SETTLED = f"LOCK TABLE {STORE}.batches IN SHARE MODE"
_LAST_BATCH = f"SELECT max(batch) FROM {STORE}.rpc_events WHERE stored_on = $1"  # noqa: S608
_NEXT_BATCHES = f"""
SELECT batch, count(*), sum(request_bytes + response_bytes)::bigint FROM {STORE}.rpc_events
WHERE stored_on = $1 AND batch > $2 AND batch <= $3 GROUP BY batch ORDER BY batch LIMIT 64
"""  # noqa: S608
_EVENT_LIST = ", ".join(f't."{name}"' for name in EVENT_NAMES)
_EVENTS = f"""
SELECT {_EVENT_LIST}, b.request_json, b.response_json FROM {STORE}.rpc_events t
LEFT JOIN {STORE}.rpc_bodies b ON b.id = t.id AND b.leg = 0 AND b.stored_on = t.stored_on
WHERE t.stored_on = $1 AND {{which}}
"""  # noqa: S608
_HOPS = f"""
SELECT t.event_id::text, {", ".join(f"t.{name}" for name in HOP_NAMES)}, b.request_json, b.response_json
FROM {STORE}.rpc_event_upstreams t
LEFT JOIN {STORE}.rpc_bodies b ON b.id = t.event_id AND b.leg = t.leg AND b.stored_on = t.stored_on
WHERE t.stored_on = $1 AND t.event_id = ANY($2::uuid[]) ORDER BY t.event_id, t.leg
"""  # noqa: S608
_SESSIONS = f"""
SELECT {", ".join(_WORDS)} FROM ({SESSIONS}) s
WHERE session_id IN (SELECT session_id FROM {STORE}.rpc_events WHERE stored_on = $1) ORDER BY session_id
"""  # noqa: S608
_GAPS = f"""
SELECT {", ".join(f'"{name}"' for name in GAP_NAMES)} FROM {STORE}.gaps WHERE stored_on = $1
ORDER BY "from", "to", "count", reason
"""  # noqa: S608
# Rows of the past are no news: without a moment a batch is not told in the live stream (see numbering).
_UNTOLD = f"UPDATE {STORE}.batches SET stored_at = NULL WHERE segment = ANY($1::text[])"  # noqa: S608
_COUNTS = f"""
SELECT (SELECT count(*) FROM {STORE}.rpc_events WHERE stored_on = $1),
    (SELECT count(*) FROM {STORE}.rpc_event_upstreams WHERE stored_on = $1),
    (SELECT count(*) FROM {STORE}.gaps WHERE stored_on = $1)
"""  # noqa: S608
_MARKS = f"""
SELECT segment, max(to_offset) FROM {STORE}.batches WHERE segment = ANY($1::text[]) GROUP BY segment
"""  # noqa: S608


class PostgresDays:
    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._connection: Connection = None
        self._made: set[date] = set()
        self.source_id = ""
        self.is_in_use = False  # everything that is committed can be read
        self.shown = f"postgres://{address.shown}"

    async def __aenter__(self) -> Self:
        try:
            self._connection = await connect(self._address)
            await bring_up_to_date(self._connection, self._address.shown)
            self.source_id = await self._connection.fetchval(_ID)
        except FAILURES as problem:
            await self.__aexit__()
            raise trouble_of(self._address, problem) from problem
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.terminate()

    # ---- days.DaySource

    async def sections(self) -> list[Section]:
        async with self._read():
            days = await partitions.found(self._connection)
            closed_before = await self._connection.fetchval(
                "SELECT ((now() - $1::interval) AT TIME ZONE 'UTC')::date", _LATEST_FLUSH
            )
        found = [Section(day.day, day.day.isoformat(), is_open=day.day >= closed_before) for day in days]
        return sorted(found, key=lambda section: section.day)

    async def pieces(self, section: Section, after: int) -> AsyncGenerator[Piece]:
        """`after`: the number of the last batch that is not wanted again."""
        last = await self._last_batch(section)
        while True:
            async with self._read():
                following = await self._connection.fetch(_NEXT_BATCHES, section.day, after, last)
            if not following:
                return
            end, rows, size = after, 0, 0
            for batch, events, size_bytes in following:
                if rows and (rows + events > PIECE_ROWS or size + size_bytes > PIECE_BYTES):
                    break
                end, rows, size = batch, rows + events, size + size_bytes
            which = _EVENTS.format(which="t.batch > $2 AND t.batch <= $3")
            yield Piece(after, end, await self._events(section.day, which, after, end))
            after = end

    async def rest(self, section: Section) -> Rest:
        """Gaps have no order of their own: those of a day that may still grow are left for later."""
        async with self._read():
            sessions = await self._connection.fetch(_SESSIONS, section.day)
        return Rest(
            [SessionRow(**{name: _plain(value) for name, value in row.items()}) for row in sessions],
            [] if section.is_open else await self.gaps(section.day),
        )

    # ---- archive.ArchiveSource

    async def closed_days(self) -> list[date]:
        return [section.day for section in await self.sections() if not section.is_open]

    async def counts(self, day: date) -> DayCounts:
        async with self._read():
            return DayCounts(*await self._connection.fetchrow(_COUNTS, day))

    @asynccontextmanager
    async def day_files(self, day: date, passing: Path) -> AsyncGenerator[list[Path]]:
        """A copy of the day, in DuckDB files."""
        async with DuckdbDays(passing, is_target=True) as copied:
            await copy_section(self, copied, Section(day, day.isoformat()), lambda events: None)
        yield [one.path for one in days_in(passing / "days")]

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        """By a lock of a transaction that lasts meanwhile: it goes with its connection."""
        connection = None
        try:
            connection = await connect(self._address)
            await connection.execute("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0")
            is_alone = await connection.fetchval(f"SELECT pg_try_advisory_xact_lock({ARCHIVE_LOCK})")
        except FAILURES as problem:
            if connection is not None:
                connection.terminate()
            raise trouble_of(self._address, problem) from problem
        try:
            yield is_alone
        finally:
            connection.terminate()

    # ---- days.DayTarget

    async def reached(self, segments: Sequence[str]) -> dict[str, int]:
        async with self._read():
            return dict(await self._connection.fetch(_MARKS, list(segments)))

    async def write(self, day: date, batch: Batch) -> None:
        batch.spell_out_calls()
        rows = rows_of(batch)
        rows.store_under(day)
        try:
            if day not in self._made:
                await partitions.make(self._connection, day)
                self._made.add(day)
            try:
                await self._store(rows)
            except (pg.CharacterNotInRepertoireError, pg.DataError, UnicodeEncodeError):
                rows.clean()
                await self._store(rows)
        except FAILURES as problem:
            raise trouble_of(self._address, problem) from problem

    async def find(self, day: date, ids: Sequence[str]) -> list[EventRow]:
        return await self._events(day, _EVENTS.format(which="t.id = ANY($2::uuid[])"), list(ids))

    async def gaps(self, day: date) -> list[GapRow]:
        async with self._read():
            return [GapRow(*map(_plain, row)) for row in await self._connection.fetch(_GAPS, day)]

    async def _store(self, rows: BatchRows) -> None:
        async with transaction(self._connection, limit_s=_LIMIT_S, lock_s=_LOCK_S):
            await store_rows(self._connection, rows, _OF_COPIES)
            segments = [segment for segment, _, _ in rows.segments]
            await self._connection.execute(_UNTOLD, segments)

    async def _last_batch(self, section: Section) -> int:
        async with self._read(writes=section.is_open):
            if section.is_open:
                await self._connection.execute(_SETTLED)
            return await self._connection.fetchval(_LAST_BATCH, section.day) or 0

    async def _events(self, day: date, sql: str, *params: Any) -> list[EventRow]:
        async with self._read():
            rows = await self._connection.fetch(sql, day, *params)
            events = [event_of([*EVENT_NAMES, *_BODIES], [_plain(value) for value in row]) for row in rows]
            by_id = {row.id: row for row in events}
            hops = await self._connection.fetch(_HOPS, day, list(by_id))
        for event_id, *values in hops:
            row = by_id[event_id]
            row.hops = [*row.hops, hop_of([*HOP_NAMES, *_BODIES], values)]
        return events

    @asynccontextmanager
    async def _read(self, writes: bool = False) -> AsyncGenerator[None]:
        try:
            async with transaction(self._connection, limit_s=_LIMIT_S, lock_s=_LOCK_S, read_only=not writes):
                yield
        except FAILURES as problem:
            raise trouble_of(self._address, problem) from problem


def _plain(value: Any) -> Any:
    """Moments as rows have them."""
    return (value - EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) else value
