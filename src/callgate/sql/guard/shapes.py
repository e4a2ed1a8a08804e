"""Shapes: what two texts have in common that differ in nothing but values. Pure.

Agents write the same few statements again and again, each time with another number or text in it. Which one
it is changes no verdict in these places:

    behind a comparison     a = 5    a >= '2024-01-01'    a <> -1
    behind a word           LIKE 'x%'    BETWEEN 1 AND 9    LIMIT 10    THEN 'new'    SELECT 1
    in a list of values     IN (1, 2, 3)    VALUES (1, 'a'), (2, 'b')

Everywhere else (an argument of a function, behind FROM, INTERVAL or the name of a type, a text with a prefix,
with an escape or in other quotes) a value is a part of the shape, as every other character is.

`without_values` is what the guard judges: the same tokens, with one value for all in these places. So no rule
can look at what was there, and texts of one shape have one judgement. `shape_of` finds the shape by a regular
expression, at a tenth of what the lexer costs, and `is_shape_of` asks the lexer whether it saw the same.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Token, TokenKind, significant
from callgate.sql.guard.verbs import skip_group

MARK = "\0"  # stands for a number, behind a quote for a text; a text that holds it has no shape

_COMPARISONS = frozenset({"=", "<", ">", "<=", ">=", "<>", "!="})
_SIGNS = ("[=<>]", "(?:<=|>=|<>|!=)")  # the same as patterns, by their length
_WORDS = frozenset(
    {"SELECT", "WHERE", "AND", "OR", "LIKE", "ILIKE", "BETWEEN", "WHEN", "THEN", "ELSE", "LIMIT", "OFFSET"}
)
_LISTS = frozenset({"IN", "VALUES"})  # only behind VALUES there may be several
_IN_LISTS = frozenset({"NULL", "TRUE", "FALSE", "DEFAULT"})
# What may follow a value: another text would be a part of it, a parenthesis would call it.
_BEHIND = _COMPARISONS | {")", ",", ";", "::", "+", "-", "*", "/", "%", "||"}
_VALUES = (TokenKind.STRING, TokenKind.NUMBER)
# A text that holds other tokens has no shape: placeholders, session variables, what is illegal.
_OF_SHAPES = frozenset(
    {
        TokenKind.SPACE,
        TokenKind.COMMENT,
        TokenKind.WORD,
        TokenKind.QUOTED,
        TokenKind.STRING,
        TokenKind.NUMBER,
        TokenKind.OPERATOR,
    }
)

# Printable, without a quote and a backslash: every engine reads it alike, and none can end within it.
_INSIDE = r"[^'\\\x00-\x1f\x7f-\x9f\ud800-\udfff]*+'"
_TEXT = rf"'{_INSIDE}"
_FRACTION = r"(?:\.[0-9]++)?+"
_NUMBER = rf"[0-9]++{_FRACTION}"
_IS_VALUE = re.compile(rf"{_TEXT}|{_NUMBER}")
_END = r"(?=[ \n\t\r),;]|::|\Z)"
# Behind its first sign.
_REST = rf"(?:(?<=')(?:{_INSIDE})|(?<=[0-9])[0-9]*+{_FRACTION}|(?<=-){_NUMBER}){_END}"
_LISTED = rf"(?:(?:{_TEXT}|-?{_NUMBER}){_END}|(?i:NULL|TRUE|FALSE|DEFAULT)\b)"
_FURTHER = rf"(?:[ \n]?,[ \n]?{_LISTED})*+"
_ROWS = rf"(?:\)[ \n]?,[ \n]?\({_LISTED}{_FURTHER})*+"


def shape_of(text: str, quotes: str) -> str | None:
    """The text with a mark for each value that may be any. None: the text has such a mark in it already.

    `quotes`: what opens a text or a name; without them no value is looked for.
    """
    if MARK in text:
        return None
    return _pattern(quotes).sub(_marked, text) if quotes else text


def _marked(match: re.Match[str]) -> str:
    found = match[0]
    if match.lastgroup == "kept":
        return found
    if match.lastgroup == "list":
        return _IS_VALUE.sub(_mark, found)
    return "'\0" if found[0] == "'" else "-\0" if found[0] == "-" else MARK


def _mark(match: re.Match[str]) -> str:
    return "'\0" if match[0][0] == "'" else MARK


def is_shape_of(text: str, tokens: tuple[Token, ...], quotes: str, valued: frozenset[str]) -> bool:
    """Whether what is marked in the shape are values to the engine's lexer, in places where any may stand.

    Then it is so for each text of this shape: they differ within the marks alone, where nothing can end a
    value, and what stands around them is the same. `tokens`: all of the text, blanks and comments included.
    `valued`: the names in whose statements values decide, so that these have no shape.
    """
    if any(token.kind not in _OF_SHAPES for token in tokens):
        return False
    read = significant(tokens)
    places = {(read[at].start, read[at].end) for at in _value_places(read, valued)}
    return places.issuperset(_marked_spans(text, quotes))


def _marked_spans(text: str, quotes: str) -> Iterator[tuple[int, int]]:
    for match in _pattern(quotes).finditer(text):
        if match.lastgroup != "kept":
            yield from (found.span() for found in _IS_VALUE.finditer(text, *match.span()))


def without_values(tokens: Tokens, valued: frozenset[str]) -> Tokens:
    """One value for all, wherever any may stand. `tokens`: the significant ones of a read or a write."""
    places = _value_places(tokens, valued)
    if not places:
        return tokens
    shown = list(tokens)
    for at in places:
        token = tokens[at]
        if token.kind is TokenKind.STRING:
            shown[at] = Token(TokenKind.STRING, "'x'", token.start, name="x")
        else:
            shown[at] = Token(TokenKind.NUMBER, "1", token.start)
    return tuple(shown)


def _value_places(tokens: Tokens, valued: frozenset[str]) -> list[int]:
    """Where any value may stand. Told by kinds and by what stands around it, never by the value."""
    places: list[int] = []
    if valued and any(token.name in valued for token in tokens):
        return places
    for at, token in enumerate(tokens):
        if token.kind in _VALUES:
            if _may_be_any(tokens, at):
                places.append(at)
        elif token.kind is TokenKind.WORD and token.word in _LISTS and not _is_behind_dot(tokens, at):
            places += _listed(tokens, at + 1, has_rows=token.word == "VALUES")
    return places


def _may_be_any(tokens: Tokens, at: int) -> bool:
    token = tokens[at]
    if not _is_plain(token) or not _may_follow(tokens, at + 1):
        return False
    before = at - 1
    if before >= 0 and token.kind is TokenKind.NUMBER and tokens[before].is_operator("-"):
        before -= 1
    if before < 0:
        return False
    if tokens[before].kind is TokenKind.OPERATOR:
        return tokens[before].text in _COMPARISONS
    return tokens[before].word in _WORDS and not _is_behind_dot(tokens, before)


def _listed(tokens: Tokens, at: int, *, has_rows: bool) -> list[int]:
    """The values of `(1, 2, 3)`, as far as nothing else is in there."""
    places: list[int] = []
    while (end := skip_group(tokens, at)) > at and tokens[end - 1].is_operator(")"):
        inside = range(at + 1, end - 1)
        if not all(_is_of_list(tokens, place) for place in inside):
            break
        places += [place for place in inside if tokens[place].kind in _VALUES]
        if not has_rows or end >= len(tokens) or not tokens[end].is_operator(","):
            break
        at = end + 1
    return places


def _is_of_list(tokens: Tokens, at: int) -> bool:
    """A value, or a word for one, between two commas or parentheses; a sign may stand before a number."""
    token = tokens[at]
    if token.kind is TokenKind.OPERATOR:
        if token.text == "-":
            return tokens[at + 1].kind is TokenKind.NUMBER and tokens[at - 1].text in ("(", ",")
        return token.text == ","
    if tokens[at + 1].text not in (",", ")") or tokens[at - 1].text not in ("(", ",", "-"):
        return False
    return _is_plain(token) or token.word in _IN_LISTS


def _is_plain(token: Token) -> bool:
    """Written so that every engine reads it alike: not "x", E'x', 'it''s', 1e5 or 0x1F."""
    return token.kind in _VALUES and _IS_VALUE.fullmatch(token.text) is not None


def _may_follow(tokens: Tokens, at: int) -> bool:
    if at >= len(tokens) or tokens[at].kind is TokenKind.WORD:
        return True
    return tokens[at].kind is TokenKind.OPERATOR and tokens[at].text in _BEHIND


def _is_behind_dot(tokens: Tokens, at: int) -> bool:
    return at > 0 and tokens[at - 1].is_operator(".")


@lru_cache(maxsize=8)
def _pattern(quotes: str) -> re.Pattern[str]:
    """It takes the first sign of a value or a quote, then looks back: so the search leaps to such signs."""
    first = "[-'0-9]"
    kept = "|".join(rf"(?<={quote})(?:[^{quote}]|{quote}{quote})*+{quote}" for quote in quotes)
    signs = [rf"(?<=[\w)\]\s'\"`]{sign}{space}{first})" for sign in _SIGNS for space in ("", " ")]
    words = [rf"(?<=(?<![\w.$@])(?i:{word})[ \n]{first})" for word in sorted(_WORDS)]
    lists = {
        word: "|".join(rf"(?<=(?<![\w.$@])(?i:{word}){space}\({first})" for space in ("", " "))
        for word in _LISTS
    }
    listed = rf"(?:(?:{lists['IN']}){_REST}{_FURTHER}|(?:{lists['VALUES']}){_REST}{_FURTHER}{_ROWS})(?=\))"
    # By the sign before it alone most of what looks like a value is told to be none.
    return re.compile(
        rf"[-0-9{quotes}](?:(?P<list>(?<=\({first}){listed})"
        rf"|(?P<value>(?<=[=<> \n]{first})(?:{'|'.join(signs + words)}){_REST})"
        rf"|(?P<kept>{kept}))"
    )
