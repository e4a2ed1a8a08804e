"""Whole rows of `rpc_events` as a file, written by DuckDB itself."""

import os
from pathlib import Path

import duckdb

from callgate.ports.record_reader import EventFilter, ExportFormat
from callgate.recorder.read.events import where
from callgate.recorder.store.day_files import sql_text
from callgate.recorder.store.schema import EVENT_COLUMNS

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


def export_events(
    cursor: duckdb.DuckDBPyConnection, path: Path, kind: ExportFormat, which: EventFilter
) -> None:
    """To a file beside the days, which is the one place that the store's DuckDB may write to."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # DuckDB would make it for everyone
    found = where(which)
    told = f", {_AS_TEXT}" if kind == "csv" else ""
    cursor.execute(
        f"COPY (SELECT * REPLACE (id::VARCHAR AS id{told}) FROM rpc_events WHERE {found.sql} ORDER BY ts, id)"  # noqa: S608
        f" TO '{sql_text(path.resolve())}' ({_OPTIONS[kind]}, USE_TMP_FILE false)",
        found.params,
    )
