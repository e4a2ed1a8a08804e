"""Names before a parenthesis that call nothing: lists of columns, targets of INSERT, sized types. Pure.

FROM generate_series(1, 3) AS g (n)      FROM orders o (id, total)      x::public.vector(3)
"""

from callgate.sql.engines.postgres.dialect.keyword_places import is_in_place, is_prefix_group
from callgate.sql.engines.postgres.dialect.keywords import NO_PLAIN_NAME, RESERVED, RESERVED_OR_FUNCTION
from callgate.sql.engines.postgres.dialect.reading import NAMES, word_at
from callgate.sql.engines.postgres.dialect.refused_functions import REFUSED
from callgate.sql.engines.postgres.dialect.type_names import read_type
from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import TokenKind

_INDEX_METHODS = frozenset({"btree", "hash", "gist", "spgist", "gin", "brin"})
_BEFORE_TABLE = frozenset({"from", "join", "only", "lateral", "using", ","})
_NO_TYPE = RESERVED | RESERVED_OR_FUNCTION
# Unreserved words that an expression may follow where a comma stands before them.
_BEFORE_EXPRESSION = frozenset({"version", "key", "document", "content", "passing", "name"})


def calls_nothing(tokens: Tokens, at: int, verb: str) -> bool:
    """For a name with ( behind it that is no allowed function."""
    # No alias is called pg_sleep: whatever it looks like, it is not let through.
    if tokens[at].kind not in NAMES or tokens[at].name in REFUSED:
        return False
    return (
        is_in_place(tokens, at, verb)
        or _names_columns(tokens, at)
        or _is_insert_target(tokens, at)
        or _is_sized_type(tokens, at)
        or (verb in ("CREATE", "ALTER") and _is_of_definition(tokens, at))
    )


def _names_columns(tokens: Tokens, at: int) -> bool:
    if columns_from(tokens, at + 1) is None:
        return False
    before = word_at(tokens, at - 1)
    if before == "as":
        return True
    if before == "ordinality":
        return word_at(tokens, at - 2) == "with"
    if tokens[at].kind is TokenKind.WORD and tokens[at].name in NO_PLAIN_NAME:
        return False
    return not is_prefix_group(tokens, at - 1) if before == ")" else _is_alias_of_table(tokens, at)


def columns_from(tokens: Tokens, opening: int) -> list[int] | None:
    """Where the types of `(a int, b text)` begin, empty for `(a, b)`; None when it is no list of columns."""
    types: list[int] = []
    at = opening + 1
    while at < len(tokens) and tokens[at].kind in NAMES and word_at(tokens, at) not in RESERVED:
        at += 1
        if at < len(tokens) and tokens[at].kind in NAMES and word_at(tokens, at) not in _NO_TYPE:
            found = read_type(tokens, at)
            if found is None:
                return None
            types.append(at)
            at = found.end
        if word_at(tokens, at) == "collate":
            at += 4 if word_at(tokens, at + 2) == "." else 2
        if word_at(tokens, at) == ")":
            return types
        if word_at(tokens, at) != ",":
            return None
        at += 1
    return None


def _is_alias_of_table(tokens: Tokens, at: int) -> bool:
    """`FROM shop.orders o (…)`: a plain name before it, and before that what only a table follows."""
    table = at - 1
    if table < 1 or tokens[table].kind not in NAMES:
        return False
    if tokens[table].kind is TokenKind.WORD and tokens[table].name in NO_PLAIN_NAME | _BEFORE_EXPRESSION:
        return False
    return word_at(tokens, _behind_what(tokens, table)) in _BEFORE_TABLE


def _is_insert_target(tokens: Tokens, at: int) -> bool:
    """`INSERT INTO shop.orders (id) …`, also inside a WITH."""
    into = _behind_what(tokens, at)
    return word_at(tokens, into) == "into" and word_at(tokens, into - 1) == "insert"


def _is_sized_type(tokens: Tokens, at: int) -> bool:
    """`x::extensions.vector(3)`, `CAST(x AS public.geometry(Point, 4326))`."""
    before = _behind_what(tokens, at)
    found = read_type(tokens, before + 1)
    return word_at(tokens, before) in ("::", "as") and found is not None and found.is_known


def _behind_what(tokens: Tokens, at: int) -> int:
    """The index before the dotted name that ends at `at`."""
    while at >= 2 and word_at(tokens, at - 1) == "." and tokens[at - 2].kind in NAMES:
        at -= 2
    return at - 1


def _is_of_definition(tokens: Tokens, at: int) -> bool:
    """`CREATE INDEX i ON t USING gin (…)`, `PARTITION BY RANGE (…)`, `AS IDENTITY (…)`."""
    word = word_at(tokens, at)
    before = word_at(tokens, at - 1)
    if word in _INDEX_METHODS:
        return before == "using" or (word == "hash" and before == "by")
    if word in ("range", "list"):
        return before == "by"
    return word == "identity" and before == "as"
