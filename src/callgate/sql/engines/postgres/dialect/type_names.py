"""Where the name of a type ends, and whether the type is one we know. Pure.

A cast to a type that is not PostgreSQL's own may run code: the function of a CAST, the CHECK of a domain.
"""

import re
from dataclasses import dataclass

from callgate.sql.engines.postgres.dialect.functions import EXTENSION_TYPES, SPELLINGS, TYPES
from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import TokenKind

_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
_KNOWN = TYPES | EXTENSION_TYPES
_PLAIN_TYPE = re.compile(r"[a-z0-9_]+(\([0-9 ,]*\))?")
_FIELDS = frozenset({"year", "month", "day", "hour", "minute", "second"})
_SIZES = (TokenKind.NUMBER, TokenKind.WORD, TokenKind.STRING)


@dataclass(frozen=True, slots=True)
class TypeName:
    end: int  # the index behind its last token
    name: str  # as written, without quotes
    is_known: bool
    is_array: bool = False


def read_type(tokens: Tokens, at: int) -> TypeName | None:
    """The type that begins at `at`; None when no type can begin there."""
    if at >= len(tokens) or tokens[at].kind not in _NAMES:
        return None
    parts = [tokens[at].name]
    end = at + 1
    while end + 1 < len(tokens) and tokens[end].is_operator(".") and tokens[end + 1].kind in _NAMES:
        parts.append(tokens[end + 1].name)
        end += 2
    schema = parts[0] if len(parts) == 2 else ""
    is_own = len(parts) == 1 or schema == "pg_catalog"
    is_bare = len(parts) == 1 and tokens[at].kind is TokenKind.WORD
    # The lexer folds bare words only: "DATE" in quotes is somebody's own type.
    is_known = is_own and parts[-1] in (_KNOWN if is_bare else _KNOWN - SPELLINGS)
    # Extensions are mostly kept in one of these.
    is_known = is_known or (schema in ("public", "extensions") and parts[-1] in EXTENSION_TYPES)
    if is_bare:
        end = _further_words(tokens, end, parts[0])
    end = _behind_size(tokens, end)
    end = _behind_zone(tokens, end, parts[-1])
    behind_bounds = _behind_bounds(tokens, end)
    return TypeName(behind_bounds, _written(parts), is_known, is_array=behind_bounds > end)


def _written(parts: list[str]) -> str:
    """A dot in a name must not make two names of it: "shop.status" in quotes is one."""
    return ".".join(f'"{part}"' if "." in part else part for part in parts)


def names_known_type(name: str) -> bool:
    """For the name of a type in a text: `integer`, `numeric(10, 2)`; few spellings are understood."""
    return _PLAIN_TYPE.fullmatch(name) is not None and name.partition("(")[0].strip() in _KNOWN


def _name_at(tokens: Tokens, at: int) -> str:
    return tokens[at].name if at < len(tokens) and tokens[at].kind is TokenKind.WORD else ""


def _further_words(tokens: Tokens, at: int, first: str) -> int:
    """double PRECISION, character VARYING, bit VARYING, national character VARYING, interval DAY."""
    if first == "double" and _name_at(tokens, at) == "precision":
        return at + 1
    if first == "national" and _name_at(tokens, at) in ("character", "char"):
        at += 1
        first = "character"
    if first in ("character", "char", "nchar", "bit") and _name_at(tokens, at) == "varying":
        return at + 1
    if first == "interval":
        return behind_fields(tokens, at)
    return at


def behind_fields(tokens: Tokens, at: int) -> int:
    """The index behind `DAY TO SECOND (3)`; `at` itself when no field stands there."""
    if _name_at(tokens, at) not in _FIELDS:
        return at
    at += 1
    if _name_at(tokens, at) == "to" and _name_at(tokens, at + 1) in _FIELDS:
        at += 2
    return _behind_size(tokens, at)


def _behind_size(tokens: Tokens, at: int) -> int:
    """`(10, 2)`, `(Point, 4326)`: words and numbers only, else it belongs to something else."""
    if at >= len(tokens) or not tokens[at].is_operator("("):
        return at
    for end in range(at + 1, len(tokens)):
        token = tokens[end]
        if token.is_operator(")"):
            return end + 1
        if token.kind not in _SIZES and token.text not in (",", "-"):
            return at
    return at


def _behind_zone(tokens: Tokens, at: int, name: str) -> int:
    if name not in ("time", "timestamp") or _name_at(tokens, at) not in ("with", "without"):
        return at
    zone = _name_at(tokens, at + 1) == "time" and _name_at(tokens, at + 2) == "zone"
    return at + 3 if zone else at


def _behind_bounds(tokens: Tokens, at: int) -> int:
    """`[]`, `[3][3]`, `ARRAY`, `ARRAY[3]`."""
    if _name_at(tokens, at) == "array":
        at += 1
    while at < len(tokens) and tokens[at].is_operator("["):
        inner = at + 1
        if inner < len(tokens) and tokens[inner].kind is TokenKind.NUMBER:
            inner += 1
        if inner >= len(tokens) or not tokens[inner].is_operator("]"):
            return at
        at = inner + 1
    return at
