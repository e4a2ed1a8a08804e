"""DuckDB's errors as answers that teach: which code, what happened, what to try. Never a stack. Pure."""

import re

from callgate.model import error_codes as codes
from callgate.model.errors import CallgateError, RefusedError, SourceError
from callgate.model.near_miss import near_names
from callgate.sql.drivers.near_columns import ReadTable, column_advice
from callgate.sql.engines.duckdb.frames import REFUSED, Failed
from callgate.sql.guard.policy import Policy, quote_name

_NO_TABLE = re.compile(r"(?:Table|View) with name \"?(.+?)\"? does not exist", re.DOTALL)
_NO_COLUMN = re.compile(
    r"Referenced column \"(.+?)\" (?:was )?not found"
    r"|(?:Table|Values list) \"(?P<table>.+?)\" does not have a column (?:with name|named) \"(?P<name>.+?)\""
    r"|Referenced update column (\S+) not found|Column with name \"?(.+?)\"? does not exist",
    re.DOTALL,
)
_NO_FUNCTION = re.compile(r"Function with name \"?(.+?)\"? does not exist", re.DOTALL)
_CANDIDATES = re.compile(r"(?:Candidate bindings|Candidate Entries|Did you mean):? *(.+)")
_QUOTED = re.compile(r'"((?:[^"]|"")+)"')
_NEAR = re.compile(r'syntax error at or near "(.+)"', re.DOTALL)
# DuckDB shows the line and a caret below the first sign that it did not expect.
_PLACE = re.compile(r"\n\nLINE (\d+): (.*)\n( *)\^")
_PREFIX = re.compile(r"^(?:[A-Z][A-Za-z]* )+Error: ")

_NO_SCHEMA = re.compile(
    r"because (?:schema|catalog) \"(.+?)\" does not exist"
    r"|(?:Schema|Catalog) with name \"?(.+?)\"? does not exist|Catalog \"(.+?)\" does not exist",
    re.DOTALL,
)
_CODES = {
    "ConstraintException": codes.SOURCE_CONSTRAINT,
    "TransactionException": codes.SOURCE_LOCKED,
}
_TIPS = {
    "ConstraintException": "The row breaks a rule of its table: duplicate key, missing value or foreign key.",
    "TransactionException": "Another call changed the same rows at the same time. Try again.",
    "ConversionException": "Use TRY_CAST(… AS type) to get NULL for what cannot be converted.",
    "OutOfRangeException": "Cast to a wider type first, e.g. x::HUGEINT or x::DOUBLE.",
    "NotImplementedException": "DuckDB cannot do that yet. Write it another way.",
}
_DOWN = frozenset({"IOException", "Error"})
_MOST_GUESSES = 5
# After one of these DuckDB refuses every further statement: the process must be replaced.
FATAL = frozenset({"FatalException", "InternalException"})


def explain_failure(failed: Failed, text: str, policy: Policy) -> CallgateError:
    """`text` is the statement that failed."""
    message = failed.message
    if failed.kind == REFUSED:
        return RefusedError(
            codes.REFUSED_FORBIDDEN,
            f"DuckDB reads it as {failed.message}, which never runs here.",
            hint="Read tables and views with SELECT, FROM, DESCRIBE, SUMMARIZE or EXPLAIN.",
        )
    if is_out_of_memory(failed):
        return out_of_memory()
    if failed.kind == "PermissionException" or "configuration has been locked" in message:
        return RefusedError(
            codes.REFUSED_FORBIDDEN,
            f"DuckDB's own settings stopped it: {_sentence(message)}.",
            hint="Files, networks, extensions and settings are out of reach. Read tables and views only.",
        )
    if "read-only mode" in message:
        return RefusedError(
            codes.REFUSED_READ_ONLY, "the database is open for reading only.", hint=policy.write_advice
        )
    if failed.kind in FATAL:
        return SourceError(
            codes.SOURCE_FAILED,
            f"DuckDB itself failed on this statement: {_sentence(message)}.",
            hint="Write it another way.",
        )
    if failed.kind in _DOWN:
        return SourceError(
            codes.SOURCE_UNAVAILABLE,
            f"the database file cannot be used ({_sentence(message)}).",
            hint="Tell the operator.",
            operator_hint="See whether DuckDB's own client opens the file, and whether the disk is full.",
        )
    return _about_the_statement(failed, text)


def is_out_of_memory(failed: Failed) -> bool:
    said = failed.message
    return failed.kind == "OutOfMemoryException" or "Out of Memory" in said or "bad_alloc" in said


