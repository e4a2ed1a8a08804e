"""What a statement does, read from the dialect's own tokens: its verb, past any WITH clause.

The parser is not asked: it takes `reindex` for a column and `REPLACE INTO` for an unknown command. Pure.
"""

from callgate.sql.guard.dialect import Grammar, Tokens, VerbClass
from callgate.sql.guard.tokens import Token, TokenKind

_NAMES = (TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING)


def class_of(verb: str, grammar: Grammar) -> VerbClass:
    return VerbClass.FORM if verb in grammar.forms else grammar.verbs.get(verb, VerbClass.UNKNOWN)


def find_verb(tokens: Tokens) -> Token | None:
    """The token that says what happens; None when a WITH clause is not well-formed.

    `WITH a AS (…) DELETE …` is a DELETE, `((SELECT 1))` a SELECT.
    """
    at = 0
    while at < len(tokens) and tokens[at].is_operator("("):
        at += 1
    if at < len(tokens) and tokens[at].word == "WITH":
        behind = _after_with(tokens, at)
        return find_verb(tokens[behind:]) if behind is not None else None
    return tokens[at] if at < len(tokens) else None


def _after_with(tokens: Tokens, at: int) -> int | None:
    at += 1
    if at < len(tokens) and tokens[at].word == "RECURSIVE":
        at += 1
    while at + 2 < len(tokens):
        if tokens[at].kind not in _NAMES:
            return None
        at = skip_key(tokens, skip_group(tokens, at + 1))
        if at >= len(tokens) or tokens[at].word != "AS":
            return None
        at += 1
        if at < len(tokens) and tokens[at].word == "NOT":
            at += 1
        if at < len(tokens) and tokens[at].word == "MATERIALIZED":
            at += 1
        behind = skip_group(tokens, at)
        if behind == at:
            return None
        at = skip_recursion(tokens, _skip_cycle(tokens, behind))
        if at >= len(tokens) or not tokens[at].is_operator(","):
            return at
        at += 1
    return None


def skip_key(tokens: Tokens, at: int) -> int:
    """DuckDB's `USING KEY (a)` before the AS of a recursive CTE; `at` itself when there is none."""
    is_key = [token.word for token in tokens[at : at + 2]] == ["USING", "KEY"]
    return skip_group(tokens, at + 2) if is_key else at


def _skip_cycle(tokens: Tokens, at: int) -> int:
    """MariaDB's `CYCLE a, b RESTRICT` behind a CTE; `at` itself when there is none."""
    if at >= len(tokens) or tokens[at].word != "CYCLE":
        return at
    end = at + 1
    while end < len(tokens) and tokens[end].word != "RESTRICT":
        if tokens[end].kind not in _NAMES and not tokens[end].is_operator(","):
            return at
        end += 1
    return end + 1


def skip_recursion(tokens: Tokens, at: int) -> int:
    """PostgreSQL's `SEARCH DEPTH FIRST BY a SET b` and `CYCLE a SET b USING c` behind a CTE."""
    for first, last in (("SEARCH", "SET"), ("CYCLE", "USING")):
        if at < len(tokens) and tokens[at].word == first:
            end = at + 1
            while end < len(tokens) and tokens[end].word != last:
                if tokens[end].kind is TokenKind.OPERATOR and not tokens[end].is_operator(","):
                    return at
                end += 1
            if end + 1 >= len(tokens) or tokens[end + 1].kind not in _NAMES:
                return at
            at = end + 2
    return at


def skip_group(tokens: Tokens, at: int) -> int:
    """The index behind the parenthesised group that opens at `at`; `at` itself when none opens there."""
    if at >= len(tokens) or not tokens[at].is_operator("("):
        return at
    depth = 0
    for index in range(at, len(tokens)):
        if tokens[index].is_operator("("):
            depth += 1
        elif tokens[index].is_operator(")"):
            depth -= 1
            if depth == 0:
                return index + 1
    return len(tokens)
