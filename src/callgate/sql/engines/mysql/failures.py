"""MySQL's and MariaDB's errors as answers that teach.

Never a password, account, host or stack: what the server says about them is not repeated.
"""

import re

from callgate.model import error_codes as codes
from callgate.model.error_codes import ErrorCode
from callgate.model.errors import CallgateError, RefusedError, SourceError
from callgate.sql.drivers.network import nearest
from callgate.sql.drivers.network.server import Ask, DatabaseFault, OpenFailed
from callgate.sql.drivers.network.statement_errors import read_only_error, timeout_error
from callgate.sql.drivers.network.unknown_column import advise_on_column
from callgate.sql.drivers.network.unreachable import full, not_let_in
from callgate.sql.engines.mysql.own_functions import CALLS_OWN_FUNCTION
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import line_and_column
from callgate.sql.settings import ServerAddress

_ACCOUNT = re.compile(r"(?:user )?'[^']*'@'[^']*'")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_NEAR = re.compile(r"near '(.*)' at line (\d+)", re.DOTALL)
_DENIED = re.compile(r"^([A-Z, ]+?) command denied to user .* for (?:table|column|routine) (.+?)$", re.DOTALL)
_PRIVILEGE = re.compile(r"\(?at least one of\)? the (.+?) privilege")

_UNKNOWN_TABLE = ("1146", "1051")
_UNKNOWN_COLUMN = ("1054",)
_UNKNOWN_DATABASE = ("1049",)
_DENIED_CODES = ("1044", "1045", "1142", "1143", "1227", "1370", "1410", "1419", "1698")
_SYNTAX = ("1064", "1149")
_DUPLICATE = ("1062", "1586")
_CONSTRAINTS = ("1048", "1216", "1217", "1364", "1451", "1452", "3819", "4025")
_TIMED_OUT = ("1969", "3024")
_READ_ONLY = ("1792", "1290", "1836")
_ENDED = ("1053", "1317", "1927", "2006", "2013")
_NO_DATABASE = "1046"


async def explain_failure(
    fault: DatabaseFault, statement: Statement, policy: Policy, ask: Ask
) -> CallgateError:
    code = fault.code
    if code == CALLS_OWN_FUNCTION:
        return _own_function(fault.message)
    if code in _UNKNOWN_TABLE:
        return await _unknown_table(fault, ask)
    if code in _UNKNOWN_COLUMN:
        return await _unknown_column(fault, statement, policy, ask)
    if code in _UNKNOWN_DATABASE:
        return await _unknown_database(fault, ask)
    if code in _DENIED_CODES:
        return _denied(fault)
    if code in _READ_ONLY:
        return read_only_error(policy)
    if code in _TIMED_OUT:
        return timeout_error(policy.limits.timeout_s, policy)
    return _other(fault, statement)


def _other(fault: DatabaseFault, statement: Statement) -> SourceError:
    code = fault.code
    message = _plain(fault.message)
    if code in _SYNTAX:
        return _syntax(fault, statement)
    if code in _DUPLICATE:
        return _told(
            codes.SOURCE_CONSTRAINT,
            f"{message}.",
            "Tip: This typically means you're trying to insert a row that violates a unique constraint.",
        )
    if code in _CONSTRAINTS:
        return _told(
            codes.SOURCE_CONSTRAINT,
            f"{message}.",
            "Tip: The row breaks a rule of its table: a missing value, a foreign key or a check.",
        )
    if code == "1205":
        return _told(
            codes.SOURCE_LOCKED,
            "Lock wait timeout exceeded.",
            "The query waited too long for a table lock. Try again later or check for long-running queries.",
        )
    if code == "1213":
        return _told(
            codes.SOURCE_LOCKED,
            "Deadlock found when trying to get a lock; the statement was rolled back.",
            "Another transaction was using the same rows in another order. Try again.",
        )
    if code in _ENDED:
        return _told(
            codes.SOURCE_UNAVAILABLE,
            "the database ended the statement.",
            "It may be shutting down, or its administrator stopped it. Try again in a moment.",
        )
    if code == _NO_DATABASE:
        return _told(
            codes.SOURCE_UNKNOWN_TABLE,
            "No database selected.",
            "Tip: Use SHOW DATABASES to see available databases.\n"
            "Remember to use fully qualified names: database.table",
        )
    return _told(codes.SOURCE_FAILED, f"MySQL error ({code}): {message}", "")


def _own_function(name: str) -> RefusedError:
    return RefusedError(
        codes.REFUSED_FUNCTION,
        f"{name[:60]}() is no built-in function of this server, and calls the database's stored function.",
        hint=f'To call it, ask the operator to add allow_functions = ["{name[:60]}"].',
    )


