"""Reads the record in PostgreSQL; implements `ports.RecordReader` (see `database_reader`).

`dump` writes rows as lines of JSON, which DuckDB makes a file of (`duckdb.row_files`).
"""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from callgate.ports.record_reader import EventFilter, Extent, Order, RecordPage, Row, SessionFilter, Stats
from callgate.postgres_connection import Connection
from callgate.recorder.read import pages
from callgate.recorder.read.caught_up import caught_up
from callgate.recorder.read.facets import FacetQuery
from callgate.recorder.read.pages import Where
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.read.sums import bucket_width_s, shown_stretch, stats_of
from callgate.recorder.recorder import Recorder
from callgate.recorder.stores.database_reader import DatabaseReader
from callgate.recorder.stores.postgres import events as read_events
from callgate.recorder.stores.postgres import partitions
from callgate.recorder.stores.postgres import stats as read_stats
from callgate.recorder.stores.postgres import writes as read_writes
from callgate.recorder.stores.postgres.numbering import NumberedRows
from callgate.recorder.stores.postgres.reads import PostgresReads, Read
from callgate.recorder.stores.postgres.record_store import TRAITS, PostgresStore
from callgate.recorder.stores.postgres.schema import STORE

_Found = TypeVar("_Found")

_DUMPED_AT_ONCE = 500
_encode = msgspec.json.Encoder(enc_hook=str).encode

# Every event came in a batch, which says how many it had: to count them all would take seconds.
_EXTENT = f"""
SELECT (SELECT coalesce(sum(events), 0) FROM {STORE}.batches) + (SELECT count(*) FROM {STORE}.rpc_open),
    (SELECT count(DISTINCT session_id) FROM {STORE}.session_parts),
    (SELECT count(*) FROM {STORE}.gaps), (SELECT coalesce(sum(count), 0)::bigint FROM {STORE}.gaps),
    (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n
        ON n.oid = c.relnamespace WHERE n.nspname = '{STORE}' AND c.relkind = 'r')
"""  # noqa: S608


