"""A statement's tokens with what its checks ask again and again: words, and the groups around them. Pure.

Made once, in one pass: a hostile text must not be able to make a check walk back over it for every token.
"""

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import TokenKind

NAMES = (TokenKind.WORD, TokenKind.QUOTED)


def word_at(tokens: Tokens, at: int) -> str:
    """A bare word as PostgreSQL folds it, a sign as it is, the empty string for anything else."""
    if not 0 <= at < len(tokens):
        return ""
    token = tokens[at]
    if token.kind is TokenKind.WORD:
        return token.name
    return token.text if token.kind is TokenKind.OPERATOR else ""


class Reading:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._words = [word_at(tokens, at) for at in range(len(tokens))]
        self.vocabulary = frozenset(self._words)
        self.opening_of: dict[int, int] = {}  # the index of a closing sign -> that of its opening one
        self.inside: list[int] = []  # the opening sign of the group that a token stands in, or -1
        open_groups = [-1]
        for at, word in enumerate(self._words):
            if word in (")", "]") and len(open_groups) > 1:
                self.opening_of[at] = open_groups.pop()
            self.inside.append(open_groups[-1])
            if word in ("(", "["):
                open_groups.append(at)

    def __len__(self) -> int:
        return len(self._words)

    def word(self, at: int) -> str:
        return self._words[at] if 0 <= at < len(self._words) else ""

    def is_name(self, at: int) -> bool:
        return 0 <= at < len(self._words) and self.tokens[at].kind in NAMES
