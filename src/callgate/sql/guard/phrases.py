"""Phrases: small strict grammars written as the manuals write them, matched against a statement's tokens.

    SHOW [FULL] TABLES [FROM|IN name] [LIKE string | WHERE expr]

UPPER-CASE is a bare keyword, `[…]` may be left out, `{a | b}` is a choice, signs stand for themselves. Slots:
`name` one identifier, `table` up to three joined by dots (kept), `string`, `number`, `value` (a name, string
or number), `expr` and `statement` (all the rest, kept for the guard to judge; only at the end).
Pure. A phrase matches a whole statement or not at all.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from callgate.sql.guard.dialect import Fault, Step, Tokens
from callgate.sql.guard.tokens import TokenKind, word_token

_PIECE = re.compile(r"[A-Z_]+|[a-z]+|\S")
_NAME = (TokenKind.WORD, TokenKind.QUOTED)


@dataclass(frozen=True, slots=True)
class Found:
    """What stood in a phrase's slots."""

    tables: tuple[str, ...] = ()  # without quotes, as written
    expression: Tokens = ()
    statement: Tokens = ()


@dataclass(frozen=True, slots=True)
class _Node:
    kind: str  # "word", "sign", "slot", "all" of parts in a row, "any" of them, "maybe" all of them
    text: str = ""
    parts: tuple["_Node", ...] = ()


def match_phrase(patterns: Iterable[str], tokens: Tokens) -> Found | None:
    """The first pattern that the whole statement fits."""
    for pattern in patterns:
        for at, found in _match(_compiled(pattern), tokens, 0, Found()):
            if at == len(tokens):
                return found
    return None


@dataclass(frozen=True, slots=True)
class TransactionPhrases:
    """How an engine spells the statements of a transaction."""

    begin: tuple[str, ...]
    end: tuple[str, ...]
    inside: tuple[str, ...] = ()

    def step(self, tokens: Tokens) -> Step | None:
        if match_phrase(self.begin, tokens):
            return Step.BEGIN
        if match_phrase(self.inside, tokens):
            return Step.INSIDE
        return Step.END if match_phrase(self.end, tokens) else None


def as_expression(expression: Tokens) -> Tokens:
    """Any expression, made a statement that the guard can judge: `SELECT <expression>`."""
    start = expression[0].start
    return (word_token("SELECT", start), *expression)


@cache
def _compiled(pattern: str) -> _Node:
    pieces = _PIECE.findall(pattern)
    node, at = _read(pieces, 0, "")
    assert at == len(pieces), pattern
    return node


def _read(pieces: list[str], at: int, closing: str) -> tuple[_Node, int]:
    choices: list[_Node] = []
    row: list[_Node] = []
    while at < len(pieces) and pieces[at] != closing:
        piece = pieces[at]
        at += 1
        if piece in "[{":
            inner, at = _read(pieces, at, "]" if piece == "[" else "}")
            row.append(_Node("maybe", parts=(inner,)) if piece == "[" else inner)
            at += 1
        elif piece == "|":
            choices.append(_Node("all", parts=tuple(row)))
            row = []
        else:
            kind = "word" if piece[0].isupper() else "slot" if piece[0].islower() else "sign"
            row.append(_Node(kind, piece))
    choices.append(_Node("all", parts=tuple(row)))
    return (choices[0] if len(choices) == 1 else _Node("any", parts=tuple(choices))), at


def _match(node: _Node, tokens: Tokens, at: int, found: Found) -> Iterator[tuple[int, Found]]:
    match node.kind:
        case "all":
            yield from _match_row(node.parts, tokens, at, found)
        case "any":
            for part in node.parts:
                yield from _match(part, tokens, at, found)
        case "maybe":
            yield from _match(node.parts[0], tokens, at, found)
            yield at, found
        case "slot":
            yield from _match_slot(node.text, tokens, at, found)
        case _:
            if at < len(tokens) and node.text == (tokens[at].word or tokens[at].text):
                yield at + 1, found


def _match_row(
    parts: tuple[_Node, ...], tokens: Tokens, at: int, found: Found
) -> Iterator[tuple[int, Found]]:
    if not parts:
        yield at, found
        return
    for behind, more in _match(parts[0], tokens, at, found):
        yield from _match_row(parts[1:], tokens, behind, more)


def _match_slot(slot: str, tokens: Tokens, at: int, found: Found) -> Iterator[tuple[int, Found]]:
    if at >= len(tokens):
        return
    token = tokens[at]
    match slot:
        case "expr":
            yield len(tokens), replace(found, expression=tokens[at:])
        case "statement":
            yield len(tokens), replace(found, statement=tokens[at:])
        case "table":
            yield from _match_table(tokens, at, found)
        case "name" if token.kind in _NAME:
            yield at + 1, found
        case "string" if token.kind is TokenKind.STRING:
            yield at + 1, found
        case "number" if token.kind is TokenKind.NUMBER:
            yield at + 1, found
        case "value" if token.kind in (*_NAME, TokenKind.STRING, TokenKind.NUMBER):
            yield at + 1, found
        case _:
            return


def _match_table(tokens: Tokens, at: int, found: Found) -> Iterator[tuple[int, Found]]:
    """The longest reading first; a shorter one cannot help, as no phrase goes on with a dot."""
    parts: list[str] = []
    while at < len(tokens) and tokens[at].kind in _NAME:
        parts.append(tokens[at].spelled)
        at += 1
        if len(parts) == 3 or at + 1 >= len(tokens) or not tokens[at].is_operator("."):
            break
        at += 1
    if parts:
        yield at, replace(found, tables=(*found.tables, ".".join(parts)))


@dataclass(frozen=True, slots=True)
class Definable:
    """What an engine lets be defined with allow_ddl, told by the kind of thing behind the verb."""

    created: frozenset[str]
    altered: frozenset[str]
    allowed: str  # in words, for the refusal
    own_tool: str  # where destructive operations are to be done instead

    def check(self, tokens: Tokens) -> Fault | None:
        verb = tokens[0].word
        kinds = [token.word for token in tokens[1:4] if token.word != "UNIQUE"]
        kind = kinds[0] if kinds else ""
        if kind not in self.created or (verb == "ALTER" and kind not in self.altered):
            return Fault(
                "ddl_kind",
                f"{verb} {kind}".strip() + " is never allowed, not even with allow_ddl.",
                f"{self.allowed} are.",
                is_forbidden=True,
            )
        if verb == "ALTER" and any(token.word == "DROP" for token in tokens):
            return Fault(
                "never",
                "DROP operations are dangerous and blocked even in WRITE mode.",
                f"Use {self.own_tool} for destructive operations.",
                is_forbidden=True,
            )
        return None
