"""Which PRAGMAs only read, and the strict grammar of the forms in which they may be written.

    PRAGMA [schema.]name
    PRAGMA [schema.]name(argument)          never  name = value

Many pragmas read without an argument and write with one, so the two lists are apart. The authorizer asks
`may_run` again with what SQLite itself understood.
"""

from callgate.sql.guard.dialect import Fault, FormMatch
from callgate.sql.guard.tokens import Token, TokenKind, fold, word_set

# Read without an argument. Left off: those that act when merely named (optimize, incremental_vacuum,
# wal_checkpoint, shrink_memory), case_sensitive_like, the heap limits, and temp_store_directory.
# database_list shows the path of the file, which its operator has given: agents ask it for the schemas.
PLAIN = word_set(
    """
    application_id auto_vacuum automatic_index busy_timeout cache_size cell_size_check collation_list
    compile_options data_version database_list encoding foreign_key_check foreign_keys freelist_count
    function_list integrity_check journal_mode journal_size_limit locking_mode max_page_count mmap_size
    module_list page_count page_size pragma_list query_only quick_check read_uncommitted
    recursive_triggers schema_version secure_delete synchronous table_list temp_store threads
    trusted_schema user_version wal_autocheckpoint writable_schema
    """
)
# Take a table's or an index's name.
WITH_NAME = word_set(
    """
    foreign_key_check foreign_key_list index_info index_list index_xinfo integrity_check quick_check
    table_info table_list table_xinfo
    """
)
# Offered by SQLite as table-valued functions pragma_…; those that need no name work without parentheses.
TABLES = frozenset(
    f"pragma_{name}"
    for name in WITH_NAME
    | {
        "application_id",
        "collation_list",
        "compile_options",
        "data_version",
        "database_list",
        "encoding",
        "freelist_count",
        "function_list",
        "module_list",
        "page_count",
        "page_size",
        "pragma_list",
        "schema_version",
        "user_version",
    }
)

_HINT = "Pragmas that only read may be used: PRAGMA name or PRAGMA name(table), as PRAGMA table_info(orders)."


def may_run(name: str, argument: str | None) -> bool:
    return name in PLAIN if argument is None else name in WITH_NAME


def read_pragma(tokens: tuple[Token, ...]) -> FormMatch | Fault:
    """The significant tokens of a statement whose first word is PRAGMA."""
    rest = tokens[1:]
    if len(rest) >= 3 and _is_name(rest[0]) and rest[1].is_operator("."):
        rest = rest[2:]
    if not rest or not _is_name(rest[0]):
        return Fault("pragma_form", "this PRAGMA has no name that can be read.", _HINT)
    name = fold(rest[0].name)
    known = name in PLAIN or name in WITH_NAME
    if len(rest) == 1:
        if name in PLAIN:
            return FormMatch()
        if known:
            return Fault("pragma_form", f"PRAGMA {name} needs an argument.", f"Write PRAGMA {name}(name).")
        return _forbidden(name)
    if rest[1].is_operator("="):
        return Fault("pragma_write", f"PRAGMA {name} = … would change a setting.", _HINT, is_forbidden=True)
    if name not in WITH_NAME:
        return _forbidden(name)
    if len(rest) == 4 and rest[1].is_operator("(") and _is_argument(rest[2]) and rest[3].is_operator(")"):
        return FormMatch()
    return Fault("pragma_form", f"PRAGMA {name} takes one name in parentheses.", _HINT)


def _forbidden(name: str) -> Fault:
    return Fault("pragma", f"PRAGMA {name} is not one of those that only read.", _HINT, is_forbidden=True)


def _is_name(token: Token) -> bool:
    return token.kind in (TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING)


def _is_argument(token: Token) -> bool:
    return _is_name(token) or token.kind is TokenKind.NUMBER
