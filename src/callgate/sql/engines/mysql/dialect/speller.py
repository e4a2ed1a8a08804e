"""Goes through a statement's tokens and spells them for the parser, by rules (`spelling`). Pure."""

import re
from collections.abc import Callable, Mapping

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Token, TokenKind
from callgate.sql.guard.verbs import skip_group

NAMES = (TokenKind.WORD, TokenKind.QUOTED)
SET_OPERATIONS = frozenset({"UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT"})

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.:%$+-]*")


class Speller:
    """Goes through the tokens once; `left_out` and `instead` are filled in ahead of it by the rules."""

    def __init__(self, tokens: Tokens, verb: Token, rules: "Mapping[str, Rule]") -> None:
        self.tokens = tokens
        self.verb = verb
        self.rules = rules
        self.left_out: set[int] = set()
        self.instead: dict[int, str] = {}
        self.sets_columns = False  # INSERT … SET: spelled as an UPDATE
        self.is_duplicate_clause = False  # VALUES(x) is a function there

    def spell(self) -> str:
        pieces: list[str] = []
        for at in range(len(self.tokens)):
            if at in self.left_out:
                continue
            token = self.tokens[at]
            rule = self.rules.get(self.word(at) if token.kind is TokenKind.WORD else token.text)
            if rule is not None and at not in self.instead:
                rule(self, at)
            if at in self.left_out:
                continue
            pieces.append(self.instead.get(at) or self.plain(at))
        return " ".join(pieces)

    def word(self, at: int) -> str:
        """The keyword there; behind a dot no word is one."""
        if not 0 <= at < len(self.tokens) or (at and self.tokens[at - 1].is_operator(".")):
            return ""
        return self.tokens[at].word

    def is_sign(self, at: int, sign: str) -> bool:
        return 0 <= at < len(self.tokens) and self.tokens[at].is_operator(sign)

    def drop(self, start: int, end: int) -> None:
        self.left_out.update(range(start, end))

    def plain(self, at: int) -> str:
        """One token: names in backticks where they need them, values as some value of their kind."""
        token = self.tokens[at]
        match token.kind:
            case TokenKind.STRING:
                inner = token.text[token.text.index(token.text[-1]) + 1 : -1]
                return f"'{inner}'" if _PLAIN_TEXT.fullmatch(inner) else "'…'"
            case TokenKind.QUOTED:
                return "`" + token.spelled.replace("`", "``") + "`"
            case TokenKind.WORD:
                is_name = at > 0 and self.tokens[at - 1].is_operator(".")
                is_plain = not is_name and _PLAIN_NAME.fullmatch(token.text)
                return token.text if is_plain else f"`{token.text}`"
            case TokenKind.BLOB:
                return "'…'"
            case TokenKind.SESSION:
                return "1"
            case _:
                return token.text

    def skip_name(self, at: int) -> int:
        """The index behind a name with up to two dots."""
        while at < len(self.tokens) and self.tokens[at].kind in NAMES:
            if not self.is_sign(at + 1, "."):
                return at + 1
            at += 2
        return at

    def begins_query(self, at: int) -> bool:
        if self.is_duplicate_clause:
            return False
        before = self.word(at - 1)
        return self.tokens[at] is self.verb or self.is_sign(at - 1, "(") or before in SET_OPERATIONS

    def at_depth(self, start: int, end: int) -> list[int]:
        """The indexes from `start` to `end` that stand in no inner parentheses."""
        found: list[int] = []
        at = start
        while at < end:
            found.append(at)
            at = max(at + 1, skip_group(self.tokens, at))
        return found


Rule = Callable[[Speller, int], None]
