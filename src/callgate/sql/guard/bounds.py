"""How large a number can get that an expression gives: `least(n, 100) + 5` is at most 105. Pure.

Only few forms are understood: numbers, + - * / and %, least and greatest, rounding, casts, and the length of
something. What is not understood has no bound.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from callgate.sql.guard.counters import COUNTER, MOST_STEPS
from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import TokenKind
from callgate.sql.guard.verbs import skip_group

_NUMBER = re.compile(r"\d+(\.\d*)?(e\d{1,3})?|\.\d+", re.IGNORECASE)
_LARGEST = 2**63
_LENGTHS = frozenset(
    {"length", "char_length", "character_length", "octet_length", "len", "strlen", "cardinality"}
    | {"array_length", "json_array_length"}
)
_LEAST = frozenset({"least", "min"})  # min() of several values: SQLite's word for it
_GREATEST = frozenset({"greatest", "max"})
_ROUNDING = frozenset({"round", "floor", "ceil", "ceiling", "trunc"})
_TYPES = frozenset({"bigint", "double", "float", "int", "int4", "int8", "integer", "numeric", "smallint"})


@dataclass(frozen=True, slots=True)
class Bound:
    """None: no limit is known. `lengths`: how many lengths of values were multiplied to get there.

    `is_there`: it cannot be NULL. least() and greatest() pass over NULL, so that a limit which may be NULL
    limits nothing: least(2000000000, n % 5).
    """

    low: float | None = None
    high: float | None = None
    lengths: int = 0
    is_there: bool = False


UNKNOWN = Bound()
_ZERO = Bound(0, 0, is_there=True)


def bound_of(tokens: Tokens) -> Bound:
    """Of a whole expression."""
    bound, end = _sum(tokens, 0)
    return bound if end == len(tokens) else UNKNOWN


def arguments_of(tokens: Tokens, opening: int) -> list[Tokens]:
    """Of the call whose parenthesis opens there; `f()` has none."""
    end = skip_group(tokens, opening) - 1
    arguments: list[Tokens] = []
    begin = opening + 1
    depth = 0
    for at in range(begin, end):
        sign = tokens[at].text if tokens[at].kind is TokenKind.OPERATOR else ""
        depth += (sign in ("(", "[", "{")) - (sign in (")", "]", "}"))
        if depth == 0 and sign == ",":
            arguments.append(tokens[begin:at])
            begin = at + 1
    return [*arguments, tokens[begin:end]] if end > opening + 1 else []


def _sum(tokens: Tokens, at: int) -> tuple[Bound, int]:
    return _chain(tokens, at, _product, {"+": _plus, "-": _minus})


def _product(tokens: Tokens, at: int) -> tuple[Bound, int]:
    return _chain(tokens, at, _value, {"*": _times, "/": _over, "//": _over, "%": _modulo})


def _chain(
    tokens: Tokens,
    at: int,
    part: Callable[[Tokens, int], tuple[Bound, int]],
    joins: dict[str, Callable[[Bound, Bound], Bound]],
) -> tuple[Bound, int]:
    bound, at = part(tokens, at)
    while at < len(tokens) and tokens[at].kind is TokenKind.OPERATOR and tokens[at].text in joins:
        join = joins[tokens[at].text]
        other, at = part(tokens, at + 1)
        bound = join(bound, other)
    return bound, at


def _value(tokens: Tokens, at: int) -> tuple[Bound, int]:
    if at >= len(tokens):
        return UNKNOWN, at
    token = tokens[at]
    if token.is_operator("-"):
        # Thousands of signs in a row are no reason to go as deep.
        behind = next(
            (one for one in range(at, len(tokens)) if not tokens[one].is_operator("-")), len(tokens)
        )
        bound, end = _value(tokens, behind)
        return (_minus(_ZERO, bound) if (behind - at) % 2 else bound), end
    if token.is_operator("("):
        end = skip_group(tokens, at)
        bound = bound_of(tokens[at + 1 : end - 1])
    elif token.kind is TokenKind.NUMBER:
        bound, end = _number(token.text), at + 1
    elif token.kind is TokenKind.WORD and at + 1 < len(tokens) and tokens[at + 1].is_operator("("):
        end = skip_group(tokens, at + 1)
        bound = _call(tokens, at)
    else:
        bound, end = UNKNOWN, at + 1
    return bound, _behind_cast(tokens, end)


def _number(text: str) -> Bound:
    if text == COUNTER:
        return Bound(0, MOST_STEPS)
    if not _NUMBER.fullmatch(text):
        return UNKNOWN
    number = float(text)
    return Bound(number, number, is_there=True) if number < _LARGEST else UNKNOWN


def _behind_cast(tokens: Tokens, at: int) -> int:
    """`x::int`: to a whole number, whose name is one word."""
    while at + 1 < len(tokens) and tokens[at].is_operator("::") and tokens[at + 1].name in _TYPES:
        at += 2
    return at


def _call(tokens: Tokens, at: int) -> Bound:
    name = tokens[at].name
    if name in _LENGTHS:
        return Bound(0, 1, 1)
    arguments = arguments_of(tokens, at + 1)
    if name == "cast" and len(arguments) == 1:
        inside = arguments[0]
        is_cast = len(inside) > 2 and inside[-2].word == "AS" and inside[-1].name in _TYPES
        return bound_of(inside[:-2]) if is_cast else UNKNOWN
    bounds = [bound_of(argument) for argument in arguments]
    if name in _ROUNDING and len(bounds) in (1, 2):
        return _plus(bounds[0], Bound(-1, 1, is_there=bounds[-1].is_there))
    if len(bounds) < 2:  # min(x) and max(x) are aggregates
        return UNKNOWN
    if name in _LEAST:
        return _least(bounds)
    if name in _GREATEST:
        # Of a text and a number SQLite's max() gives the text, which counts as 0.
        may_be_text = name == "max" and any(bound.low is bound.high is None for bound in bounds)
        most = _negative(_least([_negative(bound) for bound in bounds]))
        return replace(most, low=None) if may_be_text else most
    if name in ("coalesce", "ifnull"):
        lows = [bound.low for bound in bounds if bound.low is not None]
        highs = [bound.high for bound in bounds if bound.high is not None]
        if len(lows) == len(highs) == len(bounds):
            return Bound(min(lows), max(highs), max(bound.lengths for bound in bounds))
    return UNKNOWN


def _least(bounds: list[Bound]) -> Bound:
    """The smallest of those that are there. Where each may be NULL, any of them may be the only one left."""
    lows = [bound.low for bound in bounds if bound.low is not None]
    highs = [bound.high for bound in bounds if bound.high is not None]
    limits = [bound.high for bound in bounds if bound.is_there and bound.high is not None]
    high = min(limits) if limits else max(highs) if len(highs) == len(bounds) else None
    return Bound(
        min(lows) if len(lows) == len(bounds) else None,
        high,
        max(bound.lengths for bound in bounds),
        any(bound.is_there for bound in bounds),
    )


def _plus(one: Bound, other: Bound) -> Bound:
    return Bound(
        _sum_of(one.low, other.low),
        _sum_of(one.high, other.high),
        max(one.lengths, other.lengths),
        one.is_there and other.is_there,
    )


def _minus(one: Bound, other: Bound) -> Bound:
    return _plus(one, _negative(other))


def _negative(bound: Bound) -> Bound:
    low = None if bound.high is None else -bound.high
    high = None if bound.low is None else -bound.low
    return replace(bound, low=low, high=high)


def _sum_of(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _times(one: Bound, other: Bound) -> Bound:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return UNKNOWN
    products = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
    is_there = one.is_there and other.is_there
    return Bound(min(products), max(products), one.lengths + other.lengths, is_there)


def _over(one: Bound, other: Bound) -> Bound:
    """Dividing by one or more makes nothing larger."""
    if other.low is None or other.low < 1:
        return UNKNOWN
    low = None if one.low is None else min(one.low, 0.0)
    high = None if one.high is None else max(one.high, 0.0)
    return Bound(low, high, one.lengths, one.is_there and other.is_there)


def _modulo(one: Bound, other: Bound) -> Bound:
    if other.low is None or other.high is None or other.lengths:
        return UNKNOWN
    most = math.ceil(max(abs(other.low), abs(other.high)))
    return Bound(-most, most)
