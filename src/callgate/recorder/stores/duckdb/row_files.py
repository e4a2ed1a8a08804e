"""Rows of another store as a file, by way of DuckDB: an export, or a principal's excerpt.

They are written as lines of JSON first, which DuckDB reads with the columns of its own store. So a file looks
the same whichever store it comes from.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from callgate.ports.record_queries import Excerpt
from callgate.ports.record_reader import EventFilter, ExportFormat
from callgate.recorder.stores.duckdb.day_files import SETTINGS, passing_file, sql_text
from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.reader import export_events, file_chunks
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS, SESSION_COLUMNS
from callgate.recorder.stores.duckdb.wanted_rows import Wanted, wanted_by

_MAX_LINE_BYTES = 64 * 1024 * 1024


@asynccontextmanager
async def passing_folder(parent: Path) -> AsyncGenerator[Path]:
    """For our eyes only, and gone at the end with all that is in it."""
    folder = parent / f"{uuid.uuid4().hex}.part"
    await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True)
    try:
        yield folder
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


async def exported(folder: Path, kind: ExportFormat) -> AsyncIterator[bytes]:
    """Of the folder's rows.jsonl."""
    path = folder / "export"
    await asyncio.to_thread(_export, folder, path, kind)
    async for chunk in file_chunks(path):
        yield chunk


def _export(folder: Path, path: Path, kind: ExportFormat) -> None:
    with opened_in(folder) as connection:
        make_view(connection, "rpc_events", folder / "rows.jsonl", EVENT_COLUMNS)
        export_events(connection, path, kind, EventFilter())


def opened_in(folder: Path) -> duckdb.DuckDBPyConnection:
    """A DuckDB that can reach nothing but this folder."""
    connection = duckdb.connect(":memory:", config=SETTINGS)
    connection.execute(f"SET allowed_directories = ['{sql_text(folder.resolve())}/']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def make_view(
    connection: duckdb.DuckDBPyConnection, name: str, path: Path, columns: Mapping[str, str]
) -> None:
    kinds = ", ".join(
        f"{column.strip(chr(34))!r}: '{kind.partition(' USING')[0]}'" for column, kind in columns.items()
    )
    connection.execute(
        f"CREATE VIEW {name} AS SELECT * FROM read_json('{sql_text(path.resolve())}',"  # noqa: S608
        f" columns = {{{kinds}}}, format = 'newline_delimited',"
        f" maximum_object_size = {_MAX_LINE_BYTES})"
    )


_GAPS = """
SELECT NULL::TIMESTAMP AS "from", min(ts) AS "to", {left_out}::BIGINT AS count,
    'older calls are left out' AS reason
FROM rpc_events_rows HAVING {left_out} > 0
"""
_SESSION_COLUMNS = {name: kind for name, kind in SESSION_COLUMNS.items() if name != "writer"}
_COLUMNS = {"rpc_events": EVENT_COLUMNS, "rpc_event_upstreams": HOP_COLUMNS, "sessions": _SESSION_COLUMNS}


def wanted_by_all(statements: Sequence[str]) -> Wanted:
    with duckdb.connect(":memory:") as parser:
        return wanted_by(parser, statements)


async def excerpt_of(parent: Path, wanted: Wanted, dump: Callable[[Path], Awaitable[int]]) -> Excerpt:
    """`dump` writes the lines of each table into a folder, and says how many events there was no room for."""
    async with passing_folder(parent) as folder:
        left_out = await dump(folder)
        made = folder / "excerpt"
        filling = asyncio.create_task(asyncio.to_thread(_fill, folder, made, wanted, left_out))
        try:
            await asyncio.shield(filling)
        except asyncio.CancelledError:
            await asyncio.gather(filling, return_exceptions=True)  # before its folder is removed
            raise
        path = passing_file(parent, "excerpt")
        made.rename(path)
    return Excerpt(path, left_out)


def _fill(folder: Path, made: Path, wanted: Wanted, left_out: int) -> None:
    with opened_in(folder) as connection:
        connection.execute(f"ATTACH '{sql_text(made.resolve())}' AS excerpt")
        made.chmod(0o600)
        for table, columns in _COLUMNS.items():
            make_view(connection, f"{table}_rows", folder / f"{table}.jsonl", columns)
        selects = {table: f"SELECT * FROM {table}_rows" for table in _COLUMNS}  # noqa: S608
        selects["gaps"] = _GAPS.format(left_out=left_out)
        for table, select in selects.items():
            rows = select if table in wanted.tables else f"SELECT * FROM ({select}) LIMIT 0"  # noqa: S608
            connection.execute(f"CREATE TABLE excerpt.main.{table} AS {rows}")
        connection.execute("DETACH excerpt")
