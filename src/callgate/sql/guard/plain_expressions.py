"""The expressions of a plain read (`plain_reads`): names, values, calls, conditions. Pure.

Its rules are those of `plain_reads`: this module, too, only ever allows.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from callgate.sql.guard.special_words import SPECIAL_WORDS

# Deeper ones might be more than the parser has a budget for.
_MOST_DEPTH = 8
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ_")
DIGITS = frozenset("0123456789")
_COMPARISONS = frozenset({"=", "<", ">", "<=", ">=", "<>", "!=", "LIKE"})
_SIGNS = frozenset({"+", "-", "*", "/", "%"})
_CONSTANTS = frozenset({"NULL", "TRUE", "FALSE"})
END = ""  # stands behind the last token
# How many arguments they take, at least and at most. `count(*)` is looked for apart.
CALLS = {
    **dict.fromkeys(("COUNT(", "SUM(", "AVG(", "MIN(", "MAX("), (1, 1)),
    **dict.fromkeys(("LOWER(", "UPPER(", "LENGTH(", "ABS("), (1, 1)),
    "ROUND(": (1, 2),
    "COALESCE(": (2, 8),
    "NULLIF(": (2, 2),
    **dict.fromkeys(("LAG(", "LEAD("), (1, 2)),
}
NUMBERING = frozenset({"ROW_NUMBER(", "RANK(", "DENSE_RANK("})  # without arguments
_WINDOWS = frozenset({"COUNT(", "SUM(", "AVG(", "MIN(", "MAX(", "LAG(", "LEAD(", *NUMBERING})
_AGGREGATES = frozenset({"COUNT(", "SUM(", "AVG("})  # of DISTINCT values, too


class NotPlain(Exception):  # noqa: N818 - a signal, not an error
    pass


@dataclass(frozen=True, slots=True)
class Telling:
    """Names at which a rule looks."""

    names: frozenset[str]  # in upper case
    prefixes: tuple[str, ...]


class PlainExpressions(ABC):
    """One pass over the tokens. Each rule begins at `_at`, and leaves `_at` behind what it read."""

    def __init__(self, tokens: list[str], telling: Telling) -> None:
        # Python makes S of the one letter `ſ`, and SS of `ß`: to the engines they are parts of names.
        self._words = [token.upper() if token.isascii() else token for token in tokens]
        self._words += (END, END)
        self._telling = telling
        self._at = 0
        self._depth: int = 0

    @abstractmethod
    def _query(self) -> None:
        """A SELECT within an expression."""

    def _ordered(self) -> None:
        self._sum()
        if self._words[self._at] in ("ASC", "DESC"):
            self._at += 1
        if self._words[self._at] == "NULLS" and self._words[self._at + 1] in ("FIRST", "LAST"):
            self._at += 2

    def _condition(self) -> None:
        while True:
            if self._words[self._at] == "NOT":
                self._at += 1
            self._predicate()
            if self._words[self._at] not in ("AND", "OR"):
                return
            self._at += 1

    def _predicate(self) -> None:
        self._sum()
        word = self._words[self._at]
        if word in _COMPARISONS:
            self._at += 1
            self._sum()
            return
        if word == "IS":
            self._at += 1
            if self._words[self._at] == "NOT":
                self._at += 1
            self._take("NULL")
            return
        if word == "NOT":
            word = self._words[self._at + 1]
            if word not in ("LIKE", "IN", "BETWEEN"):
                raise NotPlain
            self._at += 1
        if word == "LIKE":
            self._at += 1
            self._sum()
        elif word == "IN":
            self._at += 1
            self._take("(")
            self._members()
        elif word == "BETWEEN":
            self._at += 1
            self._sum()
            self._take("AND")
            self._sum()

    def _members(self) -> None:
        if self._words[self._at] == "SELECT":
            self._query()
        else:
            self._listed(self._sum)
        self._take(")")

    def _sum(self) -> None:
        self._value()
        while self._words[self._at] in _SIGNS:
            self._at += 1
            self._value()

    def _value(self) -> None:
        word = self._words[self._at]
        first = word[:1]
        if word in CALLS or word in NUMBERING:
            self._at += 1
            self._call(word)
            if self._words[self._at] == "OVER" and word in _WINDOWS:
                self._at += 1
                self._over()
        elif first in LETTERS and word not in SPECIAL_WORDS:
            self._dotted()
        elif (first == "'" and len(word) > 1) or word in _CONSTANTS:
            self._at += 1
        elif first in DIGITS:
            self._number()
        elif word == "-":
            self._at += 1
            self._number()
        elif word == "(":
            self._at += 1
            self._group()
        elif word == "CASE":
            self._at += 1
            self._case()
        elif word == "EXISTS":
            self._at += 1
            self._take("(")
            self._query()
            self._take(")")
        else:
            raise NotPlain

    def _group(self) -> None:
        if self._words[self._at] == "SELECT":
            self._query()
        else:
            self._deeper()
            self._condition()
            self._depth -= 1
        self._take(")")

    def _call(self, name: str) -> None:
        if name in NUMBERING or (name == "COUNT(" and self._words[self._at] == "*"):
            self._at += name == "COUNT("
            self._take(")")
            return
        if name in _AGGREGATES and self._words[self._at] == "DISTINCT":
            self._at += 1
        self._deeper()
        least, most = CALLS[name]
        if not least <= self._listed(self._sum) <= most:
            raise NotPlain
        self._take(")")
        self._depth -= 1

    def _over(self) -> None:
        self._take("(")
        if self._words[self._at] == "PARTITION":
            self._at += 1
            self._take("BY")
            if self._words[self._at] == "(":  # to PostgreSQL behind FROM: a column of the type `by(…)`
                raise NotPlain
            self._listed(self._sum)
        if self._words[self._at] == "ORDER":
            self._at += 1
            self._take("BY")
            self._listed(self._ordered)
        self._take(")")

    def _case(self) -> None:
        self._deeper()
        if self._words[self._at] != "WHEN":
            self._sum()
        self._take("WHEN")
        while True:
            self._condition()
            self._take("THEN")
            self._sum()
            if self._words[self._at] != "WHEN":
                break
            self._at += 1
        if self._words[self._at] == "ELSE":
            self._at += 1
            self._sum()
        self._take("END")
        self._depth -= 1

    def _listed(self, rule: Callable[[], None]) -> int:
        """One or more with commas between; how many."""
        count = 1
        rule()
        while self._words[self._at] == ",":
            self._at += 1
            rule()
            count += 1
        return count

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise NotPlain

    def _dotted(self) -> None:
        """`orders`, `shop.orders`, `o.amount`."""
        self._name()
        if self._words[self._at] == ".":
            self._at += 1
            self._name()

    def _name(self) -> None:
        word = self._words[self._at]
        if (
            word[:1] not in LETTERS
            or word[-1] == "("
            or word in SPECIAL_WORDS
            or word in self._telling.names
            or word.startswith(self._telling.prefixes)
        ):
            raise NotPlain
        self._at += 1

    def _number(self) -> None:
        if _NUMBER.fullmatch(self._words[self._at]) is None:
            raise NotPlain
        self._at += 1

    def _take(self, word: str) -> None:
        if self._words[self._at] != word:
            raise NotPlain
        self._at += 1
