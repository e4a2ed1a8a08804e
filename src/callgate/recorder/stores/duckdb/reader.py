"""Reads the record; implements `ports.RecordReader`.

A read drains what is pending first, so that a settled call is visible to every read at once. Each read has a
cursor of its own, in a thread of its own (`threads`): a slow one stops neither the relay nor the store.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from callgate.ports.record_reader import (
    Backlog,
    EventFilter,
    ExportFormat,
    Extent,
    FacetCounts,
    Order,
    RecordPage,
    Row,
    SeenWrite,
    SessionFilter,
    SourceRequest,
    Stats,
)
from callgate.recorder.read.caught_up import caught_up
from callgate.recorder.read.pages import cursor_after, said_during, session_cursor_after, with_hops
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.read.seen_writes import by_tool
from callgate.recorder.read.sums import bucket_width_s, shown_stretch, stats_of
from callgate.recorder.recorder import Recorder
from callgate.recorder.stores.duckdb import events as read_events
from callgate.recorder.stores.duckdb import stats as read_stats
from callgate.recorder.stores.duckdb import writes as read_writes
from callgate.recorder.stores.duckdb.answered_rows import rows_of
from callgate.recorder.stores.duckdb.day_files import days_in, passing_file, sql_text
from callgate.recorder.stores.duckdb.events import where
from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS
from callgate.recorder.stores.duckdb.threads import Read, ReadThreads
from callgate.recorder.trouble import record_elsewhere, store_unreadable

_Found = TypeVar("_Found")

_SOURCE_REQUESTS = """
SELECT id::VARCHAR, ts, source_id, tool_name, sql, duration_ms, client, ok, error, error_code FROM (
    SELECT *, row_number() OVER (PARTITION BY source_id ORDER BY ts DESC, id DESC) AS age
    FROM rpc_events
    WHERE source_id IS NOT NULL AND outcome IS NOT NULL AND ($1::VARCHAR IS NULL OR source_id = $1)
) WHERE age <= 100 ORDER BY ts DESC, id DESC
"""
_EXTENT = """
SELECT (SELECT count(*) FROM rpc_events), (SELECT count(*) FROM sessions),
    count(*), coalesce(sum(count), 0)::BIGINT FROM gaps