async def _unknown_table(fault: DatabaseFault, ask: Ask) -> SourceError:
    """Table 'shop.ordrs' doesn't exist"""
    match = _QUOTED.search(fault.message)
    wanted = match.group(1) if match else ""
    database, _, table = wanted.rpartition(".")
    pieces = nearest.pieces_of(table)
    shared = " + ".join(["(LOCATE(?, LOWER(table_name)) > 0)"] * len(pieces))
    known = await ask(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN"  # noqa: S608
        " ('mysql', 'sys', 'information_schema', 'performance_schema')"
        f" ORDER BY {shared} DESC, table_name LIMIT {nearest.NEAR}",
        pieces,
    )
    near = nearest.did_you_mean_table(database, table, known)
    return _told(
        codes.SOURCE_UNKNOWN_TABLE,
        f"Table '{wanted}' does not exist.",
        f"{near}Tip: Use SHOW TABLES FROM {database or 'database_name'} to see available tables.\n"
        "Remember to use fully qualified names: database.table",
    )


async def _unknown_column(
    fault: DatabaseFault, statement: Statement, policy: Policy, ask: Ask
) -> SourceError:
    """Unknown column 'o.totl' in 'SELECT'"""
    match = _QUOTED.search(fault.message)
    wanted = match.group(1) if match else ""
    query = (
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = coalesce(?, database()) AND table_name = ? ORDER BY ordinal_position"
    )
    advice, table_name = await advise_on_column(wanted, statement, policy, ask, query)
    return _told(
        codes.SOURCE_UNKNOWN_COLUMN,
        f"Column '{wanted}' does not exist.",
        f"{advice}Tip: Use DESCRIBE {table_name or 'database.table'} to see its columns.",
    )


async def _unknown_database(fault: DatabaseFault, ask: Ask) -> SourceError:
    match = _QUOTED.search(fault.message)
    wanted = match.group(1) if match else ""
    names = nearest.first_column(await ask("SELECT schema_name FROM information_schema.schemata", ()))
    return _told(
        codes.SOURCE_UNKNOWN_DATABASE,
        f"Database '{wanted}' does not exist or is not accessible.",
        f"{nearest.did_you_mean(wanted, names)}Tip: Use SHOW DATABASES to see available databases.",
    )


def _denied(fault: DatabaseFault) -> SourceError:
    needed = ""
    if match := _DENIED.match(fault.message):
        needed = f"Required permission: {match.group(1)} on {match.group(2)}\n"
    elif match := _PRIVILEGE.search(fault.message):
        needed = f"Required permission: {match.group(1)}\n"
    return _told(
        codes.SOURCE_ACCESS_DENIED,
        "Access denied. Your MySQL user doesn't have permission for this operation.",
        f"{needed}Contact your database administrator to grant appropriate permissions.",
    )


def _syntax(fault: DatabaseFault, statement: Statement) -> SourceError:
    where = ""
    if match := _NEAR.search(fault.message):
        near, line = match.group(1), int(match.group(2))
        place = statement.text.rfind(near) if near else len(statement.text.rstrip())
        if place >= 0:
            line, column = line_and_column(statement.text, place)
            where = f" at line {line}, column {column}"
        else:
            where = f" at line {line}"
        shown = near if len(near) <= 80 else f"{near[:80]}…"
        where += f", near '{shown}'" if shown else ", at its end"
    return _told(
        codes.SOURCE_SYNTAX,
        f"SQL syntax error{where}.",
        "Tip: Check your query syntax and ensure table names are fully qualified (database.table).",
    )


def _plain(message: str) -> str:
    """Without accounts: callers must not learn which account we use."""
    return _ACCOUNT.sub("the account", message).rstrip(".")


def _told(code: ErrorCode, message: str, hint: str) -> SourceError:
    return SourceError(code, message, hint=hint)


def explain_login(fault: DatabaseFault, address: ServerAddress) -> OpenFailed:
    """The server answered, and would not let us in."""
    if fault.code in ("1040", "1203", "1226"):
        return full(address)
    if fault.code in ("1045", "1698", "1044", "1251", "1524", "3118"):
        said = _plain(fault.message)
        what = "it refused the login, or the account does not exist"
        hint = f"Check user and password of the DSN, and ssl_cert if the account wants one ({said})."
        told = "the database refused the gateway's own login."
    elif fault.code == "1049":
        what, hint = f"it has no database {address.database!r}", "Check the database in the DSN."
        told = "the database that the gateway is set up for does not exist."
    else:
        what, hint = f"it answered with error {fault.code}: {_plain(fault.message)}", ""
        told = "the database did not accept the gateway's connection."
    return not_let_in(address, told, what, hint)
