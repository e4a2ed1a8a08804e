"""Rows of PostgreSQL as lines of JSON, which DuckDB makes a file of (`duckdb.row_files`)."""

import asyncio
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from callgate.postgres_connection import Connection
from callgate.recorder.read.pages import Where

_AT_ONCE = 500
_encode = msgspec.json.Encoder(enc_hook=str).encode


async def dump(connection: Connection, path: Path, wanted: Where) -> int:
    """Lines of JSON, as many rows at a time as fit well into memory. How many there are."""
    count = 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        statement = await connection.prepare(wanted.sql)
        rows: list[Any] = []
        async for row in statement.cursor(*wanted.params, prefetch=_AT_ONCE):
            rows.append(row)
            count += 1
            if len(rows) == _AT_ONCE:
                await asyncio.to_thread(file.write, _lines(rows))
                rows = []
        file.write(_lines(rows))
    return count


def _lines(rows: list[Any]) -> bytes:
    return b"".join(_encode({name: _plain(value) for name, value in row.items()}) + b"\n" for row in rows)


def _plain(value: Any) -> Any:
    """As DuckDB reads it: moments without the T of ISO 8601."""
    return value.isoformat(" ") if isinstance(value, datetime) else value
