"""RE2 for the scan: linear time whatever the text. The only place here that knows the library.

`phrase` makes a pattern of a few words, so that each rule reads as what it finds.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from collections.abc import Iterator
from typing import Any, NamedTuple

import re2

from callgate.trust.fold_text import fold

# What may stand between two words of a phrase: anything of ASCII that is no letter or digit, or nothing. Not
# what is between two strings of a definition.
_BETWEEN = r"[\x00-\x1d\x1f-/:-@\[-`{-\x7f]*"
# A few words in between, of the same sentence.
_WORDS = r"(?:[a-z0-9']+[ ,'\"`()*_/<>\n\t\r-]+){0,%d}?"
# Letters as digits and signs write them.
_AS_WRITTEN = {
    "a": "[a4@]",
    "e": "[e3]",
    "i": "[il1|]",
    "l": "[il1|]",
    "o": "[o0]",
    "s": "[s5$]",
    "t": "[t7]",
}
_GAPS = {"~": 3, "=": 6}


class Hit(NamedTuple):
    words: str
    start: int


class Rule:
    """One pattern over folded text (UTF-8)."""

    def __init__(self, pattern: str) -> None:
        options = re2.Options()
        options.log_errors = False  # it falls back to a slower way by itself
        self._pattern: Any = re2.compile(pattern.encode(), options)

    def found(self, text: bytes) -> Hit | None:
        """What it found first."""
        found = self._pattern.search(text)
        return None if found is None else Hit(found.group(0).decode(errors="replace"), found.start())

    def groups(self, text: bytes) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Of each place where it starts, and what is in brackets."""
        for found in self._pattern.finditer(text):
            yield found.start(), tuple((one or b"").decode(errors="replace") for one in found.groups())

    def next_span(self, text: bytes, start: int) -> tuple[int, int] | None:
        found = self._pattern.search(text, start)
        return None if found is None else found.span()

    def spans(self, text: bytes) -> Iterator[tuple[int, int]]:
        return (found.span() for found in self._pattern.finditer(text))


def phrase(words: str) -> str:
    """A pattern of plain words. A space: any sign that is no letter, or none. `~`: up to three words in
    between, `=`: up to six. `*`: the rest of a word, `%`: any number of what is in
    brackets before it. `(a|b)`, `?` and `[…]` as in any pattern."""
    made: list[str] = []
    is_class = False
    for char in fold(words):
        if is_class or char == "[":
            is_class = char != "]"
            made.append(char)
        elif char in _GAPS:
            made.append(_BETWEEN + _WORDS % _GAPS[char])
        elif char == " ":
            made.append(_BETWEEN)
        elif char == "*":
            made.append("[a-z]*")
        elif char == "%":
            made.append("*")
        else:
            made.append(_AS_WRITTEN.get(char, char))
    return "".join(made)


def any_of(*patterns: str) -> Rule:
    return Rule("|".join(f"(?:{pattern})" for pattern in patterns))
