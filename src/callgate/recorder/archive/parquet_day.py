"""A day of the record as Parquet files, written by DuckDB from the day's own files."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from callgate.recorder.archive.manifest import ArchivedFile
from callgate.recorder.folder import files_in
from callgate.recorder.stores.duckdb.day_files import ATTACH_SEALED, SETTINGS, sql_text
from callgate.recorder.stores.duckdb.schema import VIEWS, view_statements
from callgate.recorder.trouble import store_uncopied

# DuckDB begins another file once one is larger than this, by a row group at most: so none has 128 MB.
_FILE_BYTES = 64 * 1024 * 1024
# As the store has them: the bodies of one are in memory while it is written.
_OPTIONS = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048"
_MEMORY = "1GB"
# What each table's files are called.
_NAMES = {"rpc_events": "events", "rpc_event_upstreams": "upstreams", "sessions": "sessions", "gaps": "gaps"}
# Parquet's own type of an id is read by few.
_COLUMNS = {
    "rpc_events": "* REPLACE (id::VARCHAR AS id)",
    "rpc_event_upstreams": "* REPLACE (event_id::VARCHAR AS event_id)",
}


@dataclass(frozen=True, slots=True)
class WrittenFile:
    path: Path
    told: ArchivedFile


async def write_parquet(days: Sequence[Path], folder: Path) -> list[WrittenFile]:
    """`days`: the DuckDB files of one day, which nobody writes to. Into an empty, private folder. Who is
    cancelled stops it."""
    with duckdb.connect(":memory:", config=SETTINGS | {"memory_limit": _MEMORY}) as connection:
        writing = asyncio.create_task(asyncio.to_thread(_written, connection, days, folder))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            connection.interrupt()
            await asyncio.wait([writing])
            raise
        except (duckdb.Error, OSError) as problem:
            raise store_uncopied(folder, problem) from problem


def _written(connection: duckdb.DuckDBPyConnection, days: Sequence[Path], folder: Path) -> list[WrittenFile]:
    found: list[WrittenFile] = []
    names = [f'"part {number}"' for number in range(len(days))]
    for name, path in zip(names, days, strict=True):
        connection.execute(ATTACH_SEALED.format(path=sql_text(path.resolve()), name=name))
    for statement in view_statements(names):
        connection.execute(statement)
    # Without calls that were still open: those go with the newest day.
    settled = " UNION ALL BY NAME ".join(f"FROM {name}.rpc_events" for name in names)
    connection.execute(f"CREATE OR REPLACE VIEW rpc_events AS {settled}")
    for table in sorted(VIEWS):
        made = folder / _NAMES[table]
        rows = f"SELECT {_COLUMNS.get(table, '*')} FROM {table}"  # noqa: S608
        connection.execute(
            f"COPY ({rows}) TO '{sql_text(made.resolve())}'"
            f" ({_OPTIONS}, FILE_SIZE_BYTES {_FILE_BYTES}, FILENAME_PATTERN 'part-{{i}}')"
        )
        written = sorted(files_in(made, ".parquet"), key=lambda path: int(path.stem.partition("-")[2]))
        for number, path in enumerate(written, 1):
            told = _told(connection, path, f"{_NAMES[table]}-{number:04}.parquet")
            if told.rows:
                found.append(WrittenFile(path, told))
    return found


def _told(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> ArchivedFile:
    source = f"read_parquet('{sql_text(path.resolve())}')"
    counted = connection.execute(f"SELECT count(*) FROM {source}").fetchone()  # noqa: S608
    with path.open("rb") as file:
        hashed = hashlib.file_digest(file, "sha256")
    return ArchivedFile(name, counted[0] if counted else 0, path.stat().st_size, hashed.hexdigest())
