"""Names in FROM that stand for plain values: in `FROM version() t` t is a text, and t.f calls f('…'). Pure.

Columns have tables, queries and the few functions that give rows (`GIVE_ROWS`, from `pg_proc`).
"""

from collections.abc import Iterator

from callgate.sql.engines.postgres.dialect.functions import ALLOWED, EXTENSION_TYPES, EXTENSIONS
from callgate.sql.engines.postgres.dialect.keywords import RESERVED, VALUE_WORDS
from callgate.sql.engines.postgres.dialect.reading import Reading
from callgate.sql.guard.tokens import TokenKind

# Give back a row, or whatever they are given: only of those a column can be picked.
GIVE_ROWS = frozenset(
    {
        *("json_populate_record", "json_populate_recordset", "jsonb_populate_record"),
        *("jsonb_populate_recordset", "json_each", "json_each_text", "jsonb_each", "jsonb_each_text"),
        *("each", "unnest", "array_agg", "coalesce", "lag", "lead", "first_value", "last_value", "nth_value"),
        *("any_value", "aclexplode", "pg_sequence_parameters", "pg_identify_object", "row"),
        "pg_input_error_info",
        *("pg_get_object_address", "ts_debug", "ts_parse", "ts_token_type", "pg_options_to_table"),
        *("pg_partition_tree", "pg_get_keywords", "_pg_expandarray"),
    }
)
_GIVE_ROWS_IN_FROM = GIVE_ROWS | {
    *("json_to_record", "json_to_recordset", "jsonb_to_record", "jsonb_to_recordset", "record"),
    *("pg_extension_update_paths", "pg_get_catalog_foreign_keys", "pg_get_publication_tables"),
    *("pg_identify_object_as_address", "pg_lock_status", "pg_partition_ancestors", "pg_stat_get_activity"),
    *("pg_timezone_abbrevs", "pg_timezone_names"),
}
_SYNTAX = frozenset({"cast", "coalesce", "greatest", "least", "nullif", "trim", "substring", "overlay"})
_GIVE_VALUES = (ALLOWED - EXTENSIONS - EXTENSION_TYPES - _GIVE_ROWS_IN_FROM) | _SYNTAX
_COLUMNS_OF_VALUES = frozenset({"value", "ordinality"})
_BEFORE_ITEM = frozenset({"from", "join", "lateral", "using", ","})
_BEHIND_FROM = frozenset(
    {"select", "where", "group", "having", "order", "window", "limit", "union", "returning", "set", "values"}
)
_FROM_INSIDE = frozenset({"extract", "trim", "substring", "overlay", "position"})


def names_of_values(read: Reading) -> dict[str, set[str]]:
    """The names in FROM that stand for plain values, each with the names its only column may go by."""
    found: dict[str, set[str]] = {}
    closing_of = {opening: closing for closing, opening in read.opening_of.items()}
    for at in _items(read):
        end = _behind_value(read, at, closing_of)
        if end is None:
            continue
        name = read.tokens[at].name
        if _ends_rows_from(read, end):
            end += 1
        if read.word(end) == "with" and read.word(end + 1) == "ordinality":
            end += 2
        if read.word(end) == "as":
            end += 1
        if read.is_name(end) and read.word(end) not in RESERVED:
            name = read.tokens[end].name
            end += 1
        columns = found.setdefault(name, {name, *_COLUMNS_OF_VALUES})
        if read.word(end) == "(":
            end += 1
            while read.is_name(end):
                columns.add(read.tokens[end].name)
                end += 2
    return found


def _ends_rows_from(read: Reading, at: int) -> bool:
    """`ROWS FROM (f(x)) AS t`; `FROM (SELECT … FROM f(x)) t` looks alike at its end."""
    opening = read.opening_of.get(at, 0)
    return read.word(at) == ")" and [read.word(opening - 2), read.word(opening - 1)] == ["rows", "from"]


def _items(read: Reading) -> Iterator[int]:
    """Where each table, function or value of a FROM begins."""
    in_from = [False]
    for at in range(len(read)):
        word = read.word(at)
        before = read.word(at - 1)
        begins = before in _BEFORE_ITEM or (before == "(" and read.word(at - 2) in _BEFORE_ITEM)
        if in_from[-1] and begins and read.is_name(at):
            is_pg_catalog = word == "pg_catalog" and read.word(at + 1) == "."
            yield at + 2 if is_pg_catalog else at
        if word == "(":
            in_from.append(in_from[-1] and before in _BEFORE_ITEM)
        elif word == ")" and len(in_from) > 1:
            in_from.pop()
        elif word in ("from", "using"):
            opener = read.word(read.inside[at] - 1) if read.inside[at] > 0 else ""
            in_from[-1] = before != "distinct" and opener not in _FROM_INSIDE
        elif word in _BEHIND_FROM and before != ".":
            in_from[-1] = False


def _behind_value(read: Reading, at: int, closing_of: dict[int, int]) -> int | None:
    """The index behind the value that begins there; None when it is something with columns."""
    word = read.word(at)
    if read.word(at + 1) != "(":
        return at + 1 if word in VALUE_WORDS else None
    name = read.tokens[at].name if read.is_name(at) else ""
    closing = closing_of.get(at + 1)
    if closing is None:
        return None
    if name == "unnest":  # of an array that is written out
        first = at + 2
        is_listed = read.word(first) == "array" and read.word(first + 1) == "["
        is_text = read.word(first) == "string_to_array" or read.tokens[first].kind is TokenKind.STRING
        is_value = is_listed or is_text
    else:
        is_value = name in _GIVE_VALUES
    return closing + 1 if is_value else None
