"""Running one statement on one connection, in the child: stream rows, stop at the limits.

Rules
1. DuckDB's own parser names the statement's type; one that is not on the list does not run.
2. LIMIT is never rewritten: rows are fetched until one more than allowed is there, so `truncated` is exact.
3. Types that Python cannot hold faithfully (an INTERVAL's months, nanoseconds, times with a zone, 'infinity',
   nested values) are turned into text by DuckDB itself: the query is asked again as the inner part of
   `SELECT CAST(#1 AS VARCHAR) … FROM (…)`. Its types are bound first; it runs once. Not so `as_json`.
"""

import re
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, cast

import duckdb
import msgspec
from duckdb.sqltypes import DuckDBPyType

from callgate.sql.drivers.driver import Cell
from callgate.sql.engines.duckdb.frames import StatementOrder, StatementRows
from callgate.sql.results.cells import text_cell, to_cell

_BATCH_ROWS = 64  # a batch of long texts is still a few MB

_INTEGERS = frozenset(
    {
        *("tinyint", "smallint", "integer", "bigint", "hugeint"),
        *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
    }
)
# Python's own value says the same as DuckDB's.
_FAITHFUL = _INTEGERS | {"boolean", "double", "varchar", "blob", "enum", "null"}
_QUERIES = frozenset({"SELECT", "MULTI"})  # MULTI is a PIVOT that must look for its columns first
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO"})
# Many PRAGMAs write or act: only these run, and never with a value assigned.
_PRAGMA = re.compile(
    r"PRAGMA\s+(?:table_info|storage_info|show|show_tables|show_tables_expanded|show_databases|version|collations|database_size)\b[^=]*",
    re.IGNORECASE,
)
_MAX_TYPE_CHARS = 120  # an ENUM names all its values

Description = Sequence[tuple[str, DuckDBPyType, None, None, None, None, None]]
_JsonCell = Cell | list[Any] | dict[str, Any]
_MAX_JSON_INT = 2**53  # beyond it JavaScript rounds


class TypeRefused(Exception):  # noqa: N818 - reaches the driver as a frame
    """The statement is of a type that may not run here."""


def run_statement(
    connection: duckdb.DuckDBPyConnection, order: StatementOrder, statement_types: frozenset[str]
) -> StatementRows:
    started = time.perf_counter()
    parsed = connection.extract_statements(order.text)
    if len(parsed) != 1:
        raise TypeRefused(f"{len(parsed)} statements at once")
    statement = parsed[0]
    kind = statement.type.name
    if kind not in statement_types or (kind == "PRAGMA" and not _PRAGMA.fullmatch(statement.query)):
        raise TypeRefused(kind)
    if kind in _WRITES:
        description, rows, affected = _write(connection, statement, order)
    else:
        description = _begin(connection, statement, order)
        rows, affected = _batches(connection), 0
    if not _is_result(kind):
        description, rows = (), iter(())
    shown, truncated = _limited(rows, description, order)
    return StatementRows(
        columns=tuple((str(name), str(kind)[:_MAX_TYPE_CHARS].strip('"')) for name, kind, *_ in description),
        rows=shown,
        affected=affected,
        elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
        truncated=truncated,
    )


def _is_result(kind: str) -> bool:
    """BEGIN and CREATE answer with a column too, which tells nothing."""
    return kind in _QUERIES or kind in _WRITES or kind in ("EXPLAIN", "PRAGMA", "CALL")


def _begin(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, order: StatementOrder
) -> Description:
    parameters = list(order.parameters) or None
    if statement.type.name not in _QUERIES or order.as_json:
        connection.execute(statement, parameters)
        return connection.description or ()
    description = connection.sql(statement, params=parameters).description
    if all(kind.id in _FAITHFUL for _, kind, *_ in description):
        connection.execute(statement, parameters)
        return description
    # The line breaks keep a comment at either end of the text from reaching our part.
    inner = statement.query.rstrip().removesuffix(";")
    connection.execute(f"SELECT {_as_text(description)} FROM (\n{inner}\n)", parameters)  # noqa: S608 - theirs
    return description


def _write(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, order: StatementOrder
) -> tuple[Description, Iterator[tuple[object, ...]], int]:
    parameters = list(order.parameters) or None
    if "returning" not in order.text.lower():
        connection.execute(statement, parameters)
        return (), iter(()), max(connection.rowcount, 0)
    # The write runs here, once; the relation holds the rows it returned.
    relation = connection.sql(statement, params=parameters)
    if [(name, kind.id) for name, kind, *_ in relation.description] == [("Count", "bigint")]:
        return (), iter(()), int(relation.fetchall()[0][0])  # the word stood in a text or a name
    returned = relation.project(_as_text(relation.description)).limit(order.max_rows + 1)
    return relation.description, iter(returned.fetchall()), relation.shape[0]


def _as_text(description: Description) -> str:
    return ", ".join(
        f"#{number}" if kind.id in _FAITHFUL else f"CAST(#{number} AS VARCHAR)"
        for number, (_, kind, *_) in enumerate(description, start=1)
    )


def _batches(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[object, ...]]:
    while batch := connection.fetchmany(_BATCH_ROWS):
        yield from batch


def _limited(
    rows: Iterator[tuple[object, ...]], description: Description, order: StatementOrder
) -> tuple[tuple[tuple[_JsonCell, ...], ...], bool]:
    kinds = [kind.id for _, kind, *_ in description]
    make, cell_bytes = _cell, order.cell_bytes
    if order.as_json:  # whose cells may be so long that a row of many would pass any limit
        make, cell_bytes = _json_cell, min(cell_bytes, order.character_limit // max(len(kinds), 1))
    shown: list[tuple[_JsonCell, ...]] = []
    characters = 0
    for raw in rows:
        # More characters than the reply may have: the rest would only be thrown away.
        if len(shown) == order.max_rows or characters > order.character_limit:
            return tuple(shown), True
        row = tuple(make(value, kind, cell_bytes) for value, kind in zip(raw, kinds, strict=True))
        characters += sum(_characters(cell) for cell in row)
        shown.append(row)
    return tuple(shown), False


def _characters(cell: _JsonCell) -> int:
    if isinstance(cell, str):
        return len(cell)
    return len(msgspec.json.encode(cell)) if isinstance(cell, list | dict) else 1


def _cell(value: object, kind: str, limit_bytes: int) -> Cell:
    if kind == "float" and isinstance(value, str):
        value = float(value)  # DuckDB wrote 0.1 for what Python would show as 0.10000000149011612
    if value is None or isinstance(value, int | float | str | bytes):
        return to_cell(value, limit_bytes)
    return to_cell(str(value), limit_bytes)


def _json_cell(value: Any, kind: str, limit_bytes: int) -> _JsonCell:
    """A DuckDB value as JSON has it, nothing rounded; what is too long is cut, and says so. Pure."""
    cell = _json_value(value)
    if isinstance(cell, str):
        return text_cell(cell.encode("utf-8", "backslashreplace"), limit_bytes)
    if isinstance(cell, list | dict):
        text = msgspec.json.encode(cell)
        return cell if len(text) <= limit_bytes else text_cell(text, limit_bytes)
    return cell


def _json_value(value: Any) -> _JsonCell:
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _MAX_JSON_INT else str(value)
    if isinstance(value, datetime):
        return value.isoformat() + ("Z" if value.tzinfo is None else "")
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in cast("dict[Any, Any]", value).items()}
    return str(value)  # dates, times, intervals, decimals, UUIDs
