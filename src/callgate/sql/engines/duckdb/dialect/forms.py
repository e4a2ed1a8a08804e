"""DuckDB's statements that the parser cannot judge, as small strict grammars. Pure."""

from callgate.sql.engines.duckdb.dialect.file_names import check_names
from callgate.sql.engines.duckdb.dialect.setting_names import SETTINGS
from callgate.sql.guard.dialect import Fault, FormMatch, Tokens
from callgate.sql.guard.phrases import match_phrase
from callgate.sql.guard.tokens import Kind

EXPLAIN_HINT = "Explain a query: EXPLAIN SELECT …, or EXPLAIN ANALYZE SELECT … to run it and see the times."
_SHOW_HINT = "Use SHOW TABLES, SHOW ALL TABLES, SHOW SCHEMAS, SHOW DATABASES or DESCRIBE table_name."
_PRAGMA_HINT = "Use PRAGMA table_info('table_name'), PRAGMA show_tables or PRAGMA version."

_EXPLAIN = (
    "EXPLAIN ( {ANALYZE | ANALYSE} [, FORMAT name] ) statement",
    "EXPLAIN ( FORMAT name [, {ANALYZE | ANALYSE}] ) statement",
    "EXPLAIN [ANALYZE | ANALYSE] statement",
)
_SHOW = ("SHOW [ALL] TABLES", "SHOW [ALL]", "SHOW TABLES {FROM | IN} table", "SHOW {DATABASES | SCHEMAS}")
_PRAGMA = (
    "PRAGMA {SHOW_TABLES | SHOW_TABLES_EXPANDED | SHOW_DATABASES | VERSION | COLLATIONS | DATABASE_SIZE}",
    "PRAGMA {TABLE_INFO | SHOW} ( value )",
)


def explain(tokens: Tokens) -> FormMatch | Fault:
    """Only reads, with and without ANALYZE: `EXPLAIN ANALYZE INSERT …` inserts."""
    found = match_phrase(_EXPLAIN, tokens)
    if found is None:
        return Fault("explain", "this EXPLAIN could not be understood.", EXPLAIN_HINT)
    return FormMatch(reads=(found.statement,))


def describe(tokens: Tokens) -> FormMatch | Fault:
    """`DESCRIBE [TABLE] name`, `SUMMARIZE name`, or either with a query behind."""
    verb = tokens[0].word
    if len(tokens) > 1 and tokens[1].kind is Kind.STRING:
        return check_names((tokens[1].name,)) or Fault(
            "describe", f"{verb} takes a table's name, not a text.", f"Write {verb} table_name."
        )
    found = match_phrase((f"{verb} [TABLE] table",), tokens)
    if found is not None:
        return check_names(found.tables) or FormMatch(tables=found.tables)
    if len(tokens) == 1:
        if verb in ("DESCRIBE", "DESC"):
            return FormMatch()  # all tables
        return Fault("describe", f"{verb} of nothing.", f"Write {verb} table_name.")
    return FormMatch(reads=(tokens[1:],))


def show(tokens: Tokens) -> FormMatch | Fault:
    if match_phrase(_SHOW, tokens) is not None:
        return FormMatch()
    found = match_phrase(("SHOW table",), tokens)
    if found is None or found.tables[0].lower() in SETTINGS or found.tables[0].lower() == "variables":
        return Fault("show", "this SHOW is not one of those that tell about tables.", _SHOW_HINT)
    return check_names(found.tables) or FormMatch(tables=found.tables)


def pragma(tokens: Tokens) -> FormMatch | Fault:
    if match_phrase(_PRAGMA, tokens) is None:
        return Fault(
            "pragma", "this PRAGMA is not one of those that only read.", _PRAGMA_HINT, is_forbidden=True
        )
    if len(tokens) < 4:
        return FormMatch()
    return check_names((tokens[3].name,)) or FormMatch(tables=(tokens[3].name,))
