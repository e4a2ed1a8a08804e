"""Rules of words with other words in between. Pure.

One automaton that follows all places where such a rule may begin has a state for each set of them, and
hostile text makes ever new ones: a thousand times slower than other text. So the first words of the rules
are looked for, which have no gaps, and a rule is tried exactly there.

Rules
1. Looked at are only so many places of a text. One with more of them is not checked, and its readers hold it.
   Once something was found, which holds it too, far fewer are.
2. A rule is tried only if what it is about stands near by.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from callgate.trust.re2_rules import GAPS, Hit, Rule, alternatives, any_of, hit_of, phrase

# What a rule may span, and so how far it is tried.
_MAX_RULE_BYTES = 1_000
_BEFORE_BYTES = 240  # as far before a rule may be what it is about
# The densest honest text that we met takes two thirds of it.
_MIN_STEPS = 64
_MORE_STEPS, _BYTES_OF_A_STEP = 24, 64
# Whose first words they are is remembered. With other signs in between there are any number of them, and each
# of these takes as long as so many steps.
_MAX_KNOWN = 10_000
_LETTERS = bytes(code for code in range(256) if code >= 0x80 or chr(code).isalnum())
_USUAL_SIGNS = frozenset((b"", b" ", b"  ", b"   ", b"'", b"' ", b",", b", ", b":", b": ", b"_", b"__"))
_USUAL_BYTES = 32
_STEPS_OF_UNUSUAL = 4
# A text in which something was found is held. What else is in it is looked for a little, to tell it.
_STEPS_ONCE_FOUND = 16


class TooManyPlacesError(Exception):
    """A text with more places where a rule may begin than are looked at."""

    words = "more places that may be orders than are looked at"


class Steps:
    """What may still be looked at in one text."""

    def __init__(self, text: bytes) -> None:
        self._left = max(_MIN_STEPS, _MORE_STEPS + len(text) // _BYTES_OF_A_STEP)

    def found_one(self) -> None:
        self._left = min(self._left, _STEPS_ONCE_FOUND)

    def take(self, steps: int) -> None:
        """Raises TooManyPlacesError."""
        self._left -= steps
        if self._left < 0:
            raise TooManyPlacesError


class GapRule(NamedTuple):
    kind: str
    first: str  # a pattern without gaps: the beginning of the rule
    whole: str


class _Near:
    """Whether what a rule is about is near a place. The places that are asked for come one after another."""

    def __init__(self, about: Rule, text: bytes, *, is_there: bool) -> None:
        self._about, self._text = about, text
        self._next = -1 if is_there else len(text) + _MAX_RULE_BYTES
        self.is_over = not is_there

    def is_at(self, start: int) -> bool:
        first, stop = max(0, start - _BEFORE_BYTES), start + _MAX_RULE_BYTES
        if self._next < first:
            # One behind the place serves the next places too.
            if (place := self._about.span(self._text, start)) is None or place[0] >= stop:
                place = self._about.span(self._text, first)
            self.is_over = place is None
            self._next = len(self._text) + _MAX_RULE_BYTES if place is None else place[0]
        return self._next < stop


class _Group(NamedTuple):
    """Rules that are tried together."""

    kind: str
    first: Rule
    whole: Rule


class _Begun(NamedTuple):
    """What first words tell: how many steps they take, and whose they are."""

    steps: int
    groups: tuple[_Group, ...]


class GapRules:
    def __init__(self, *groups: Collection[GapRule], about: Mapping[str, str] | None = None) -> None:
        """`groups`: each of one kind. Those that begin with the same words belong together, as far as they
        have few states; `about`: of a kind, a pattern of what its rules speak of."""
        self._firsts: dict[frozenset[str], Rule] = {}
        self._rules = [rule for group in groups for rule in group]
        self.firsts = alternatives(*dict.fromkeys(rule.first for rule in self._rules))
        self._groups = [
            _Group(
                next(iter(group)).kind,
                any_of(*dict.fromkeys(rule.first for rule in group)),
                any_of(*(rule.whole for rule in group)),
            )
            for group in groups
        ]
        self.kinds = frozenset(group.kind for group in self._groups)
        self._about = {kind: Rule(pattern) for kind, pattern in (about or {}).items()}
        self._known: dict[bytes, _Begun] = {}

    def found(self, text: bytes, steps: Steps, has: Collection[str] = ()) -> Iterator[tuple[str, Hit]]:
        """The first of each kind. `has`: the kinds that it speaks of. Raises TooManyPlacesError."""
        pending, at = self.kinds, 0
        near = {kind: _Near(rule, text, is_there=kind in has) for kind, rule in self._about.items()}
        first = self._first_of(pending)
        while (span := first.span(text, at)) is not None:
            start, stop = span
            at = start + 1
            # Shorter first words that begin here are inside of the longest, so its text tells the rules. A
            # word ends by what is behind it.
            begun = self._known.get(text[start : stop + 1])
            if begun is None:
                begun = self._learn(text, start, stop)
            steps.take(begun.steps)
            for kind, _, whole in begun.groups:
                if kind not in pending:
                    continue
                if kind not in near or near[kind].is_at(start):
                    steps.take(1)
                    end = whole.end_at(text, start, min(len(text), start + _MAX_RULE_BYTES))
                    if end is None:
                        continue
                    steps.found_one()
                    yield kind, hit_of(text, start, end)
                elif not near[kind].is_over:
                    continue
                pending -= {kind}
                if not pending:
                    return
                first = self._first_of(pending)

    def first_found(self, text: bytes) -> Hit | None:
        """Raises TooManyPlacesError."""
        return next((hit for _, hit in self.found(text, Steps(text))), None)

    def _first_of(self, kinds: frozenset[str]) -> Rule:
        """What is found already is not looked for any more."""
        if (known := self._firsts.get(kinds)) is None:
            firsts = dict.fromkeys(rule.first for rule in self._rules if rule.kind in kinds)
            known = self._firsts[kinds] = any_of(*firsts, is_longest=True)
        return known

    def _learn(self, text: bytes, start: int, stop: int) -> _Begun:
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        groups = tuple(one for one in self._groups if one.first.end_at(text, start, stop) is not None)
        begun = _Begun(_steps_of(text[start:stop]) if len(self._groups) > 1 else 1, groups)
        self._known[text[start : stop + 1]] = begun
        return begun


def _steps_of(first: bytes) -> int:
    if len(first) <= _USUAL_BYTES and first.translate(None, _LETTERS) in _USUAL_SIGNS:
        return 1
    return _STEPS_OF_UNUSUAL + len(first) // _USUAL_BYTES


def of_phrases(kind: str, phrases: Iterable[str]) -> list[GapRule]:
    """The first words of each end where its first gap is. The rest of a word is no part of them: there are
    only so many first words then."""
    return [GapRule(kind, phrase(one[: _first_gap(one)].replace("*", "")), phrase(one)) for one in phrases]


def of_patterns(kind: str, patterns: Iterable[str], gap: str = "[^") -> list[GapRule]:
    """`gap`: what the first gap of a pattern begins with."""
    return [GapRule(kind, one.partition(gap)[0], one) for one in patterns]


def by_first_words(rules: Iterable[GapRule]) -> list[list[GapRule]]:
    groups: dict[str, list[GapRule]] = {}
    for rule in rules:
        groups.setdefault(rule.first, []).append(rule)
    return list(groups.values())


def _first_gap(words: str) -> int:
    depth = 0
    for at, char in enumerate(words):
        if char in GAPS and not depth:
            return at
        depth += (char == "(") - (char == ")")
    return len(words)
