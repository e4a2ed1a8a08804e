"""PostgreSQL's errors as answers that teach: which code, what happened, what to try.

Never a password, account, host or stack: what the server says about them is not repeated.
"""

# ruff: noqa: S608 - statements in advice are texts; those that run bind their values

import re

from callgate.model import error_codes as codes
from callgate.model.error_codes import ErrorCode
from callgate.model.errors import CallgateError, RefusedError, SourceError
from callgate.sql.drivers.network import nearest
from callgate.sql.drivers.network.server import Ask, DatabaseFault, OpenFailed
from callgate.sql.drivers.network.statement_errors import read_only_error, timeout_error
from callgate.sql.drivers.network.unknown_column import advise_on_column
from callgate.sql.drivers.network.unreachable import full, not_let_in
from callgate.sql.engines.postgres.own_functions import CALLS_OWN_FUNCTION
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import line_and_column
from callgate.sql.settings import ServerAddress

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_COLUMN = re.compile(r'column "?(.+?)"? (?:does not exist|of relation)')
_DENIED = re.compile(r"permission denied for (.+)")

_UNKNOWN_TABLE, _UNKNOWN_COLUMN, _UNKNOWN_SCHEMA, _UNKNOWN_DATABASE = "42P01", "42703", "3F000", "3D000"
_UNKNOWN_FUNCTION = "42883"
_DENIED_STATE, _SYNTAX, _DUPLICATE, _READ_ONLY = "42501", "42601", "23505", "25006"
_LOCKED, _DEADLOCK, _SERIALIZATION, _CANCELLED = "55P03", "40P01", "40001", "57014"
_ENDED = ("57P01", "57P02", "57P03", "57P05", "08006", "08003")
_LIST_TABLES = "SELECT schemaname, tablename FROM pg_catalog.pg_tables"


async def explain_failure(
    fault: DatabaseFault, statement: Statement, policy: Policy, ask: Ask
) -> CallgateError:
    state = fault.sqlstate
    if fault.code == CALLS_OWN_FUNCTION:
        return _own_function(fault.message)
    if state == _UNKNOWN_TABLE:
        return await _unknown_table(fault, ask)
    if state == _UNKNOWN_COLUMN:
        return await _unknown_column(fault, statement, policy, ask)
    if state in (_UNKNOWN_SCHEMA, _UNKNOWN_DATABASE):
        return await _unknown_schema(fault, ask)
    if state == _DENIED_STATE:
        return _denied(fault)
    # 25001: what refuses to run in a transaction, or wants to make it a writing one, is no reading.
    if state == _READ_ONLY or (state == "25001" and not policy.may_write):
        return read_only_error(policy)
    if state == _CANCELLED and "statement timeout" in fault.message:
        return timeout_error(policy.limits.timeout_s, policy)
    return _other(fault, statement)


def _other(fault: DatabaseFault, statement: Statement) -> SourceError:
    state = fault.sqlstate
    where = _place(fault, statement)
    if state == _SYNTAX:
        return _told(
            codes.SOURCE_SYNTAX,
            f"SQL syntax error{where}: {fault.message}.",
            "Tip: Check your query syntax and ensure table names are fully qualified (schema.table).",
        )
    if state == _DUPLICATE:
        return _told(
            codes.SOURCE_CONSTRAINT,
            f"Duplicate entry: {fault.message}. {fault.hint}".strip(),
            "Tip: This typically means you're trying to insert a row that violates a unique constraint.",
        )
    if state.startswith("23"):
        return _told(
            codes.SOURCE_CONSTRAINT,
            f"{fault.message}. {fault.hint}".strip(),
            "Tip: The row breaks a rule of its table: a missing value, a foreign key or a check.",
        )
    if state == _LOCKED:
        return _told(
            codes.SOURCE_LOCKED,
            "Lock wait timeout exceeded.",
            "The query waited too long for a table lock. Try again later or check for long-running queries.",
        )
    if state in (_DEADLOCK, _SERIALIZATION):
        return _told(
            codes.SOURCE_LOCKED,
            f"{fault.message}; the statement was rolled back.",
            "Another transaction was using the same rows. Try again.",
        )
    if state in _ENDED or state == _CANCELLED:
        return _told(
            codes.SOURCE_UNAVAILABLE,
            "the database ended the statement.",
            "It may be shutting down, or its administrator stopped it. Try again in a moment.",
        )
    if state == _UNKNOWN_FUNCTION:
        return _told(
            codes.SOURCE_FAILED,
            f"{fault.message}{where}.",
            fault.hint or "Check its name and the types of its arguments; a cast may be needed.",
        )
    return _told(codes.SOURCE_FAILED, f"PostgreSQL error ({state}){where}: {fault.message}", fault.hint)


