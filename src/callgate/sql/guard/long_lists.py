"""Long lists of written-out values, shortened before the parser sees them. For analysis only. Pure.

`id IN (1, 2, … 900)` and `VALUES (1, 'a'), (2, 'b'), …` are the honest statements with thousands of tokens,
and the parser takes 20 µs for each. Which values they are changes no verdict: one of them stands for all.
"""

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Kind, Token
from callgate.sql.guard.verbs import skip_group

_VALUES = (Kind.STRING, Kind.NUMBER, Kind.BLOB)
_WORDS = frozenset({"NULL", "DEFAULT", "TRUE", "FALSE"})
_SIGNS = frozenset({",", "-", "+"})


def without_long_lists(tokens: Tokens) -> Tokens:
    left_out: set[int] = set()
    for at, token in enumerate(tokens):
        if at in left_out or token.kind is not Kind.WORD or not _opens(tokens, at + 1):
            continue
        if token.word == "IN":
            end = skip_group(tokens, at + 1) - 1
            if end > at + 3 and _is_written_out(tokens[at + 2 : end]) and tokens[at + 2].kind in _VALUES:
                left_out.update(range(at + 3, end))
        elif token.word == "VALUES":
            left_out.update(_further_rows(tokens, at + 1))
    return tuple(token for at, token in enumerate(tokens) if at not in left_out) if left_out else tokens


def _further_rows(tokens: Tokens, at: int) -> range:
    """The rows behind the first one, as long as they hold values only."""
    first = end = skip_group(tokens, at)
    while end + 1 < len(tokens) and tokens[end].is_operator(",") and _opens(tokens, end + 1):
        behind = skip_group(tokens, end + 1)
        if not _is_written_out(tokens[end + 2 : behind - 1]):
            break
        end = behind
    return range(first, end)


def _opens(tokens: Tokens, at: int) -> bool:
    return at < len(tokens) and tokens[at].is_operator("(")


def _is_written_out(tokens: tuple[Token, ...]) -> bool:
    return all(
        token.kind in _VALUES
        or token.word in _WORDS
        or (token.kind is Kind.OPERATOR and token.text in _SIGNS)
        for token in tokens
    )