"""
_CHUNK_BYTES = 256 * 1024
_OPTIONS = {
    "jsonl": "FORMAT json",
    "csv": "FORMAT csv, HEADER",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}
# A spreadsheet runs a cell that begins with one of these; with a quote before it, it is a text there.
_FORMULA_STARTS = "('=', '+', '-', '@', chr(9), chr(13))"
_TEXTS = [name for name, kind in EVENT_COLUMNS.items() if kind.partition(" ")[0] == "VARCHAR"]
_AS_TEXT = ", ".join(
    f"CASE WHEN left({name}, 1) IN {_FORMULA_STARTS} THEN chr(39) || {name} ELSE {name} END AS {name}"
    for name in _TEXTS
)


class Reader:
    def __init__(self, recorder: Recorder, store: DuckdbStore) -> None:
        self._recorder = recorder
        self._store = store
        self._threads = ReadThreads()

    async def source_requests(self, source_id: str | None) -> list[SourceRequest]:
        def read(cursor: duckdb.DuckDBPyConnection) -> list[SourceRequest]:
            rows: list[Any] = cursor.execute(_SOURCE_REQUESTS, [source_id]).fetchall()
            return [SourceRequest(*row) for row in rows]

        return await self._read(read)

    async def sessions(
        self, which: SessionFilter, limit: int, offset: int = 0, cursor: str | None = None
    ) -> RecordPage:
        wanted = read_events.session_page(which, cursor, limit, offset)
        counted = read_events.session_count(which)

        def read(connection: duckdb.DuckDBPyConnection) -> RecordPage:
            rows = rows_of(connection.execute(wanted.sql, wanted.params))
            total = _number(connection.execute(counted.sql, counted.params))
            has_more, rows = len(rows) > limit, rows[:limit]
            return RecordPage(rows, total, session_cursor_after(rows[-1]) if has_more else None)

        return await self._read(read)

    async def session(self, session_id: str) -> Row | None:
        return await self._read(lambda cursor: _first(cursor.execute(read_events.ONE_SESSION, [session_id])))

    async def session_ids(self, piece: str, limit: int) -> Sequence[str]:
        return await self._read(lambda cursor: _column(cursor, read_events.SESSION_IDS, [piece, limit]))

    async def events(
        self, which: EventFilter, limit: int, cursor: str | None = None, order: Order = "newest"
    ) -> RecordPage:
        page = read_events.page_query(which, limit + 1, cursor, order)
        survey = page.survey()

        def read(connection: duckdb.DuckDBPyConnection) -> RecordPage:
            edge, total = connection.execute(survey.sql, survey.params).fetchone() or (None, 0)
            if edge is None:
                return RecordPage([], total)
            which_rows = page.which(edge)
            ids: list[Any] = connection.execute(which_rows.sql, which_rows.params).fetchall()
            has_more, ids = len(ids) > limit, ids[:limit]
            names, moments = [str(event_id) for event_id, _ in ids], [moment for _, moment in ids]
            stretch = [min(moments), max(moments), moments, names]
            found = {row["id"]: row for row in rows_of(connection.execute(read_events.PAGE, stretch))}
            rows = [found[name] for name in names if name in found]  # a day may have gone meanwhile
            read_writes.mark_writes(connection, rows)
            return RecordPage(rows, total, cursor_after(rows[-1], order) if has_more and rows else None)

        return await self._read(read, ReadKind.PAGE if which.text is None else ReadKind.SCAN)

    async def event(self, event_id: str) -> Row | None:
        def read(cursor: duckdb.DuckDBPyConnection) -> Row | None:
            row = _first(cursor.execute(read_events.ONE_EVENT, [event_id]))
            if row is None:
                return None
            read_writes.mark_writes(cursor, [row])
            row["said"] = rows_of(cursor.execute(read_events.SAID, said_during(row)))
            return with_hops(row, rows_of(cursor.execute(read_events.HOPS, [event_id])))

        return await self._read(read)

    async def event_ids(self, piece: str, limit: int, method: str | None = None) -> Sequence[str]:
        return await self._read(lambda cursor: _column(cursor, read_events.IDS, [piece, limit, method]))

    async def lanes(self, session_id: str, limit: int) -> RecordPage:
        def read(cursor: duckdb.DuckDBPyConnection) -> RecordPage:
            rows = rows_of(cursor.execute(read_events.LANES, [session_id, limit]))
            counted = cursor.execute("SELECT count(*) FROM rpc_events WHERE session_id = $1", [session_id])
            return RecordPage(rows[::-1], _number(counted))

        return await self._read(read)

    async def events_after(self, seq: int, limit: int) -> Sequence[Row]:
        reached = await caught_up(
            self._recorder
        )  # beyond it some may be missing, which are told to who listens
        return await self._read_flushed(
            lambda cursor: rows_of(cursor.execute(read_events.EVENTS_AFTER, [seq, reached, limit]))
        )

    async def stats(self, which: EventFilter, width_s: int | None = None) -> Stats:
        def read(cursor: duckdb.DuckDBPyConnection) -> Stats:
            recorded = cursor.execute(read_stats.STRETCH, [which.since, which.until]).fetchone()
            first, last, rows = recorded or (None, None, 0)
            now = datetime.now(UTC).replace(tzinfo=None)
            stretch = shown_stretch(which, first, last, now)
            width = width_s or bucket_width_s(*stretch)
            wanted = read_stats.stats_query(which, width, rows)
            return stats_of(cursor.execute(wanted.sql, wanted.params).fetchall(), stretch, width)

        return await self._read(read, ReadKind.SCAN)

    async def facets(self, which: EventFilter) -> FacetCounts:
        query = read_events.facet_query(which)

        def read(cursor: duckdb.DuckDBPyConnection) -> FacetCounts:
            return query.counts(cursor.execute(query.asked.sql, query.asked.params).fetchall())

        return await self._read(read, ReadKind.SCAN)

    async def seen_to_write(self, since: datetime) -> Sequence[SeenWrite]:
        until = datetime.now(UTC).replace(tzinfo=None)
        return await self._read(lambda cursor: by_tool(read_writes.writes_between(cursor, since, until)))

    async def export(self, kind: ExportFormat, which: EventFilter) -> AsyncIterator[bytes]:
        path = passing_file(self._store.folder, "export")
        try:
            await self._read(lambda cursor: export_events(cursor, path, kind, which), ReadKind.EXPORT)
            async for chunk in file_chunks(path):
                yield chunk
        finally:
            path.unlink(missing_ok=True)

    async def extent(self) -> Extent:
        def read(cursor: duckdb.DuckDBPyConnection) -> tuple[int, int, int, int]:
            return cursor.execute(_EXTENT).fetchone() or (0, 0, 0, 0)

        events, sessions, gaps, gap_events = await self._read(read)
        days = await asyncio.to_thread(days_in, self._store.folder)
        size_bytes = sum(day.size_bytes for day in days)
        return Extent(events, sessions, size_bytes, days[-1].day if days else None, gaps, gap_events)

    def problem(self) -> str | None:
        return self._recorder.problem()

    def backlog(self) -> Backlog:
        return self._recorder.backlog()

    async def with_cursor(self, read: Read[_Found]) -> _Found:
        """For the other readers of this room."""
        return await self._read(read, ReadKind.SCAN)

    def close(self) -> None:
        self._threads.close()

    async def _read(self, read: Read[_Found], kind: ReadKind = ReadKind.PAGE) -> _Found:
        await caught_up(self._recorder)
        return await self._read_flushed(read, kind)

    async def _read_flushed(self, read: Read[_Found], kind: ReadKind = ReadKind.PAGE) -> _Found:
        store = self._store.opened
        if store is None:
            raise record_elsewhere()
        try:
            return await self._threads.run(store, read, kind)
        except duckdb.Error as problem:
            raise store_unreadable(self._store.folder, problem) from problem


def _first(answered: duckdb.DuckDBPyConnection) -> Row | None:
    rows = rows_of(answered)
    return rows[0] if rows else None


def _column(cursor: duckdb.DuckDBPyConnection, sql: str, params: list[Any]) -> list[str]:
    rows: list[Any] = cursor.execute(sql, params).fetchall()
    return [row[0] for row in rows]


def _number(answered: duckdb.DuckDBPyConnection) -> int:
    found = answered.fetchone()
    return int(found[0]) if found is not None else 0


async def file_chunks(path: Path) -> AsyncIterator[bytes]:
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
            yield chunk
    finally:
        file.close()


def export_events(
    cursor: duckdb.DuckDBPyConnection, path: Path, kind: ExportFormat, which: EventFilter
) -> None:
    """Whole rows of `rpc_events`, written by DuckDB. It may write beside the days and nowhere else."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # DuckDB would make it for everyone
    found = where(which)
    told = f", {_AS_TEXT}" if kind == "csv" else ""
    cursor.execute(
        f"COPY (SELECT * REPLACE (id::VARCHAR AS id{told}) FROM rpc_events WHERE {found.sql} ORDER BY ts, id)"  # noqa: S608
        f" TO '{sql_text(path.resolve())}' ({_OPTIONS[kind]}, USE_TMP_FILE false)",
        found.params,
    )
