"""Reads the record in ClickHouse; implements `ports.RecordReader` (see `database_reader`)."""

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeVar

from callgate.ports.record_reader import EventFilter, Extent, Order, RecordPage, Row, SessionFilter, Stats
from callgate.recorder.read import pages
from callgate.recorder.read.caught_up import caught_up
from callgate.recorder.read.facets import FacetQuery
from callgate.recorder.read.pages import Where
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.read.sums import bucket_width_s, shown_stretch, stats_of
from callgate.recorder.recorder import Recorder
from callgate.recorder.stores.clickhouse import events as read_events
from callgate.recorder.stores.clickhouse import upkeep
from callgate.recorder.stores.clickhouse import writes as read_writes
from callgate.recorder.stores.clickhouse.connection import ClickhouseConnection, StoreUser
from callgate.recorder.stores.clickhouse.literals import spelled
from callgate.recorder.stores.clickhouse.reads import ClickhouseReads, Read
from callgate.recorder.stores.clickhouse.record_store import TRAITS, ClickhouseStore
from callgate.recorder.stores.clickhouse.schema import EVENTS, RECORD
from callgate.recorder.stores.database_reader import DatabaseReader

_Found = TypeVar("_Found")
_EXTENT = f"""
SELECT (SELECT count() FROM {RECORD} WHERE {EVENTS}) AS events,
    (SELECT uniqExact(row_key) FROM {RECORD} WHERE row_kind = 'session') AS sessions,
    count() AS gaps, ifNull(sum(gap_count), 0) AS gap_events
FROM {RECORD} WHERE row_kind = 'gap'
"""  # noqa: S608


class ClickhouseReader(DatabaseReader):
    _source_requests = read_events.SOURCE_REQUESTS
    _session_ids = read_events.SESSION_IDS
    _find_writes = staticmethod(read_writes.writes_between)

    def __init__(self, recorder: Recorder, store: ClickhouseStore, folder: Path) -> None:
        super().__init__(recorder, folder)
        self._reads = ClickhouseReads(store.address)

    async def sessions(
        self, which: SessionFilter, limit: int, offset: int = 0, cursor: str | None = None
    ) -> RecordPage:
        wanted = read_events.session_page(which, cursor, limit, offset)
        counted = read_events.session_count(which)

        def read(connection: ClickhouseConnection) -> RecordPage:
            rows = connection.fetch(wanted.sql, wanted.params)
            has_more, rows = len(rows) > limit, rows[:limit]
            return RecordPage(
                rows, _total(connection, counted), pages.session_cursor_after(rows[-1]) if has_more else None
            )

        return await self.read(read)

    async def session(self, session_id: str) -> Row | None:
        def read(connection: ClickhouseConnection) -> Row | None:
            rows = connection.fetch(read_events.ONE_SESSION, [session_id])
            return rows[0] if rows else None

        return await self.read(read)

    def _events(self, which: EventFilter, limit: int, cursor: str | None, order: Order) -> Read[RecordPage]:
        found = read_events.where(which, TRAITS.text_reach_s)
        wanted = read_events.page(found, limit + 1, cursor, order)

        def read(connection: ClickhouseConnection) -> RecordPage:
            rows = connection.fetch(wanted.sql, wanted.params)
            has_more, rows = len(rows) > limit, rows[:limit]
            total = len(rows)
            if cursor is not None or has_more:
                total = _total(connection, Where(read_events.counted(found.sql), found.params))
            read_writes.mark_writes(connection, rows)
            return RecordPage(rows, total, pages.cursor_after(rows[-1], order) if has_more else None)

        return read

    async def event(self, event_id: str) -> Row | None:
        known = pages.id_and_day(event_id)

        def read(connection: ClickhouseConnection) -> Row | None:
            found = connection.fetch(read_events.ONE_EVENT, known) if known is not None else []
            if not found:
                return None
            row = found[0]
            read_writes.mark_writes(connection, [row])
            row["said"] = connection.fetch(read_events.SAID, pages.said_during(row))
            return pages.with_hops(row, connection.fetch(read_events.HOPS, known or ()))

        return await self.read(read)

    async def event_ids(self, piece: str, limit: int, method: str | None = None) -> Sequence[str]:
        return await self._column(read_events.ids(piece, limit, method))

    async def lanes(self, session_id: str, limit: int) -> RecordPage:
        def read(connection: ClickhouseConnection) -> RecordPage:
            rows = connection.fetch(read_events.LANES, [session_id, limit])
            counted = Where(read_events.counted(read_events.OF_SESSION), [session_id])
            return RecordPage(rows[::-1], _total(connection, counted))

        return await self.read(read)

    async def events_after(self, seq: int, limit: int) -> Sequence[Row]:
        # Beyond it some may be missing, which are told to who listens.
        reached = await caught_up(self._recorder)
        params = [seq, reached, limit]
        return await self._reads.run(
            lambda connection: connection.fetch(read_events.EVENTS_AFTER, params), ReadKind.PAGE
        )

    async def stats(self, which: EventFilter, width_s: int | None = None) -> Stats:
        def read(connection: ClickhouseConnection) -> Stats:
            (recorded,) = connection.fetch(read_events.STRETCH, [which.since, which.until])
            now = datetime.now(UTC).replace(tzinfo=None)
            stretch = shown_stretch(which, recorded["first"], recorded["last"], now)
            width = width_s or bucket_width_s(*stretch)
            wanted = read_events.stats_query(which, width, recorded["calls"])
            _, rows = connection.table(spelled(wanted.sql, wanted.params))
            return stats_of(read_events.stats_answers(rows), stretch, width)

        return await self.read(read, ReadKind.SCAN)

    async def _dump(self, path: Path, which: EventFilter) -> None:
        wanted = read_events.exported(read_events.where(which, TRAITS.text_reach_s))
        await self.read(lambda connection: dump(connection, path, wanted), ReadKind.EXPORT)

    async def extent(self) -> Extent:
        def read(connection: ClickhouseConnection) -> tuple[Row, int, date | None]:
            (counts,) = connection.fetch(_EXTENT)
            days = upkeep.found(connection)
            return counts, sum(day.size_bytes for day in days), days[-1].day if days else None

        counts, size_bytes, oldest_day = await self.read(read)
        events, sessions = counts["events"], counts["sessions"]
        return Extent(events, sessions, size_bytes, oldest_day, counts["gaps"], counts["gap_events"])

    async def read(
        self,
        read: Read[_Found],
        kind: ReadKind = ReadKind.PAGE,
        most_s: float | None = None,
        login: StoreUser | None = None,
    ) -> _Found:
        """For the other readers of this room too."""
        await caught_up(self._recorder)
        return await self._reads.run(read, kind, most_s, login)

    def _facet_query(self, which: EventFilter) -> FacetQuery:
        return read_events.facet_query(which, TRAITS.text_reach_s)

    def close(self) -> None:
        self._reads.close()

    async def _table(
        self, wanted: Where, kind: ReadKind = ReadKind.PAGE, most_s: float | None = None
    ) -> list[list[Any]]:
        asked = spelled(wanted.sql, wanted.params)
        return await self.read(lambda connection: connection.table(asked)[1], kind, most_s)


def dump(connection: ClickhouseConnection, path: Path, wanted: Where) -> None:
    """Rows as lines of JSON, for our eyes only."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        connection.dump(wanted.sql, wanted.params, file)


def _total(connection: ClickhouseConnection, counted: Where) -> int:
    return connection.fetch(counted.sql, counted.params)[0]["total"]
