"""SQLite's errors as answers that teach: which code, what happened, what to try. Never a stack.

Works in the worker's thread, on the connection that failed: nearest names are looked up there.
"""

import re
import sqlite3

from callgate.model import error_codes as codes
from callgate.model.error_codes import ErrorCode
from callgate.model.errors import CallgateError, RefusedError, SourceError
from callgate.model.near_miss import near_names
from callgate.sql.drivers.near_columns import column_advice, tables_of_column
from callgate.sql.engines.sqlite.session_limits import COLUMNS, HEAP_BYTES, VALUE_BYTES
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy, quote_name
from callgate.sql.guard.tokens import line_and_column

# Compared with what was meant, in the worker's thread.
_MAX_NAMES = 6_000
_NO_TABLE = re.compile(r"no such table: (.+)")
_NO_COLUMN = re.compile(r"no such column: (.+)|table (?:.+) has no column named (.+)")
_NO_FUNCTION = re.compile(r"no such function: (.+)")
_NEAR = re.compile(r'near "(.+)": syntax error', re.DOTALL)

_TIPS: dict[str, str] = {
    "SQLITE_BUSY": "Another process is writing to this database. Try again in a moment.",
    "SQLITE_LOCKED": "Another statement is using this table. Try again in a moment.",
    # substr() would not help: SQLite reads the whole value first. Neither would length(), except of a blob.
    "SQLITE_TOOBIG": f"A value, or a row to be sorted, is larger than {VALUE_BYTES // 1024} KiB. Name the "
    "columns you need and leave out those with very large texts or blobs; typeof(column) can still be asked.",
    "SQLITE_CONSTRAINT": "The row breaks a rule of its table: duplicate key, missing value or foreign key.",
    "SQLITE_FULL": "The disk or the database is full.",
}
_DOWN = frozenset({"SQLITE_CANTOPEN", "SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_IOERR"})


def out_of_memory() -> SourceError:
    return _source(
        codes.SOURCE_FAILED,
        f"The query needs more memory than the {HEAP_BYTES // 1024**2} MiB that all queries share.",
        "Select fewer or smaller columns, add LIMIT to an ORDER BY, use fewer nested queries. "
        "If other large queries are running, try again in a moment.",
    )


def explain_failure(
    error: sqlite3.Error | MemoryError, statement: Statement, connection: sqlite3.Connection, policy: Policy
) -> CallgateError:
    message = str(error)
    name = str(getattr(error, "sqlite_errorname", "") or "")
    primary = "_".join(name.split("_")[:2])
    # SQLITE_NOMEM arrives as MemoryError; virtual tables say it in words, the file layer as an I/O error.
    if isinstance(error, MemoryError) or name == "SQLITE_IOERR_NOMEM" or "out of memory" in message:
        return out_of_memory()
    if primary == "SQLITE_AUTH" or "not authorized" in message or "prohibited" in message:
        return RefusedError(
            codes.REFUSED_FORBIDDEN,
            f"SQLite's authorizer stopped it: {message}.",
            hint="Read tables and views with built-in functions only.",
        )
    if primary == "SQLITE_READONLY" and policy.may_write:
        return _source(
            codes.SOURCE_FAILED, "The database file is not writable.", "The operator must allow it."
        )
    if primary == "SQLITE_READONLY":
        return RefusedError(
            codes.REFUSED_READ_ONLY, "the database is open for reading only.", hint=policy.write_advice
        )
    if primary in _DOWN:
        return SourceError(
            codes.SOURCE_UNAVAILABLE,
            f"the database file cannot be used ({message}).",
            hint="Tell the operator.",
            operator_hint="See whether the file is whole (PRAGMA integrity_check) and can be read.",
        )
    if match := _NO_TABLE.search(message):
        return _unknown_table(match.group(1), connection, policy)
    if match := _NO_COLUMN.search(message):
        return _unknown_column(match.group(1) or match.group(2), statement, connection, policy)
    return _other(message, primary, statement)


def _other(message: str, primary: str, statement: Statement) -> SourceError:
    if match := _NEAR.search(message):
        where = _position(match.group(1), statement.text)
        return _source(
            codes.SOURCE_SYNTAX,
            f"SQL syntax error near {match.group(1)!r}{where}.",
            "Check SQLite's syntax there.",
        )
    if "incomplete input" in message:
        return _source(codes.SOURCE_SYNTAX, "SQL syntax error: the statement ends too early.", "Complete it.")
    if match := _NO_FUNCTION.search(message):
        return _source(
            codes.SOURCE_FAILED,
            f"Function '{match.group(1)}' does not exist in SQLite {sqlite3.sqlite_version}.",
            "Use another built-in function.",
        )
    if "too many columns" in message:
        return _source(
            codes.SOURCE_FAILED, f"SQLite error: {message}.", f"Name at most {COLUMNS} columns, not *."
        )
    if "ambiguous column name" in message:
        return _source(codes.SOURCE_FAILED, f"{message}.", "Write table.column.")
    # Some built-ins report a value that is too long without a word.
    return _source(
        codes.SOURCE_FAILED, f"SQLite error: {message or 'string or blob too big'}.", _TIPS.get(primary, "")
    )


def _source(code: ErrorCode, message: str, hint: str) -> SourceError:
    return SourceError(code, message, hint=hint)


def _position(near: str, text: str) -> str:
    """SQLite names the word only; its place is told when there is just one such word."""
    edges = (r"(?<!\w)", r"(?!\w)") if near.isidentifier() else ("", "")
    places = [match.start() for match in re.finditer(re.escape(near).join(edges), text)]
    if len(places) != 1:
        return ""
    line, column = line_and_column(text, places[0])
    return f" (line {line}, column {column})"


def _unknown_table(wanted: str, connection: sqlite3.Connection, policy: Policy) -> SourceError:
    names = _names(connection, policy.dialect.wording.list_tables_sql.format(master=policy.table_list))
    tip = (
        f"Tip: list the tables with {policy.dialect.wording.list_tables_sql.format(master=policy.table_list)}"
    )
    return _source(
        codes.SOURCE_UNKNOWN_TABLE,
        f"Table '{wanted}' does not exist.",
        _nearest(wanted.rpartition(".")[2], names, policy.schema) + tip,
    )


def _unknown_column(
    wanted: str, statement: Statement, connection: sqlite3.Connection, policy: Policy
) -> SourceError:
    found = [
        (table, _names(connection, "SELECT name FROM pragma_table_info(?)", table.written.rpartition(".")[2]))
        for table in tables_of_column(wanted, statement, policy.dialect)
    ]
    advice, table_name = column_advice(wanted, found)
    example = (table_name or "table_name").rpartition(".")[2]
    describing = policy.dialect.wording.describe_table_sql.format(table=quote_name(example))
    return _source(
        codes.SOURCE_UNKNOWN_COLUMN,
        f"Column '{wanted}' does not exist.",
        f"{advice}Tip: list the columns with {describing}",
    )


def _names(connection: sqlite3.Connection, sql: str, *bound: str) -> list[str]:
    try:
        rows: list[tuple[bytearray]] = connection.execute(sql, bound).fetchmany(_MAX_NAMES)
    except (sqlite3.Error, MemoryError):
        return []  # the first error is the one to tell
    return [bytes(row[0]).decode("utf-8", "replace") for row in rows]


def _nearest(wanted: str, names: list[str], schema: str | None) -> str:
    near = near_names(wanted, names, _MAX_NAMES)
    if not near:
        return ""
    prefix = f"{schema}." if schema else ""
    return f"Did you mean: {', '.join(prefix + name for name in near)}?\n"
