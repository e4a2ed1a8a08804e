"""Tokens: what a lexer says the database will see. Shared by every dialect's lexer and by the guard.

Pure values. A lexer is total: it never raises, and its tokens' texts joined are the input again; what the
database would not accept is a token of kind ILLEGAL that says why.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct


class TokenKind(StrEnum):
    SPACE = "space"
    COMMENT = "comment"
    WORD = "word"  # bare keyword or identifier: which of the two, only a grammar can say
    QUOTED = "quoted"  # identifier in quotes of any style
    STRING = "string"
    BLOB = "blob"
    NUMBER = "number"
    VARIABLE = "variable"  # a placeholder that a driver would bind: ?, :name
    SESSION = "session"  # a variable of the session or the server: @x, @@version
    OPERATOR = "operator"
    ILLEGAL = "illegal"


class Token(Struct, frozen=True, gc=False):
    """A Struct: a frozen dataclass takes ten times as long to make, and a statement has dozens of tokens."""

    kind: TokenKind
    text: str
    start: int
    name: str = ""  # of WORD, QUOTED and STRING: unquoted, ASCII-lowered, for comparison
    fault: str = ""  # of ILLEGAL: why
    # Of a bare word its upper-case text, else the empty string: a quoted "SELECT" is no keyword. Nor is
    # `ſelect`, though Python makes SELECT of it: keywords are ASCII on every engine.
    word: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def spelled(self) -> str:
        """The name without its quotes, in the writer's own case."""
        if self.kind not in (TokenKind.QUOTED, TokenKind.STRING):
            return self.text
        closing = self.text[-1]
        inner = self.text[1:-1]
        return inner if closing == "]" else inner.replace(closing * 2, closing)

    def is_operator(self, text: str) -> bool:
        return self.kind is TokenKind.OPERATOR and self.text == text


def word_token(text: str, start: int) -> Token:
    return Token(TokenKind.WORD, text, start, name=fold(text), word=text.upper() if text.isascii() else "")


def lex_by(next_token: Callable[[str, int], Token], text: str) -> tuple[Token, ...]:
    """The whole text in tokens, by a lexer's rule for the one that begins at a place."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        token = next_token(text, at)
        tokens.append(token)
        at = token.end
    return tuple(tokens)


# Not SPACE and not COMMENT: what a grammar reads.
def significant(tokens: Sequence[Token]) -> tuple[Token, ...]:
    return tuple(token for token in tokens if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT))


def word_set(text: str) -> frozenset[str]:
    """A reviewed list of names, written as prose for the reviewer's sake."""
    return frozenset(text.split())


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def fold(name: str) -> str:
    """Lower ASCII letters only: SQLite compares names so, and `str.lower` would fold K (Kelvin) into k."""
    return name.lower() if name.isascii() else name.translate(_ASCII_LOWER)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Both from 1, as people and editors count."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
