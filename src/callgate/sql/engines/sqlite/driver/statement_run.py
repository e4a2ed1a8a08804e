"""Running one statement on one connection, in a worker's thread: stream rows, stop at the limits.

Never rewrites LIMIT: rows are fetched until one more than allowed is there, so `truncated` is exact.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing

from callgate.sql.drivers.driver import Cell, Column, StatementResult
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits
from callgate.sql.results.cells import RawCell, merge_types, to_cell, type_of


def run_statement(connection: sqlite3.Connection, statement: Statement, limits: Limits) -> StatementResult:
    started = time.perf_counter()
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement.text, statement.parameters)
        names = [str(entry[0]) for entry in cursor.description or ()]
        rows, types, truncated = _fetch(cursor, len(names), limits)
        if statement.is_write:
            # RETURNING: the write is done at the first row, but the statement must come to its end.
            for _ in cursor:
                pass
        affected = max(cursor.rowcount, 0)
    return StatementResult(
        statement_type=statement.statement_type,
        columns=tuple(Column(name, kind) for name, kind in zip(names, types, strict=True)),
        rows=rows,
        row_count=affected if statement.is_write else len(rows),
        elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
        truncated=truncated,
        is_write=statement.is_write,
    )


def _fetch(
    cursor: sqlite3.Cursor, width: int, limits: Limits
) -> tuple[tuple[tuple[Cell, ...], ...], list[str], bool]:
    rows: list[tuple[Cell, ...]] = []
    types = ["null"] * width
    characters = 0
    raw_rows: Iterator[tuple[RawCell, ...]] = iter(cursor)
    for raw in raw_rows:
        # More characters than the reply may have: the rest would only be thrown away.
        if len(rows) == limits.max_rows or characters > limits.character_limit:
            return tuple(rows), types, True
        types = [merge_types(kind, type_of(value)) for kind, value in zip(types, raw, strict=True)]
        row = tuple(to_cell(value, limits.cell_bytes) for value in raw)
        characters += sum(len(cell) if isinstance(cell, str) else 1 for cell in row)
        rows.append(row)
    return tuple(rows), types, False
