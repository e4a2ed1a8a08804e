"""What a cursor answered, as rows with their columns' names."""

import duckdb

from callgate.ports.record_reader import Row


def rows_of(answered: duckdb.DuckDBPyConnection) -> list[Row]:
    columns = [column[0] for column in answered.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in answered.fetchall()]