class PostgresReader(DatabaseReader):
    _source_requests = read_events.SOURCE_REQUESTS
    _session_ids = read_events.SESSION_IDS
    _find_writes = staticmethod(read_writes.writes_between)

    def __init__(self, recorder: Recorder, store: PostgresStore, folder: Path) -> None:
        super().__init__(recorder, folder)
        self.address = store.address
        self._reads = PostgresReads(store.thread, store.address)
        self._reads_for_users = PostgresReads(store.thread, store.address, of_users=True)
        self.numbered = NumberedRows(self._reads)

    async def sessions(
        self, which: SessionFilter, limit: int, offset: int = 0, cursor: str | None = None
    ) -> RecordPage:
        wanted = read_events.session_page(which, cursor, limit, offset)
        counted = read_events.session_count(which, _MOST_COUNTED)

        async def read(connection: Connection) -> RecordPage:
            rows = _rows(await connection.fetch(wanted.sql, *wanted.params))
            total = await connection.fetchval(counted.sql, *counted.params)
            has_more, rows = len(rows) > limit, rows[:limit]
            return _page(rows, total, pages.session_cursor_after(rows[-1]) if has_more else None)

        return await self.read(read)

    async def session(self, session_id: str) -> Row | None:
        async def read(connection: Connection) -> Row | None:
            row = await connection.fetchrow(read_events.ONE_SESSION, session_id)
            return None if row is None else dict(row)

        return await self.read(read)

    def _events(self, which: EventFilter, limit: int, cursor: str | None, order: Order) -> Read[RecordPage]:
        found = read_events.where(which, TRAITS.text_reach_s)
        wanted = read_events.page(found, limit + 1, cursor, order)

        async def read(connection: Connection) -> RecordPage:
            rows = _rows(await connection.fetch(wanted.sql, *wanted.params))
            has_more, rows = len(rows) > limit, rows[:limit]
            if cursor is None and not has_more:
                total = len(rows)
            else:
                counted = read_events.counted(found.sql, _MOST_COUNTED)
                total = await connection.fetchval(counted, *found.params)
            await read_writes.mark_writes(connection, rows)
            return _page(rows, total, pages.cursor_after(rows[-1], order) if has_more else None)

        return read

    async def event(self, event_id: str) -> Row | None:
        known = pages.id_and_day(event_id)

        async def read(connection: Connection) -> Row | None:
            found = await connection.fetchrow(read_events.ONE_EVENT, *known) if known is not None else None
            if found is None:
                return None
            row = dict(found)
            await read_writes.mark_writes(connection, [row])
            row["said"] = _rows(await connection.fetch(read_events.SAID, *pages.said_during(row)))
            return pages.with_hops(row, _rows(await connection.fetch(read_events.HOPS, *(known or ()))))

        return await self.read(read)

    async def event_ids(self, piece: str, limit: int, method: str | None = None) -> Sequence[str]:
        return await self._column(read_events.ids(piece, limit, method))

    async def lanes(self, session_id: str, limit: int) -> RecordPage:
        async def read(connection: Connection) -> RecordPage:
            rows = _rows(await connection.fetch(read_events.LANES, session_id, limit))
            counted = read_events.counted(read_events.OF_SESSION, _MOST_COUNTED)
            return _page(rows[::-1], await connection.fetchval(counted, session_id), None)

        return await self.read(read)

    async def events_after(self, seq: int, limit: int) -> Sequence[Row]:
        await caught_up(self._recorder)
        return await self.numbered.all_after(seq, limit)

    async def stats(self, which: EventFilter, width_s: int | None = None) -> Stats:
        assert which.since is not None
        day = pages.day_before(which.since)

        async def read(connection: Connection) -> Stats:
            first, last = await connection.fetchrow(read_stats.STRETCH)
            counted = await connection.fetchval(read_stats.ROWS, which.since, which.until, day)
            is_exact = counted <= read_stats.EXACT_ROWS
            now = datetime.now(UTC).replace(tzinfo=None)
            stretch = shown_stretch(which, first, last, now)
            width = width_s or bucket_width_s(*stretch)
            wanted = read_stats.stats_query(which, width, is_exact)
            rows = await connection.fetch(wanted.sql, *wanted.params)
            durations = None
            if not is_exact:
                asked = read_stats.durations_query(which, width)
                durations = [tuple(row) for row in await connection.fetch(asked.sql, *asked.params)]
            return stats_of(read_stats.answers(map(tuple, rows), durations), stretch, width)

        return await self.read(read, ReadKind.SCAN)

    def _facet_query(self, which: EventFilter) -> FacetQuery:
        return read_events.facet_query(which, TRAITS.text_reach_s)

    async def _dump(self, path: Path, which: EventFilter) -> None:
        wanted = read_events.exported(read_events.where(which, TRAITS.text_reach_s))
        await self.read(lambda connection: dump(connection, path, wanted), ReadKind.EXPORT)

    async def extent(self) -> Extent:
        async def read(connection: Connection) -> tuple[int, int, int, int, int, date | None]:
            days = [day.day for day in await partitions.found(connection)]
            return *(await connection.fetchrow(_EXTENT)), min(days, default=None)

        events, sessions, gaps, gap_events, size_bytes, oldest_day = await self.read(read)
        return Extent(int(events), sessions, size_bytes, oldest_day, gaps, gap_events)

    async def read(
        self, read: Read[_Found], kind: ReadKind = ReadKind.PAGE, most_s: float | None = None
    ) -> _Found:
        """For the other readers of this room too."""
        await caught_up(self._recorder)
        return await self._reads.run(read, kind, most_s)

    async def read_for_users(self, read: Read[_Found], most_s: float) -> _Found:
        """What runs a statement of theirs."""
        await caught_up(self._recorder)
        return await self._reads_for_users.run(read, ReadKind.SCAN, most_s)

    async def close(self) -> None:
        await self._reads.close()
        await self._reads_for_users.close()

    async def _table(
        self, wanted: Where, kind: ReadKind = ReadKind.PAGE, most_s: float | None = None
    ) -> Sequence[Sequence[Any]]:
        return await self.read(lambda connection: connection.fetch(wanted.sql, *wanted.params), kind, most_s)


_MOST_COUNTED = TRAITS.exact_total or 0


def _page(rows: list[Row], total: int, next_cursor: str | None) -> RecordPage:
    return RecordPage(rows, min(total, _MOST_COUNTED), next_cursor, total > _MOST_COUNTED)


def _rows(found: Sequence[Any]) -> list[Row]:
    return [dict(row) for row in found]


async def dump(connection: Connection, path: Path, wanted: Where) -> int:
    """Lines of JSON, as many rows at a time as fit well into memory. How many there are."""
    count = 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        statement = await connection.prepare(wanted.sql)
        rows: list[Any] = []
        async for row in statement.cursor(*wanted.params, prefetch=_DUMPED_AT_ONCE):
            rows.append(row)
            count += 1
            if len(rows) == _DUMPED_AT_ONCE:
                await asyncio.to_thread(file.write, _lines(rows))
                rows = []
        file.write(_lines(rows))
    return count


def _lines(rows: list[Any]) -> bytes:
    return b"".join(_encode({name: _plain(value) for name, value in row.items()}) + b"\n" for row in rows)


def _plain(value: Any) -> Any:
    """As DuckDB reads it: moments without the T of ISO 8601."""
    return value.isoformat(" ") if isinstance(value, datetime) else value
