"""A TOML text that is changed in single places, everything else staying as it is, to the byte. Pure.

Rules
1. Only the lines of what is changed differ: comments, order, blanks and line ends of all others stay.
2. After each change the text is read again, and must say exactly what was meant. Otherwise TomlEditError is
   raised, and the text is what it was.
3. A table of names (`[principals.x]`, `[mcpServers.x]`) gets a header; what is deeper is written on one line.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from callgate.config.editing.toml_scan import Scan, TomlEntry, TomlSection
from callgate.config.editing.written_values import written, written_key
from callgate.config.problem import Loc
from callgate.config.raw_values import child_of, is_in, list_of, put_at, table_of
from callgate.config.read_toml import read_toml

# Top-level tables that are lists, and the key that names each of theirs.
NAMED_BY = {"sources": "id", "tools": "name"}


class TomlEditError(Exception):
    """The text is written in a way that cannot be changed here."""


class TomlText:
    def __init__(self, text: str) -> None:
        """Raises tomllib.TOMLDecodeError."""
        self._use(text)
        self._line_end = "\r\n" if "\r\n" in text else "\n"

    @property
    def text(self) -> str:
        return self._scan.text

    @property
    def tree(self) -> dict[str, Any]:
        return self._tree

    def has(self, loc: Sequence[str | int]) -> bool:
        found, _ = self._find(self.placed(loc))
        return found

    def line_of(self, loc: Loc) -> int | None:
        """Where it is written, or the last table that it is in."""
        scan, places = self._scan, [(entry.loc, entry.start) for entry in self._scan.entries]
        places += [(section.loc, section.start) for section in scan.sections if section.loc]
        for length in range(len(loc), 0, -1):
            for place, at in places:
                if place == loc[:length]:
                    return scan.line_of(at)
        return None

    def set(self, loc: Sequence[str | int], value: Any) -> None:
        """Tables on the way are made; an entry of a list of tables is named by its id. Raises TomlEditError,
        and CallerError for a value that TOML does not have."""
        written(value)
        place = self.placed(loc)
        if isinstance(place[-1], int) and isinstance(loc[-1], str) and isinstance(value, Mapping):
            table = cast("Mapping[str, Any]", value)
            value = {NAMED_BY.get(str(place[0]), "name"): loc[-1], **table}
        expected = deepcopy(self._tree)
        try:
            put_at(expected, place, value)
        except (IndexError, TypeError):  # far behind the end of a list, or below what is no table
            raise TomlEditError from None
        self._change(lambda: self._write(place, value), expected)

    def remove(self, loc: Sequence[str | int]) -> None:
        """What is not there is gone already. Raises TomlEditError."""
        place = self.placed(loc)
        if not self.has(place):
            return
        expected = deepcopy(self._tree)
        above: list[Any] = [expected]
        for part in place[:-1]:
            above.append(above[-1][part])
        del above[-1][place[-1]]
        if above[-1] == [] and self._entry(place[:-1]) is None:  # [[sources]] without any
            del above[-2][place[-2]]
        self._change(lambda: self._remove(place), expected)

    def _change(self, change: Callable[[], None], expected: dict[str, Any]) -> None:
        before = self.text
        try:
            change()
            is_meant = _without_empty(self._tree) == _without_empty(expected)
        except (tomllib.TOMLDecodeError, AssertionError, LookupError):
            is_meant = False
        if not is_meant:
            self._use(before)
            raise TomlEditError

    def _use(self, text: str) -> None:
        self._tree = read_toml(text)
        self._scan = Scan.of(text)

    def placed(self, loc: Sequence[str | int]) -> Loc:
        """Names in lists of tables as positions; one behind the last for a new one."""
        place: list[str | int] = []
        node: Any = self._tree
        for at, part in enumerate(loc):
            if at == 1 and node is None and place[0] in NAMED_BY:
                node = []
            if isinstance(node, list) and isinstance(part, str):
                items, key = list_of(cast(object, node)), NAMED_BY.get(str(place[0]), "name")
                named = (n for n, one in enumerate(items) if table_of(one).get(key) == part)
                part = next(named, len(items))
            place.append(part)
            node = child_of(cast(object, node), part)
        return tuple(place)

    def _find(self, loc: Loc) -> tuple[bool, Any]:
        node: Any = self._tree
        for part in loc:
            if not is_in(node, part):
                return False, None
            node = child_of(node, part)
        return True, node

    def _entry(self, loc: Loc) -> TomlEntry | None:
        return next((entry for entry in self._scan.entries if entry.loc == loc), None)

    def _splice(self, start: int, end: int, text: str) -> None:
        self._use(self.text[:start] + text + self.text[end:])

    # ---- setting

    def _write(self, loc: Loc, value: Any) -> None:
        if (entry := self._entry(loc)) is not None:
            self._splice(entry.value_start, entry.end, written(value))
            return
        found, held = self._find(loc)
        if found and isinstance(held, dict) and isinstance(value, Mapping):
            self._write_members(loc, cast("dict[str, Any]", held), cast("Mapping[str, Any]", value))
            return
        if found:
            self._remove(loc)
        self._write_new(loc, value)

    def _write_members(self, loc: Loc, held: dict[str, Any], value: Mapping[str, Any]) -> None:
        for key in [key for key in held if key not in value]:
            self._remove((*loc, key))
        for key, one in value.items():
            if key not in held or held[key] != one or type(held[key]) is not type(one):
                self._write((*loc, key), one)

    def _write_new(self, loc: Loc, value: Any) -> None:
        *above, name = loc
        parent = tuple(above)
        if parent and (holder := self._entry(parent)) is not None:
            self._add_inside(holder, name, value)
        elif isinstance(name, int):
            assert isinstance(value, Mapping), "a list of tables holds tables"
            self._add_section(parent, cast("Mapping[str, Any]", value), is_item=True)
        elif _is_list_of_tables(loc, value):
            for item in value:
                self._add_section(loc, item, is_item=True)
        elif isinstance(value, Mapping) and len(loc) <= 2 and not self._is_dotted(parent):
            self._add_section(loc, cast("Mapping[str, Any]", value))
        elif parent and not self._find(parent)[0]:
            self._write_new(parent, {str(name): value})
        else:
            self._add_line(parent, str(name), value)

    def _is_dotted(self, loc: Loc) -> bool:
        """Whether the table exists by dotted keys only, as in `server.listen = "…"`."""
        has_header = any(section.loc[: len(loc)] == loc for section in self._scan.sections)
        return bool(loc) and self._find(loc)[0] and not has_header

    def _add_inside(self, holder: TomlEntry, name: str | int, value: Any) -> None:
        members = [one for one in self._scan.entries if one.inside == holder.loc]
        text = written(value) if isinstance(name, int) else f"{written_key(name)} = {written(value)}"
        if members:
            self._splice(members[-1].end, members[-1].end, f", {text}")
        else:
            opening, closing = self.text[holder.value_start], self.text[holder.end - 1]
            self._splice(holder.value_start, holder.end, f"{opening} {text} {closing}")

    def _add_line(self, table: Loc, name: str, value: Any) -> None:
        own = [one for one in self._scan.sections if one.loc == table]
        beside = [e for e in self._scan.entries if e.inside is None and e.loc[: len(table)] == table]
        if own:
            section = own[-1]
            prefix: Loc = ()
            last = [entry for entry in beside if entry.section == table]
            at = section.end
        elif last := [entry for entry in beside if len(entry.section) < len(table)]:
            prefix = table[len(last[-1].section) :]
            at = self._scan.line_end(last[-1].end)
        else:
            self._add_section(table, {name: value})
            return
        key = ".".join(written_key(str(part)) for part in (*prefix, name))
        self._add_lines(at, [f"{self._indent(last)}{key} = {written(value)}"])

    def _indent(self, entries: list[TomlEntry]) -> str:
        if not entries:
            return ""
        start = entries[-1].start
        before = self.text[self._scan.line_start(start) : start]
        return before if not before.strip(" \t") else ""

    def _add_section(self, loc: Loc, value: Mapping[str, Any], *, is_item: bool = False) -> None:
        """Behind the last one of its kind, or at the end."""
        name = ".".join(written_key(part) for part in loc if isinstance(part, str))
        lines = [f"[[{name}]]" if is_item else f"[{name}]"]
        lines += [f"{written_key(key)} = {written(one)}" for key, one in value.items()]
        alike = [one for one in self._scan.sections if one.loc[:1] == loc[:1]]
        self._add_lines(alike[-1].end if alike else len(self.text), ["", *lines])

    def _add_lines(self, at: int, lines: list[str]) -> None:
        text = self.text
        before = "" if at == 0 or text[at - 1] == "\n" else self._line_end
        if not lines[0] and not text[:at].strip():
            lines = lines[1:]
        self._splice(at, at, before + "".join(f"{line}{self._line_end}" for line in lines))

    # ---- removing

    def _remove(self, loc: Loc) -> None:
        entry = self._entry(loc)
        if entry is not None and entry.inside is not None:
            self._remove_inside(entry)
            return
        scan, length = self._scan, len(loc)
        lines = [one for one in scan.entries if one.inside is None and one.loc[:length] == loc]
        spans = [(scan.line_start(one.start), scan.line_end(one.end)) for one in lines]
        spans += [self._span_of(one) for one in scan.sections if one.loc[:length] == loc]
        text = self.text
        for start, end in reversed(_merged(spans)):
            text = text[:start] + text[end:]
        self._use(text)

    def _span_of(self, section: TomlSection) -> tuple[int, int]:
        """With the blank line before it."""
        start = section.start
        line = self._scan.line_start(start - 1) if start else 0
        if start and line and not self.text[line:start].strip():
            start = line
        return start, section.end

    def _remove_inside(self, entry: TomlEntry) -> None:
        members = [one for one in self._scan.entries if one.inside == entry.inside]
        at = members.index(entry)
        if at + 1 < len(members):
            self._splice(entry.start, members[at + 1].start, "")
        elif at:
            self._splice(members[at - 1].end, entry.end, "")
        else:
            rest = self.text[entry.end :]
            comma = len(rest) - len(rest.lstrip()) + 1 if rest.lstrip().startswith(",") else 0
            self._splice(entry.start, entry.end + comma, "")


def _is_list_of_tables(loc: Loc, value: Any) -> bool:
    if len(loc) != 1 or not isinstance(value, list):
        return False
    items = cast("list[Any]", value)
    return bool(items) and all(isinstance(one, Mapping) for one in items)


def _without_empty(value: Any) -> Any:
    """A table that only lost its keys says the same as one that is not there."""
    if isinstance(value, Mapping):
        told = {key: _without_empty(one) for key, one in cast("Mapping[str, Any]", value).items()}
        return {key: one for key, one in told.items() if one != {}}
    if isinstance(value, list | tuple):
        return [_without_empty(one) for one in cast("list[Any]", value)]
    return value


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