def _own_function(name: str) -> RefusedError:
    return RefusedError(
        codes.REFUSED_FUNCTION,
        f".{name[:60]} calls the function {name[:60]}() of this database, unless it is a column of a table.",
        hint="Ask for a column by its table's name or alias. "
        f'To call the function, ask the operator to add allow_functions = ["{name[:60]}"].',
    )


async def _unknown_table(fault: DatabaseFault, ask: Ask) -> SourceError:
    """relation "shop.ordrs" does not exist"""
    match = _QUOTED.search(fault.message)
    wanted = match.group(1) if match else ""
    schema, _, table = wanted.rpartition(".")
    pieces = nearest.pieces_of(table)
    shared = " + ".join(
        f"(position(${number}::text IN lower(c.relname)) > 0)::int" for number in range(1, len(pieces) + 1)
    )
    known = await ask(
        "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c"
        " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f')"
        " AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'"
        f" ORDER BY {shared} DESC, c.relname LIMIT {nearest.NEAR}",
        pieces,
    )
    near = nearest.did_you_mean_table(schema, table, known)
    only = f" WHERE schemaname = '{schema}'" if schema else ""
    return _told(
        codes.SOURCE_UNKNOWN_TABLE,
        f"Table '{wanted}' does not exist.",
        f"{near}Tip: Use {_LIST_TABLES}{only} to see available tables.\n"
        "Remember to use fully qualified names: schema.table",
    )


async def _unknown_column(
    fault: DatabaseFault, statement: Statement, policy: Policy, ask: Ask
) -> SourceError:
    """column o.totl does not exist; PostgreSQL adds a guess of its own as the hint"""
    match = _COLUMN.search(fault.message)
    wanted = match.group(1) if match else fault.message
    query = (
        "SELECT column_name FROM information_schema.columns"
        " WHERE ($1::text IS NULL OR table_schema = $1) AND table_name = $2 ORDER BY ordinal_position"
    )
    advice, table_name = await advise_on_column(wanted, statement, policy, ask, query)
    example = (table_name or "table_name").rpartition(".")[2]
    listing = f"information_schema.columns WHERE table_name = '{example}'"
    return _told(
        codes.SOURCE_UNKNOWN_COLUMN,
        f"Column '{wanted}' does not exist{_place(fault, statement)}.",
        f"{advice}Tip: See its columns with SELECT column_name, data_type FROM {listing}",
    )


async def _unknown_schema(fault: DatabaseFault, ask: Ask) -> SourceError:
    match = _QUOTED.search(fault.message)
    wanted = match.group(1) if match else ""
    names = nearest.first_column(await ask("SELECT nspname FROM pg_catalog.pg_namespace", ()))
    return _told(
        codes.SOURCE_UNKNOWN_DATABASE,
        f"Schema '{wanted}' does not exist or is not accessible.",
        f"{nearest.did_you_mean(wanted, names)}"
        "Tip: Use SELECT schema_name FROM information_schema.schemata to see available schemas.",
    )


def _denied(fault: DatabaseFault) -> SourceError:
    match = _DENIED.search(fault.message)
    needed = f"Required permission: on {match.group(1)}\n" if match else f"({fault.message})\n"
    return _told(
        codes.SOURCE_ACCESS_DENIED,
        "Access denied. Your PostgreSQL user doesn't have permission for this operation.",
        f"{needed}Contact your database administrator to grant appropriate permissions.",
    )


def _place(fault: DatabaseFault, statement: Statement) -> str:
    if fault.position is None:
        return ""
    line, column = line_and_column(statement.text, fault.position - 1)
    return f" at line {line}, column {column}"


def _told(code: ErrorCode, message: str, hint: str) -> SourceError:
    return SourceError(code, message, hint=hint)


def explain_login(fault: DatabaseFault, address: ServerAddress) -> OpenFailed:
    """The server answered, and would not let us in."""
    state = fault.sqlstate
    if state == "53300":
        return full(address)
    if state in ("28P01", "28000"):
        what = "it refused the login, or the account does not exist"
        hint = f"Check user, password, pg_hba.conf, and ssl_cert if that wants one ({fault.message})."
        told = "the database refused the gateway's own login."
    elif state == _UNKNOWN_DATABASE:
        what, hint = f"it has no database {address.database!r}", "Check the database in the DSN."
        told = "the database that the gateway is set up for does not exist."
    elif state == "57P03":
        what, hint = f"it is not ready: {fault.message}", ""
        told = "the database is starting up or shutting down."
    else:
        what, hint = f"it answered with error {state}: {fault.message}", ""
        told = "the database did not accept the gateway's connection."
    return not_let_in(address, told, what, hint)
