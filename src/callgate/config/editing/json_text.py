"""A JSON text, with or without comments, that is changed in single places; the rest stays, to the byte. Pure.

Rules
1. A member is put in or taken out as text: comments, order, blanks, line ends and trailing commas of all
   others stay. A new one is indented as its neighbours are, and written on their line where they have one.
2. After each change the text is read again, and must say exactly what was meant. Otherwise JsonEditError is
   raised, and the text is what it was.
3. A key that is there twice on the way to the place is not understood: programs differ in which one counts.
"""

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from callgate.config.raw_values import table_of
from callgate.config.sources.file import JsonTextError, read_json_object

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_PLAIN = re.compile(r"[^\s,\]}/]+")
# What matters inside of a value that is skipped.
_MARK = re.compile(r'["{}\[\]]|//|/\*')
_DEFAULT_INDENT = "  "
_OCCUPIED = "has something else in the place of our entry"


class JsonEditError(Exception):
    """The text is written in a way that is not understood here. `what` completes "the file"."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True, slots=True)
class _Member:
    key: str | int  # in a list: its position
    start: int  # of the key; in a list of the value
    value: int
    end: int  # of the value


@dataclass(frozen=True, slots=True)
class _Object:
    """Or a list."""

    start: int  # of the opening brace
    end: int  # of the closing one
    members: tuple[_Member, ...]


class JsonText:
    def __init__(self, text: str) -> None:
        """Of nothing at all an object is made. Raises JsonEditError, which repeats nothing of the text."""
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        self.text = text
        self.tree = _read(text) if text.strip() else {}

    def has(self, loc: Sequence[str]) -> bool:
        found: Any = self.tree
        for part in loc:
            if part not in table_of(found):
                return False
            found = table_of(found)[part]
        return True

    def set(self, loc: Sequence[str], value: Any) -> None:
        """The value of a member, in the place of what was there; objects on the way are made."""
        meant = deepcopy(self.tree)
        table: Any = meant
        for part in loc[:-1]:
            below = table.setdefault(part, {})
            if not isinstance(below, dict):
                raise JsonEditError(_OCCUPIED)
            table = cast("dict[str, Any]", below)
        table[loc[-1]] = value
        if not self.text.strip():
            self._become(json.dumps(meant, indent=2) + "\n", meant)
            return
        found, depth = self._object(loc[:-1])
        name, rest = loc[depth], loc[depth + 1 :]
        for part in reversed(rest):
            value = {part: value}
        member = next((one for one in found.members if one.key == name), None)
        if member is None:
            self._become(self._with_member(found, name, value), meant)
        else:
            written = self._written(value, self._indent_of(member.start, found), found)
            self._become(self.text[: member.value] + written + self.text[member.end :], meant)

    def append(self, key: str, value: Any) -> None:
        """To the list under this key of the whole, which is made if there is none."""
        if key not in self.tree:
            self.set((key,), [value])
            return
        meant = deepcopy(self.tree)
        if not isinstance(meant[key], list):
            raise JsonEditError(_OCCUPIED)
        meant[key].append(value)
        self._become(self._with_member(self._object((key,))[0], None, value), meant)

    def remove(self, loc: Sequence[str | int]) -> None:
        meant = deepcopy(self.tree)
        table: Any = meant
        for part in loc[:-1]:
            table = table[part]
        del table[loc[-1]]
        found, _ = self._object(loc[:-1])
        at = next(at for at, one in enumerate(found.members) if one.key == loc[-1])
        self._become(self._without_member(found, at), meant)

    def _object(self, path: Sequence[str | int]) -> tuple[_Object, int]:
        """The innermost object of this path that is there, and how deep it is."""
        found = _scan(self.text, _past_blank(self.text, 1 if self.text.startswith("\ufeff") else 0))
        for depth, part in enumerate(path):
            members = [one for one in found.members if one.key == part]
            if len(members) > 1:
                raise JsonEditError(f'has "{part}" twice')
            if not members:
                return found, depth
            if self.text[members[0].value] not in "{[":
                raise JsonEditError(_OCCUPIED)
            found = _scan(self.text, members[0].value)
        return found, len(path)

    def _with_member(self, found: _Object, name: str | None, value: Any) -> str:
        """`name`: None in a list."""
        named = "" if name is None else f"{json.dumps(name)}: "
        inside = self.text[found.start + 1 : found.end]
        body = found.start + 1 + len(inside.rstrip())  # after the last word or comment before the brace
        if found.members and "\n" not in self.text[found.start : found.members[0].start]:
            written = named + json.dumps(value)  # all on one line
            last = found.members[-1]
            comma = "" if self._has_comma(last) else ","
            gap = self._line_end if "//" in self.text[last.end : body] else " "
            before = f"{self.text[: last.end]}{comma}{self.text[last.end : body]}"
            return f"{before}{gap}{written}{self.text[body:]}"
        outer = self._line_indent(found.start)
        inner = self._indent_of(found.members[0].start, found) if found.members else outer + self._unit()
        written = named + self._written(value, inner, found)
        tail = (
            self.text[body:]
            if found.members and "\n" in self.text[body : found.end]
            else (f"{self._line_end}{outer}{self.text[found.end :]}")
        )
        if not found.members:
            return f"{self.text[:body]}{self._line_end}{inner}{written}{tail}"
        last = found.members[-1]
        has_comma = self._has_comma(last)
        before = self.text[: last.end] + ("" if has_comma else ",") + self.text[last.end : body]
        return f"{before}{self._line_end}{inner}{written}{',' if has_comma else ''}{tail}"

    def _without_member(self, found: _Object, at: int) -> str:
        """Comments before and after it stay: nobody can tell whose they are."""
        member = found.members[at]
        before, after = self.text[: member.start].rstrip(), self.text[member.end :]
        if self._has_comma(member):
            comma = _past_blank(self.text, member.end)
            return before + self.text[member.end : comma] + self.text[comma + 1 :]
        if at > 0:  # the one before is the last now
            comma = _past_blank(before, found.members[at - 1].end)
            before = before[:comma] + before[comma + 1 :]
        return before + after

    def _has_comma(self, last: _Member) -> bool:
        return self.text[_past_blank(self.text, last.end)] == ","

    def _written(self, value: Any, indent: str, found: _Object) -> str:
        is_on_one_line = "\n" not in self.text[found.start : found.end] and bool(found.members)
        if is_on_one_line:
            return json.dumps(value)
        unit = self._unit()
        text = json.dumps(value, indent=unit)
        return text.replace("\n", f"{self._line_end}{indent}")

    def _line_indent(self, at: int) -> str:
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at].removeprefix("\ufeff")
        return line[: len(line) - len(line.lstrip())]

    def _indent_of(self, at: int, found: _Object) -> str:
        start = self.text.rfind("\n", 0, at) + 1
        before = self.text[start:at].removeprefix("\ufeff")
        return before if not before.strip() else self._line_indent(found.start) + self._unit()

    def _unit(self) -> str:
        """What one level is indented by, as seen at the first member of the whole text."""
        first = re.search(r"\n([ \t]+)\S", self.text)
        return first[1] if first is not None and len(first[1]) <= 8 else _DEFAULT_INDENT

    def _become(self, text: str, meant: dict[str, Any]) -> None:
        if _read(text) != meant:
            raise JsonEditError("is written in a way in which our entry cannot be put in or taken out")
        self.text, self.tree = text, meant


def _read(text: str) -> dict[str, Any]:
    try:
        return read_json_object(text.removeprefix("\ufeff"))
    except JsonTextError as error:
        raise JsonEditError(f"cannot be read: {error.message}") from None


def _scan(text: str, start: int) -> _Object:
    """The members of the object whose brace is at `start`. The text is known to be JSON."""
    members: list[_Member] = []
    is_list = text[start] == "["
    at = _past_blank(text, start + 1)
    while text[at] not in "}]":
        if text[at] == ",":
            at = _past_blank(text, at + 1)
            continue
        key: str | int = len(members)
        value = at
        if not is_list:
            end = _past(_STRING, text, at)
            key = str(json.loads(text[at:end], strict=False))
            value = _past_blank(text, _past_blank(text, end) + 1)
        end = _past_value(text, value)
        members.append(_Member(key, at, value, end))
        at = _past_blank(text, end)
    return _Object(start, at, tuple(members))


def _past_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _past_value(text: str, at: int) -> int:
    if text[at] == '"':
        return _past(_STRING, text, at)
    if text[at] not in "{[":
        return _past(_PLAIN, text, at)
    depth = 0
    while True:
        mark = _MARK.search(text, at)
        if mark is None:
            raise JsonEditError("ends in the middle")
        if mark[0] in "{[":
            depth, at = depth + 1, mark.end()
        elif mark[0] in "}]":
            depth, at = depth - 1, mark.end()
            if depth == 0:
                return at
        else:
            at = _past(_STRING, text, mark.start()) if mark[0] == '"' else _past_blank(text, mark.start())


def _past(form: re.Pattern[str], text: str, at: int) -> int:
    found = form.match(text, at)
    if found is None:
        raise JsonEditError("ends in the middle")
    return found.end()
