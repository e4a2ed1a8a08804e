"""Attribute notation: `(x).f` and `x.f` call the function f(x) when x has no column f. Pure.

Which it is, only the schema knows. Known here are the functions that must not be called
(`refused_functions`), and what cannot have columns: there, f must be one of the allowed functions. In
`FROM unnest(ARRAY['x']) t` t is a text, and t.f calls f('x'). What looks like a column of a table and is none
(`orders.tax`) is found by the driver, which knows the database's functions (`own_functions`).
"""

from collections.abc import Iterator

from callgate.sql.engines.postgres.dialect.from_values import GIVE_ROWS, names_of_values
from callgate.sql.engines.postgres.dialect.functions import SEQUENCES
from callgate.sql.engines.postgres.dialect.keywords import RESERVED
from callgate.sql.engines.postgres.dialect.reading import NAMES, Reading, word_at
from callgate.sql.engines.postgres.dialect.refused_functions import REFUSED
from callgate.sql.guard.dialect import Fault, Tokens
from callgate.sql.guard.tokens import TokenKind

_QUERIES = frozenset({"select", "with", "values", "table"})
_ELEMENTS = (TokenKind.STRING, TokenKind.NUMBER)


def check_attributes(read: Reading, functions: frozenset[str]) -> Fault | None:
    """`functions`: what may be called."""
    values = names_of_values(read)
    for at in attribute_dots(read.tokens):
        name = read.tokens[at + 1].name
        if name in REFUSED or name in SEQUENCES or name == "current_setting":
            return Fault(
                "attribute",
                f".{name} calls the function {name}() when there is no such column.",
                "Leave it out.",
                is_forbidden=True,
            )
        if name in functions:
            continue
        if read.word(at - 1) == ")" and not _has_columns(read, at - 1, values):
            return _not_a_row("(…)", name)
        if read.word(at - 1) == "]" and _is_of_values(read, at - 1):
            return _not_a_row("[…]", name)
        if not read.is_name(at - 1):
            continue
        row = read.tokens[at - 1].name
        if read.word(at - 2) != ".":
            if row in values and name not in values[row]:
                return _not_a_row(row, name)
        elif row in functions and row not in GIVE_ROWS:  # (x).lower.f: what lower() gives has no columns
            return _not_a_row(row, name)
    return None


def attribute_dots(tokens: Tokens) -> Iterator[int]:
    """The dots before an attribute. Of a dotted name (`shop.orders.total`) that is its last part alone; what
    hangs on a group (`(x).a.b`, `(x)[1].a`) is an attribute in every part, and each may be a call."""
    of_groups: set[int] = set()
    for at in range(1, len(tokens) - 1):
        if not tokens[at].is_operator(".") or tokens[at + 1].kind not in NAMES:
            continue
        if at - 2 in of_groups or word_at(tokens, at - 1) in (")", "]"):
            of_groups.add(at)
        # With a parenthesis behind it, it is a plain call.
        if word_at(tokens, at + 2) != "(" and (at in of_groups or word_at(tokens, at + 2) != "."):
            yield at


def _not_a_row(row: str, name: str) -> Fault:
    return Fault(
        "attribute",
        f"{row[:60]}.{name[:60]} asks for a column of something that has no columns, so it calls a function.",
        "Call built-in functions as f(x).",
    )


def _has_columns(read: Reading, closing: int, values: dict[str, set[str]]) -> bool:
    """Whether the group that closes there can be a row: a name, an array's element, a query, some calls."""
    while True:
        opening = read.opening_of.get(closing, -1)
        if opening < 0:
            return False
        if read.word(opening - 1) in ("over", "filter"):
            closing = opening - 2
            continue
        if read.is_name(opening - 1) and read.word(opening - 1) not in RESERVED:
            return read.word(opening - 1) in GIVE_ROWS
        if read.word(opening + 1) in _QUERIES:
            return _selects_row(read, opening + 1)
        if read.word(closing - 1) == "]":
            return not _is_of_values(read, closing - 1)
        if read.word(closing - 1) != ")":
            is_value = read.is_name(opening + 1) and read.tokens[opening + 1].name in values
            return not is_value and _is_dotted_name(read, opening + 1, closing)
        closing -= 1


def _is_of_values(read: Reading, closing: int) -> bool:
    """`(ARRAY['x', 'y'])[1]`: an element of an array that is written out."""
    group = read.opening_of.get(read.opening_of.get(closing, 0) - 1, -1)
    is_array = read.word(group + 1) == "array" and read.word(group + 2) == "["
    return group >= 0 and is_array and read.tokens[group + 3].kind in _ELEMENTS


def _selects_row(read: Reading, at: int) -> bool:
    """`(SELECT c FROM customers c)` may be a row, `(SELECT 'x')` and `(SELECT lower(a))` are values."""
    if read.word(at) != "select":
        return read.word(at) == "with"
    first = read.word(at + 1)
    if first in GIVE_ROWS:
        return True
    is_name = read.is_name(at + 1) and first not in RESERVED
    return is_name and read.word(at + 2) in ("from", ".", ")", "[")


def _is_dotted_name(read: Reading, begin: int, end: int) -> bool:
    """`shop.customers.address`: names and dots in turn, and no `current_date`."""
    return (
        begin < end
        and all(
            read.is_name(at) if (at - begin) % 2 == 0 else read.word(at) == "." for at in range(begin, end)
        )
        and read.word(begin) not in RESERVED
    )
