"""Reads the record; implements `ports.RecordReader`.

A read drains what is pending first, so that a settled call is visible to every read at once. Each read has a
cursor of its own, in a thread of its own: a slow one stops neither the relay nor the store.
"""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from callgate.model.error_codes import CALLER_BAD_PARAMS, SETUP_RECORD_ELSEWHERE
from callgate.model.errors import CallerError, SetupError
from callgate.ports.record_reader import (
    Backlog,
    EventFilter,
    ExportFormat,
    Page,
    Query,
    Row,
    SourceRequest,
    Stats,
    Table,
)
from callgate.recorder import read_events, read_sessions, read_stats
from callgate.recorder.judge_query import VIEWS, judge_query
from callgate.recorder.recorder import Recorder
from callgate.recorder.store import Store
from callgate.recorder.trouble import store_unreadable

_Found = TypeVar("_Found")

_SOURCE_REQUESTS = """
SELECT id::VARCHAR, ts, source_id, tool_name, sql, duration_ms, client, ok, error, error_code FROM (
    SELECT *, row_number() OVER (PARTITION BY source_id ORDER BY ts DESC, id DESC) AS age
    FROM rpc_events
    WHERE source_id IS NOT NULL AND outcome IS NOT NULL AND ($1::VARCHAR IS NULL OR source_id = $1)
) WHERE age <= 100 ORDER BY ts DESC, id DESC
"""
# What a principal may see of it all; on a cursor of its own these hide the views of the same names.
_SCOPE = {
    "sessions": "SELECT * FROM memory.main.sessions WHERE principal = '{principal}'",
    "rpc_events": "SELECT * FROM memory.main.rpc_events"
    " WHERE session_id IN (SELECT session_id FROM sessions)",
    "rpc_event_upstreams": "SELECT * FROM memory.main.rpc_event_upstreams"
    " WHERE event_id IN (SELECT id FROM rpc_events)",
    "gaps": "SELECT * FROM memory.main.gaps WHERE false",
}
_EXPORT_OPTIONS = {
    "jsonl": "FORMAT json",
    "csv": "FORMAT csv, HEADER",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}
_CHUNK_BYTES = 256 * 1024