def out_of_memory() -> SourceError:
    return SourceError(
        codes.SOURCE_FAILED,
        "The query needs more memory than this source's queries may use together.",
        hint="Select fewer or smaller columns, filter before joining or sorting, add LIMIT to an ORDER BY. "
        "If other large queries are running, try again in a moment.",
    )


def process_gone() -> SourceError:
    return SourceError(
        codes.SOURCE_FAILED,
        "The process that runs DuckDB's queries ended while this one ran: it, or another one running at the "
        "same time, needed too much memory or could not be stopped otherwise.",
        hint="A new process takes the next query. Try again; if it happens again, ask for less at once.",
    )


def unknown_table(wanted: str, known: list[str]) -> SourceError:
    near = near_names(wanted.rpartition(".")[2], known)
    return SourceError(
        codes.SOURCE_UNKNOWN_TABLE,
        f"Table '{wanted}' does not exist.",
        hint=_did_you_mean(near) + "Tip: list the tables with SHOW TABLES",
    )


def missing_table(failed: Failed) -> str | None:
    """Which table was not found, if that is what went wrong."""
    if failed.kind != "CatalogException" or _NO_SCHEMA.search(failed.message):
        return None
    match = _NO_TABLE.search(failed.message)
    return match.group(1) if match else None


def missing_column(failed: Failed) -> str | None:
    """Which column was not found, with its table's name if the statement gave one."""
    match = _NO_COLUMN.search(failed.message) if failed.kind != "ParserException" else None
    if match is None:
        return None
    if match["table"] is not None:
        return f"{match['table']}.{match['name']}"
    return next(group for group in match.groups() if group)


def unknown_column(wanted: str, failed: Failed, found: list[tuple[ReadTable, list[str]]]) -> SourceError:
    """`found` are the columns of the statement's tables; without any DuckDB's own guess is told."""
    advice, table_name = column_advice(wanted, found)
    return SourceError(
        codes.SOURCE_UNKNOWN_COLUMN,
        f"Column '{wanted}' does not exist.",
        hint=(advice or _did_you_mean(_candidates(failed.message)[:_MOST_GUESSES]))
        + f"Tip: list the columns with DESCRIBE {table_name or 'table_name'}",
    )


def _about_the_statement(failed: Failed, text: str) -> SourceError:
    message = failed.message
    if failed.kind == "ParserException":
        near = _NEAR.search(message)
        what = f" near {near.group(1)!r}" if near else f": {_sentence(message)}"
        return SourceError(
            codes.SOURCE_SYNTAX,
            f"SQL syntax error{what}{_position(message, text)}.",
            hint="Check DuckDB's syntax there.",
        )
    if match := _NO_SCHEMA.search(message):
        return SourceError(
            codes.SOURCE_UNKNOWN_DATABASE,
            f"Schema '{next(group for group in match.groups() if group)}' does not exist.",
            hint="Tip: list the schemas with SHOW SCHEMAS, all tables with SHOW ALL TABLES",
        )
    if match := _NO_FUNCTION.search(message):
        return SourceError(
            codes.SOURCE_FAILED,
            f"Function '{match.group(1)}' does not exist in DuckDB.",
            hint=_did_you_mean(_candidates(message)) + "Use another built-in function.",
        )
    return SourceError(
        _CODES.get(failed.kind, codes.SOURCE_FAILED),
        f"DuckDB error: {_sentence(message)}.",
        hint=_TIPS.get(failed.kind, ""),
    )


def _did_you_mean(names: list[str]) -> str:
    return f"Did you mean: {', '.join(map(quote_name, names))}?\n" if names else ""


def _candidates(message: str) -> list[str]:
    match = _CANDIDATES.search(message)
    names = _QUOTED.findall(match.group(1)) if match else []
    return [name.rpartition(".")[2] for name in names]


def _sentence(message: str) -> str:
    """What went wrong, without DuckDB's heading, its picture of the place and its advice on settings."""
    first = _PREFIX.sub("", message).partition("\n\n")[0].partition("\nPossible solutions")[0]
    return " ".join(first.split()).rstrip(".!")


def _position(message: str, text: str) -> str:
    match = _PLACE.search(message)
    if match is None:
        return ""
    line = int(match.group(1))
    shown = match.group(2)
    column = len(match.group(3)) - len(f"LINE {line}: ") + 1
    lines = text.split("\n")
    # Of a long line DuckDB shows a part only: then the line must do.
    if line <= len(lines) and lines[line - 1].startswith(shown) and column > 0:
        return f" (line {line}, column {column})"
    return f" (line {line})"
