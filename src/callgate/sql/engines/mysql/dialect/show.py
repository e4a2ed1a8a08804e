"""SHOW, DESCRIBE, EXPLAIN, MariaDB's ANALYZE <query>: what the parser cannot judge, as strict phrases. Pure.

`SHOW … WHERE` takes any expression, `EXPLAIN` a whole statement: both are handed back to the guard. Left off:
- SHOW CREATE USER and SHOW GRANTS FOR others (password hashes), SHOW BINLOG EVENTS and SHOW RELAYLOG EVENTS
  (everybody's data);
- EXPLAIN ANALYZE and ANALYZE of a write, which run it; EXPLAIN … INTO @x, which sets a variable.
"""

from callgate.sql.guard.dialect import Fault, FormMatch, Tokens
from callgate.sql.guard.phrases import Found, as_expression, match_phrase

EXPLAIN_HINT = "Explain a query: EXPLAIN SELECT …, or describe a table: DESCRIBE database.table"

_LIKE = "[LIKE string | WHERE expr]"
_IN = "{FROM | IN}"
_COUNT = "[LIMIT number [, number | OFFSET number]]"
_PROFILE = "{ALL | BLOCK IO | CONTEXT SWITCHES | CPU | IPC | MEMORY | PAGE FAULTS | SOURCE | SWAPS}"

