"""Every string of a definition, names of its members too, and where each is. Pure.

All of them are read as one text, since each search has its price, however short a string is. `BETWEEN` stands
between two: no rule crosses it, and by counting it a finding is brought to its string.

A definition is gathered level by level. Places are made for what is found, and only then.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, cast

SEPARATOR = "\x1e"
BETWEEN = f"\n{SEPARATOR}\n"
_SEPARATING = SEPARATOR.encode()
# For a string that has the separator itself: it is found in its place, as each control character is.
_INSTEAD = "\x1f"
_MAX_DEPTH = 100

_Owner = dict[str, Any] | list[Any]
_Place = tuple[_Owner, str | int]


def number_of(told: bytes, start: int) -> int:
    """The number of the string at this place of what was told together."""
    return told.count(_SEPARATING, 0, start)


class TooDeepError(Exception):
    pass


class DefinitionTexts:
    """Of each level first the names of members, then the strings."""

    def __init__(self, value: Any) -> None:
        """Raises TooDeepError."""
        self.texts: list[str] = []
        self.members = 0
        # The number of the first text of each part, and whose texts it has: every other part has names.
        self._firsts: list[int] = []
        self._parts: list[Sequence[_Owner]] = []
        self._known_places: dict[int, list[_Place]] = {}
        if isinstance(value, str):
            self.texts.append(value)
        elif isinstance(value, (dict, list)):
            self._gather(cast("_Owner", value))
        self.together = self.part(0, len(self.texts))
        self.chars = len(self.together) - len(BETWEEN) * max(0, len(self.texts) - 1)

    @property
    def said(self) -> list[str]:
        """What describes, for people and models."""
        return [
            told
            for objects in self._parts[::2]
            for one in cast("Sequence[dict[str, Any]]", objects)
            if "description" in one or "title" in one
            for key in ("title", "description")
            if isinstance(told := one.get(key), str)
        ]

    def part(self, first: int, stop: int) -> str:
        """These texts as one."""
        texts = self.texts[first:stop]
        joined = BETWEEN.join(texts)
        if joined.count(SEPARATOR) > max(0, len(texts) - 1):
            joined = BETWEEN.join(text.replace(SEPARATOR, _INSTEAD) for text in texts)
        return joined

    def where(self, number: int) -> str:
        """Of the text with this number."""
        if not self._parts:  # the definition is a text itself
            return ""
        at = bisect_right(self._firsts, number) - 1
        owner, key = self._places_of(at)[number - self._firsts[at]]
        parts = [key]
        for outer in range(at // 2 * 2 - 1, 0, -2):
            owner, key = self._around(outer, owner)
            parts.append(key)
        told = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in reversed(parts))
        return "".join(told).removeprefix(".")

    def _places_of(self, at: int) -> list[_Place]:
        if (known := self._known_places.get(at)) is None:
            is_names = at % 2 == 0
            known = self._known_places[at] = [
                (owner, key)
                for owner in self._parts[at]
                for key, value in _items(owner)
                if is_names or type(value) is str
            ]
        return known

    def _around(self, at: int, inner: _Owner) -> _Place:
        """In what it is, of this level: it is in one place only."""
        return next(
            (owner, key) for owner in self._parts[at] for key, value in _items(owner) if value is inner
        )

    def _gather(self, value: _Owner) -> None:
        objects: list[dict[str, Any]] = []
        lists: list[list[Any]] = []
        owners: list[_Owner] = [value]
        if isinstance(value, dict):
            objects.append(value)
        texts = self.texts
        for _ in range(_MAX_DEPTH):
            self._begin(objects)
            texts.extend(chain.from_iterable(objects))
            self.members += len(texts) - self._firsts[-1]
            self._begin(owners)
            objects, lists = [], []
            # One loop: most levels are short, and each comprehension is a call.
            for owner in owners:
                for one in owner if isinstance(owner, list) else owner.values():
                    kind = type(one)  # pyright: ignore[reportUnknownVariableType]
                    if kind is str:
                        texts.append(one)
                    elif kind is dict and one:
                        objects.append(one)
                    elif kind is list and one:
                        lists.append(one)
            if not objects and not lists:
                return
            owners = [*objects, *lists]  # as their strings are in the part that says where they are
        raise TooDeepError

    def _begin(self, owners: Sequence[_Owner]) -> None:
        self._firsts.append(len(self.texts))
        self._parts.append(owners)


def _items(owner: _Owner) -> Iterable[tuple[str | int, Any]]:
    return owner.items() if isinstance(owner, dict) else enumerate(owner)
