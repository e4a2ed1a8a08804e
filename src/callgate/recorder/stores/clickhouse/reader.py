"""Reads the record in ClickHouse; implements `ports.RecordReader`.

A read has our own journal flushed first, so that a call that settled here is visible to every read at once.
What other processes recorded is seen when they flush it, each two seconds.
"""

import os
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

from callgate.ports.record_reader import (
    Backlog,
    EventFilter,
    ExportFormat,
    Extent,
    Order,
    RecordPage,
    Row,
    SeenWrite,
    SessionFilter,
    SourceRequest,
    Stats,
)
from callgate.recorder.read.caught_up import caught_up
from callgate.recorder.read.pages import (
    Where,
    cursor_after,
    id_and_day,
    said_during,
    session_cursor_after,
    with_hops,
)
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.read.seen_writes import by_tool
from callgate.recorder.read.sums import bucket_width_s, shown_stretch, stats_of
from callgate.recorder.recorder import Recorder
from callgate.recorder.stores.clickhouse import events as read_events
from callgate.recorder.stores.clickhouse import sessions as read_sessions
from callgate.recorder.stores.clickhouse import stats as read_stats
from callgate.recorder.stores.clickhouse import upkeep
from callgate.recorder.stores.clickhouse import writes as read_writes
from callgate.recorder.stores.clickhouse.connection import ClickhouseConnection, StoreUser, spelled
from callgate.recorder.stores.clickhouse.reads import ClickhouseReads, Read
from callgate.recorder.stores.clickhouse.record_store import TRAITS, ClickhouseStore
from callgate.recorder.stores.clickhouse.schema import EVENTS, RECORD
from callgate.recorder.stores.duckdb.row_files import exported, passing_folder

_Found = TypeVar("_Found")
_EXTENT = f"""
SELECT (SELECT count() FROM {RECORD} WHERE {EVENTS}) AS events,
    (SELECT uniqExact(row_key) FROM {RECORD} WHERE row_kind = 'session') AS sessions,
    count() AS gaps, ifNull(sum(gap_count), 0) AS gap_events
FROM {RECORD} WHERE row_kind = 'gap'
"""  # noqa: S608
_TEXT_SEARCH_S = 10.0


class ClickhouseReader:
    def __init__(self, recorder: Recorder, store: ClickhouseStore, folder: Path) -> None:
        """`folder`: where files may lie that are gone when they were read."""
        self._recorder = recorder
        self._folder = folder
        self._reads = ClickhouseReads(store.address)

    async def source_requests(self, source_id: str | None) -> list[SourceRequest]:
        def read(connection: ClickhouseConnection) -> list[SourceRequest]:
            _, rows = connection.table(spelled(read_events.SOURCE_REQUESTS, [source_id]))
            return [SourceRequest(*row) for row in rows]

        return await self.read(read)

    async def sessions(
        self, which: SessionFilter, limit: int, offset: int = 0, cursor: str | None = None
    ) -> RecordPage:
        wanted = read_sessions.page(which, cursor, limit, offset)
        counted = read_sessions.count(which)

        def read(connection: ClickhouseConnection) -> RecordPage:
            rows = connection.fetch(wanted.sql, wanted.params)
            has_more, rows = len(rows) > limit, rows[:limit]
            return RecordPage(
                rows, _total(connection, counted), session_cursor_after(rows[-1]) if has_more else None
            )

        return await self.read(read)

    async def session(self, session_id: str) -> Row | None:
        def read(connection: ClickhouseConnection) -> Row | None:
            rows = connection.fetch(read_sessions.ONE_SESSION, [session_id])
            return rows[0] if rows else None

        return await self.read(read)

    async def session_ids(self, piece: str, limit: int) -> Sequence[str]:
        return await self._column(Where(read_sessions.IDS, [piece, limit]))

    async def events(
        self, which: EventFilter, limit: int, cursor: str | None = None, order: Order = "newest"
    ) -> RecordPage:
        found = read_events.where(which, TRAITS.text_reach_s)
        wanted = read_events.page(found, limit + 1, cursor, order)

        def read(connection: ClickhouseConnection) -> RecordPage:
            rows = connection.fetch(wanted.sql, wanted.params)
            has_more, rows = len(rows) > limit, rows[:limit]
            total = len(rows)
            if cursor is not None or has_more:
                total = _total(connection, Where(read_events.counted(found.sql), found.params))
            read_writes.mark_writes(connection, rows)
            return RecordPage(rows, total, cursor_after(rows[-1]) if has_more else None)

        if which.text is None:
            return await self.read(read)
        return await self.read(read, ReadKind.SCAN, _TEXT_SEARCH_S)

    async def event(self, event_id: str) -> Row | None:
        known = id_and_day(event_id)

        def read(connection: ClickhouseConnection) -> Row | None:
            found = connection.fetch(read_events.ONE_EVENT, known) if known is not None else []
            if not found:
                return None
            row = found[0]
            read_writes.mark_writes(connection, [row])
            row["said"] = connection.fetch(read_events.SAID, said_during(row))
            return with_hops(row, connection.fetch(read_events.HOPS, known or ()))

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
            (recorded,) = connection.fetch(read_stats.STRETCH, [which.since, which.until])
            now = datetime.now(UTC).replace(tzinfo=None)
            stretch = shown_stretch(which, recorded["first"], recorded["last"], now)
            width = width_s or bucket_width_s(*stretch)
            wanted = read_stats.stats_query(which, width, recorded["calls"])
            _, rows = connection.table(spelled(wanted.sql, wanted.params))
            return stats_of(read_stats.answers(rows), stretch, width)

        return await self.read(read, ReadKind.SCAN)

    async def seen_to_write(self, since: datetime) -> Sequence[SeenWrite]:
        until = datetime.now(UTC).replace(tzinfo=None)
        return await self.read(
            lambda connection: by_tool(read_writes.writes_between(connection, since, until))
        )

    async def export(self, kind: ExportFormat, which: EventFilter) -> AsyncIterator[bytes]:
        wanted = read_events.exported(read_events.where(which, TRAITS.text_reach_s))
        async with passing_folder(self._folder) as folder:
            await self.read(
                lambda connection: dump(connection, folder / "rows.jsonl", wanted), ReadKind.EXPORT
            )
            async for chunk in exported(folder, kind):
                yield chunk

    async def extent(self) -> Extent:
        def read(connection: ClickhouseConnection) -> tuple[Row, int, date | None]:
            (counts,) = connection.fetch(_EXTENT)
            days = upkeep.found(connection)
            return counts, sum(day.size_bytes for day in days), days[-1].day if days else None

        counts, size_bytes, oldest_day = await self.read(read)
        events, sessions = counts["events"], counts["sessions"]
        return Extent(events, sessions, size_bytes, oldest_day, counts["gaps"], counts["gap_events"])

    def problem(self) -> str | None:
        return self._recorder.problem()

    def backlog(self) -> Backlog:
        return self._recorder.backlog()

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

    def close(self) -> None:
        self._reads.close()

    async def _column(self, wanted: Where) -> list[str]:
        def read(connection: ClickhouseConnection) -> list[str]:
            return [row[0] for row in connection.table(spelled(wanted.sql, wanted.params))[1]]

        return await self.read(read)


def dump(connection: ClickhouseConnection, path: Path, wanted: Where) -> None:
    """Rows as lines of JSON, for our eyes only."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        connection.dump(wanted.sql, wanted.params, file)


def _total(connection: ClickhouseConnection, counted: Where) -> int:
    return connection.fetch(counted.sql, counted.params)[0]["total"]