_SHOW = (
    f"SHOW [FULL | EXTENDED | EXTENDED FULL] TABLES [{_IN} name] {_LIKE}",
    f"SHOW [FULL | EXTENDED | EXTENDED FULL] {{COLUMNS | FIELDS}} {_IN} table [{_IN} name] {_LIKE}",
    f"SHOW [EXTENDED] {{INDEX | INDEXES | KEYS}} {_IN} table [{_IN} name] [WHERE expr]",
    f"SHOW {{DATABASES | SCHEMAS}} {_LIKE}",
    f"SHOW TABLE STATUS [{_IN} name] {_LIKE}",
    f"SHOW OPEN TABLES [{_IN} name] {_LIKE}",
    f"SHOW [FULL] TRIGGERS [{_IN} name] {_LIKE}",
    f"SHOW EVENTS [{_IN} name] {_LIKE}",
    f"SHOW [GLOBAL | SESSION | LOCAL] {{VARIABLES | STATUS}} {_LIKE}",
    f"SHOW {{CHARACTER SET | CHARSET | COLLATION}} {_LIKE}",
    f"SHOW {{PROCEDURE | FUNCTION | LIBRARY | PACKAGE [BODY]}} STATUS {_LIKE}",
    "SHOW CREATE {TABLE | VIEW | SEQUENCE} table",
    "SHOW CREATE {PROCEDURE | FUNCTION | LIBRARY | TRIGGER | EVENT | PACKAGE [BODY]} name [. name]",
    "SHOW CREATE {DATABASE | SCHEMA} [IF NOT EXISTS] name",
    f"SHOW {{WARNINGS | ERRORS}} {_COUNT}",
    "SHOW COUNT ( * ) {WARNINGS | ERRORS}",
    "SHOW [FULL] PROCESSLIST",
    "SHOW [STORAGE] ENGINES",
    "SHOW ENGINE name {STATUS | MUTEX | LOGS}",
    "SHOW {PLUGINS | PRIVILEGES | PROFILES | AUTHORS | CONTRIBUTORS | LOCALES}",
    "SHOW PLUGINS SONAME {string | LIKE string | WHERE expr}",
    f"SHOW PROFILE [{_PROFILE} [, {_PROFILE} [, {_PROFILE}]]] [FOR QUERY number] {_COUNT}",
    "SHOW GRANTS [FOR CURRENT_USER [( )]]",
    "SHOW {MASTER | BINARY LOG | BINLOG} STATUS",
    "SHOW {SLAVE | REPLICA} [string] STATUS [FOR CHANNEL string]",
    "SHOW {ALL SLAVES | ALL REPLICAS} STATUS",
    "SHOW {BINARY | MASTER} LOGS",
    "SHOW {SLAVE HOSTS | REPLICA HOSTS | REPLICAS}",
    f"SHOW {{USER_STATISTICS | CLIENT_STATISTICS | INDEX_STATISTICS | TABLE_STATISTICS}} {_LIKE}",
    "SHOW {EXPLAIN | ANALYZE} [FORMAT = {JSON | TRADITIONAL}] FOR number",
)
_DESCRIBE = (
    "{DESCRIBE | DESC | EXPLAIN} table",
    "{DESCRIBE | DESC | EXPLAIN} table {name | string}",
)
_FORMAT = "FORMAT = {name | string}"
_KIND = f"EXTENDED | PARTITIONS | {_FORMAT}"
# Runs what it explains.
_ANALYZE = (
    f"{{EXPLAIN | DESCRIBE | DESC}} ANALYZE [{_FORMAT}] statement",
    f"{{EXPLAIN | DESCRIBE | DESC}} {_FORMAT} ANALYZE statement",
    f"ANALYZE {_FORMAT} statement",
    "ANALYZE statement",
)
_PLAN = (
    f"{{EXPLAIN | DESCRIBE | DESC}} [{_KIND}] FOR CONNECTION number",
    f"{{EXPLAIN | DESCRIBE | DESC}} [{_KIND}] [FOR {{SCHEMA | DATABASE}} name] statement",
)
_HELP = ("HELP {name | string}",)  # reads mysql.help_topic and its kin
# Reserved words: no table's name.
_BEGINNINGS = frozenset({"SELECT", "WITH", "TABLE", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"})
_MAINTENANCE = frozenset({"TABLE", "TABLES", "NO_WRITE_TO_BINLOG", "LOCAL"})


def show(tokens: Tokens) -> FormMatch | Fault:
    found = match_phrase(_SHOW, tokens)
    if found is None:
        words = " ".join(token.text for token in tokens[1:4])[:60]
        return Fault(
            "show",
            f"SHOW {words} is not one of the SHOW statements that are understood here.",
            "Use SHOW DATABASES, SHOW TABLES FROM database, SHOW COLUMNS FROM database.table, SHOW INDEX, "
            "SHOW CREATE TABLE, SHOW VARIABLES, SHOW STATUS.",
            is_forbidden=len(tokens) > 1 and tokens[1].word in ("CREATE", "GRANTS", "BINLOG", "RELAYLOG"),
        )
    return _with_expression(_located(found, tokens))


def help_topic(tokens: Tokens) -> FormMatch | Fault:
    if match_phrase(_HELP, tokens) is None:
        return Fault("help", "HELP takes one topic.", "Write HELP 'contents' or HELP 'date functions'.")
    return FormMatch()


def describe(tokens: Tokens) -> FormMatch | Fault:
    """DESCRIBE, DESC and EXPLAIN are one word to the server."""
    verb = tokens[0].word
    first = tokens[1].word if len(tokens) > 1 else ""
    if first == "ANALYZE" or _names_format(tokens, "ANALYZE"):
        return analyze(tokens)
    if first not in _BEGINNINGS and (found := match_phrase(_DESCRIBE, tokens)):
        return FormMatch(tables=found.tables)
    if found := match_phrase(_PLAN, tokens):
        return FormMatch(explained=(found.statement,)) if found.statement else FormMatch()
    return Fault("explain", f"{verb} needs a table or a statement.", EXPLAIN_HINT)


def analyze(tokens: Tokens) -> FormMatch | Fault:
    """MariaDB's ANALYZE <query> and MySQL's EXPLAIN ANALYZE run it; ANALYZE TABLE writes statistics."""
    verb = tokens[0].word
    if verb == "ANALYZE" and (len(tokens) < 2 or tokens[1].word in _MAINTENANCE):
        return Fault(
            "never",
            "Administrative commands (ANALYZE TABLE) are never allowed.",
            "To see how a query runs: ANALYZE SELECT … (MariaDB) or EXPLAIN ANALYZE SELECT … (MySQL).",
            is_forbidden=True,
        )
    found = match_phrase(_ANALYZE, tokens)
    if found is None:
        return Fault("explain", f"{verb} needs a statement.", EXPLAIN_HINT)
    return FormMatch(reads=(found.statement,))


def _names_format(tokens: Tokens, then: str) -> bool:
    """`EXPLAIN FORMAT=TREE ANALYZE …`"""
    return len(tokens) > 4 and tokens[1].word == "FORMAT" and tokens[4].word == then


def _located(found: Found, tokens: Tokens) -> Found:
    """`SHOW COLUMNS FROM orders FROM shop`: the database stands behind the table."""
    if not found.tables or "." in found.tables[0]:
        return found
    for at in range(len(tokens) - 3):
        if tokens[at].word in ("FROM", "IN") and tokens[at + 2].word in ("FROM", "IN"):
            return Found((f"{tokens[at + 3].spelled}.{found.tables[0]}",), found.expression)
    return found


def _with_expression(found: Found) -> FormMatch:
    reads = (as_expression(found.expression),) if found.expression else ()
    return FormMatch(reads=reads, tables=found.tables)
