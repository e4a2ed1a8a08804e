"""What a cursor answered, as rows with their columns' names."""

from __future__ import annotations

from callgate.ports.record_reader import Row
from callgate.recorder.stores.duckdb.library import duckdb


def rows_of(answered: duckdb.DuckDBPyConnection) -> list[Row]:
    columns = [column[0] for column in answered.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in answered.fetchall()]