class Reader:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def source_requests(self, source_id: str | None) -> list[SourceRequest]:
        def read(cursor: duckdb.DuckDBPyConnection) -> list[SourceRequest]:
            rows: list[Any] = cursor.execute(_SOURCE_REQUESTS, [source_id]).fetchall()
            return [SourceRequest(*row) for row in rows]

        return await self._read(read)

    async def sessions(
        self, limit: int, offset: int = 0, principal: str | None = None, cursor: str | None = None
    ) -> Page:
        wanted = read_sessions.page(principal, cursor, limit, offset)
        counted = read_sessions.count(principal)

        def read(connection: duckdb.DuckDBPyConnection) -> Page:
            rows = _rows(connection.execute(wanted.sql, wanted.params))
            total = _number(connection.execute(counted.sql, counted.params))
            has_more, rows = len(rows) > limit, rows[:limit]
            return Page(rows, total, read_sessions.cursor_after(rows[-1]) if has_more else None)

        return await self._read(read)

    async def session(self, session_id: str) -> Row | None:
        return await self._read(
            lambda cursor: _first(cursor.execute(read_sessions.ONE_SESSION, [session_id]))
        )

    async def events(self, which: EventFilter, limit: int, cursor: str | None = None) -> Page:
        found = read_events.where(which)
        on_page = read_events.before(found, cursor)

        def read(connection: duckdb.DuckDBPyConnection) -> Page:
            which_rows = read_events.WHICH.format(where=on_page.sql, limit=limit + 1)
            ids: list[Any] = connection.execute(which_rows, on_page.params).fetchall()
            counted = connection.execute(
                f"SELECT count(*) FROM rpc_events WHERE {found.sql}",  # noqa: S608
                found.params,
            )
            total = _number(counted)
            if not ids:
                return Page([], total)
            has_more, ids = len(ids) > limit, ids[:limit]
            stretch = [ids[-1][1], ids[0][1], [str(event_id) for event_id, _ in ids]]
            rows = _rows(connection.execute(read_events.PAGE, stretch))
            return Page(rows, total, read_events.cursor_after(rows[-1]) if has_more else None)

        return await self._read(read)

    async def event(self, event_id: str) -> Row | None:
        def read(cursor: duckdb.DuckDBPyConnection) -> Row | None:
            row = _first(cursor.execute(read_events.ONE_EVENT, [event_id]))
            if row is None:
                return None
            return read_events.with_hops(row, _rows(cursor.execute(read_events.HOPS, [event_id])))

        return await self._read(read)

    async def events_after(self, seq: int, limit: int) -> Sequence[Row]:
        return await self._read(lambda cursor: _rows(cursor.execute(read_events.EVENTS_AFTER, [seq, limit])))

    async def stats(self, since: datetime, until: datetime) -> Stats:
        def read(cursor: duckdb.DuckDBPyConnection) -> Stats:
            def rows(sql: str) -> list[Row]:
                return _rows(cursor.execute(sql, [since, until]))

            return Stats(
                rows(read_stats.TOTALS)[0],
                by_tool=rows(read_stats.BY_TOOL),
                by_server=rows(read_stats.BY_SERVER),
                by_method=rows(read_stats.BY_METHOD),
                by_minute=rows(read_stats.BY_MINUTE),
            )

        return await self._read(read)

    async def query(self, query: Query) -> Table:
        def read(cursor: duckdb.DuckDBPyConnection) -> Table:
            judge_query(cursor, query.sql)
            if query.principal is not None:
                _scope(cursor, query.principal)
            timer = threading.Timer(query.timeout_s, cursor.interrupt)
            timer.start()
            try:
                answered = cursor.execute(query.sql)
                rows: list[Any] = answered.fetchmany(query.max_rows + 1)
            except duckdb.InterruptException as problem:
                raise _bad_query(f"The query took longer than {query.timeout_s:g} s") from problem
            except duckdb.Error as problem:
                raise _bad_query(str(problem).partition("\n")[0]) from problem
            finally:
                timer.cancel()
            columns = [column[0] for column in answered.description or ()]
            return Table(columns, rows[: query.max_rows], len(rows) > query.max_rows)

        return await self._read(read)

    async def export(self, kind: ExportFormat, which: EventFilter) -> AsyncIterator[bytes]:
        """Through a file beside the days, which is the one place DuckDB may write to."""
        found = read_events.where(which)
        path = self._recorder.keeper.days_folder / f"export-{uuid.uuid4().hex}.part"
        spelled = str(path.resolve()).replace("'", "''")

        def write(cursor: duckdb.DuckDBPyConnection) -> None:
            cursor.execute(
                "COPY (SELECT * REPLACE (id::VARCHAR AS id) FROM rpc_events"  # noqa: S608
                f" WHERE {found.sql} ORDER BY ts, id) TO '{spelled}' ({_EXPORT_OPTIONS[kind]})",
                found.params,
            )

        try:
            await self._read(write)
            async for chunk in _chunks(path):
                yield chunk
        finally:
            path.unlink(missing_ok=True)

    def problem(self) -> str | None:
        return self._recorder.problem()

    def backlog(self) -> Backlog:
        return self._recorder.backlog()

    async def _read(self, read: Callable[[duckdb.DuckDBPyConnection], _Found]) -> _Found:
        await self._flush()  # raises when the store could not be brought up to date: stale rows are no answer
        store = self._recorder.keeper.store
        if store is None:
            raise SetupError(
                SETUP_RECORD_ELSEWHERE,
                "Another process holds the record's store",
                hint="Ask the gateway that was started first on this state folder",
            )
        try:
            return await asyncio.to_thread(_with_cursor, store, read)
        except duckdb.Error as problem:
            raise store_unreadable(self._recorder.keeper.days_folder, problem) from problem

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        flushed: asyncio.Future[None] = loop.create_future()
        self._recorder.flush(lambda error: loop.call_soon_threadsafe(_resolve, flushed, error))
        await flushed


def _with_cursor(store: Store, read: Callable[[duckdb.DuckDBPyConnection], _Found]) -> _Found:
    with store.cursor() as cursor:
        return read(cursor)


def _rows(answered: duckdb.DuckDBPyConnection) -> list[Row]:
    columns = [column[0] for column in answered.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in answered.fetchall()]


def _first(answered: duckdb.DuckDBPyConnection) -> Row | None:
    rows = _rows(answered)
    return rows[0] if rows else None


def _number(answered: duckdb.DuckDBPyConnection) -> int:
    found = answered.fetchone()
    return int(found[0]) if found is not None else 0


def _scope(cursor: duckdb.DuckDBPyConnection, principal: str) -> None:
    spelled = principal.replace("'", "''")
    assert _SCOPE.keys() == VIEWS
    for view, sql in _SCOPE.items():
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {sql.format(principal=spelled)}")


def _bad_query(message: str) -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, message[:500])


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
            yield chunk
    finally:
        file.close()


def _resolve(future: asyncio.Future[None], error: SetupError | None) -> None:
    if future.done():  # the reader may have been cancelled meanwhile
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
