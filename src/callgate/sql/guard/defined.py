"""What a CREATE or ALTER is about: the table it names, and the query inside it. Pure.

The dialect judges the definition itself; the query in `CREATE VIEW v AS SELECT …` is judged like any other.
"""

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Kind
from callgate.sql.guard.verbs import skip_group

_NAMES = (Kind.WORD, Kind.QUOTED, Kind.STRING)
_BEGINNINGS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "FROM"})
# Behind the query, and no part of it.
_TAILS = (
    ("WITH", "CHECK", "OPTION"),
    ("WITH", "CASCADED", "CHECK", "OPTION"),
    ("WITH", "LOCAL", "CHECK", "OPTION"),
    ("WITH", "DATA"),
    ("WITH", "NO", "DATA"),
)


def defined_table(tokens: Tokens) -> str | None:
    """The table or view that is made, changed or indexed, as written."""
    is_index = any(token.word == "INDEX" for token in tokens[1:3])
    words = ("ON",) if is_index else ("TABLE", "VIEW")
    at = next((at for at, token in enumerate(tokens) if token.word in words), len(tokens)) + 1
    while at < len(tokens) and tokens[at].word in ("IF", "NOT", "EXISTS", "ONLY"):
        at += 1
    parts: list[str] = []
    while at < len(tokens) and tokens[at].kind in _NAMES:
        parts.append(tokens[at].spelled)
        if at + 1 >= len(tokens) or not tokens[at + 1].is_operator("."):
            break
        at += 2
    return ".".join(parts) or None


def inner_query(tokens: Tokens) -> Tokens:
    """The query that fills a table or makes up a view; empty when there is none."""
    at = 0
    while at < len(tokens):
        begins = at + 1
        while tokens[at].word == "AS" and begins < len(tokens) and tokens[begins].is_operator("("):
            begins += 1
        if tokens[at].word == "AS" and begins < len(tokens) and tokens[begins].word in _BEGINNINGS:
            return _without_tail(tokens[at + 1 :])
        if tokens[at].word == "SELECT":  # MySQL needs no AS before it
            return _without_tail(tokens[at:])
        at = max(at + 1, skip_group(tokens, at))
    return ()


def _without_tail(tokens: Tokens) -> Tokens:
    for tail in _TAILS:
        if tuple(token.word for token in tokens[-len(tail) :]) == tail:
            return tokens[: -len(tail)]
    return tokens
