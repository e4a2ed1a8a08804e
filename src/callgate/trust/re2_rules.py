"""RE2 for the scan: linear time whatever the text. The only place here that knows the library.

`phrase` makes a pattern of a few words, so that each rule reads as what it finds.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportPrivateUsage=false

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
GAPS = {"~": 3, "=": 6}


Span = tuple[int, int]
_ANYWHERE = re2._Anchor.UNANCHORED  # noqa: SLF001
_EXACTLY_THERE = re2._Anchor.ANCHOR_START  # noqa: SLF001
_NOWHERE = (-1, -1)


class Hit(NamedTuple):
    words: str
    start: int


class Rule:
    """One pattern over folded text (UTF-8)."""

    def __init__(self, pattern: str, *, has_groups: bool = False, is_longest: bool = False) -> None:
        """`has_groups`: what is in brackets is asked for. A search that has to find it too takes longer.
        `is_longest`: of all that begins at a place the longest is found, else what is named first."""
        options = re2.Options()
        options.log_errors = False  # it falls back to a slower way by itself
        options.never_capture = not has_groups
        options.longest_match = is_longest
        # The library's own search makes five objects of each place: most of the time of a short text.
        self._match: Any = re2.compile(pattern.encode(), options)._regexp.Match  # noqa: SLF001

    def span(self, text: bytes, start: int = 0, stop: int | None = None) -> Span | None:
        """Of what it finds first in this part of the text."""
        found = self._match(_ANYWHERE, text, start, len(text) if stop is None else stop)[0]
        return None if found == _NOWHERE else found

    def end_at(self, text: bytes, start: int, stop: int) -> int | None:
        """Where it ends, if it begins exactly there. Nothing is read from `stop` on."""
        found = self._match(_EXACTLY_THERE, text, start, stop)[0]
        return None if found == _NOWHERE else found[1]

    def found(self, text: bytes) -> Hit | None:
        """What it found first."""
        span = self.span(text)
        return None if span is None else hit_of(text, *span)

    def groups_at(self, text: bytes, start: int, stop: int) -> tuple[str, ...]:
        """What is in brackets, if it begins exactly there. Only for short pieces: it takes far longer."""
        _, *groups = self._match(_EXACTLY_THERE, text, start, stop)
        return tuple(text[first:stop].decode(errors="replace") for first, stop in groups)

    def spans(self, text: bytes) -> Iterator[Span]:
        """None of our patterns is found in an empty text, so each place ends behind the one before."""
        at = 0
        while (found := self.span(text, at)) is not None:
            yield found
            at = found[1]


class RuleSet:
    """Which of several patterns are in a text. One pass shows it, and takes no longer than that of one
    pattern: most texts have few of them, and only these are looked for then."""

    def __init__(self, **patterns: str) -> None:
        options = re2.Options()
        options.log_errors = False
        self._names = list(patterns)
        self._set: Any = re2.Set.SearchSet(options)
        for pattern in patterns.values():
            self._set.Add(pattern.encode())
        self._set.Compile()

    def found_in(self, text: bytes) -> frozenset[str]:
        numbers: list[int] = self._set.Match(text) or []
        return frozenset([self._names[number] for number in numbers])


def hit_of(text: bytes, start: int, stop: int) -> Hit:
    return Hit(text[start:stop].decode(errors="replace"), start)


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
        elif char in GAPS:
            made.append(_BETWEEN + _WORDS % GAPS[char])
        elif char == " ":
            made.append(_BETWEEN)
        elif char == "*":
            made.append("[a-z]*")
        elif char == "%":
            made.append("*")
        else:
            made.append(_AS_WRITTEN.get(char, char))
    return "".join(made)


def alternatives(*patterns: str) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def any_of(*patterns: str, is_longest: bool = False) -> Rule:
    return Rule(alternatives(*patterns), is_longest=is_longest)
