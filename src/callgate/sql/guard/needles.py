"""What a text is searched for, or stripped of, must be short and written out.

`instr(x, y)`, `trim(x, y)` and `unhex(x, y)` take as long as x times y, look at no interrupt, and hand back
too little for a limit to bite (`engines.sqlite.session_limits`): 20,000 characters to be stripped hold a
worker for 15 seconds, and such calls can be strung together. A text out of the query itself is short. Pure.
"""

from callgate.model.verdict import Deny
from callgate.sql.guard import refusals
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import Kind, Token

# Longer than any word or set of characters that people look for; 3 ms a call on the longest value.
MAX_NEEDLE_CHARS = 200

_LITERALS = (Kind.STRING, Kind.BLOB, Kind.NUMBER)
_OPERATORS = frozenset({"||", "(", ")", ","})
# Give back about as much as they are given: `char(10) || ' '`, `lower('X')`.
_HARMLESS_CALLS = frozenset({"char", "lower", "upper"})


def check_needles(tokens: tuple[Token, ...], policy: Policy) -> Deny | None:
    searching = policy.dialect.vocabulary.needle_functions
    for at, token in enumerate(tokens[:-1]):
        if token.name in searching and tokens[at + 1].is_operator("("):
            needle = _second_argument(tokens, at + 1)
            if not _is_short_constant(needle):
                return refusals.needle(token.name)
    return None


def _second_argument(tokens: tuple[Token, ...], opening: int) -> tuple[Token, ...]:
    """Of the call whose parenthesis opens there; empty when it has one argument only."""
    depth = 0
    begin = None
    for at in range(opening, len(tokens)):
        token = tokens[at]
        if token.is_operator("("):
            depth += 1
        elif token.is_operator(")"):
            depth -= 1
        if depth == 0 or (depth == 1 and token.is_operator(",") and begin is not None):
            return tokens[begin:at] if begin is not None else ()
        if depth == 1 and token.is_operator(","):
            begin = at + 1
    return tokens[begin:] if begin is not None else ()


def _is_short_constant(needle: tuple[Token, ...]) -> bool:
    if sum(len(token.text) for token in needle) > MAX_NEEDLE_CHARS:
        return False
    return all(
        token.kind in _LITERALS
        or (token.kind is Kind.OPERATOR and token.text in _OPERATORS)
        or (token.kind is Kind.WORD and token.name in _HARMLESS_CALLS)
        for token in needle
    )
