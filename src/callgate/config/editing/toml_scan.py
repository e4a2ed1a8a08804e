"""Where in a TOML text each key and each table stands. Pure. The text must be TOML: `tomllib` has read it.

Tables in a list of tables have their position in their place: ("sources", 0, "dsn").
"""

import re
import tomllib
from dataclasses import dataclass, field

from callgate.config.problem import Loc

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_SCALAR = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\d{4}-\d\d-\d\d[Tt ]\d\d:[^\s,\]}#]+"
    r"|[^\s,\]}#]+",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """`key = value`, or a value of an array."""

    loc: Loc
    section: Loc  # the table under whose header it stands
    start: int  # of the key
    value_start: int
    end: int  # of the value
    inside: Loc | None  # the inline table or array that it is a part of


@dataclass(slots=True)
class Section:
    """A header and the keys below it; the first has no header."""

    loc: Loc
    start: int  # of the header's line
    end: int  # of the line of its last key, or of its header
    is_item: bool = False  # of a list of tables


@dataclass(slots=True)
class Scan:
    text: str
    entries: list[Entry] = field(default_factory=list[Entry])
    sections: list[Section] = field(default_factory=list[Section])
    _counts: dict[Loc, int] = field(default_factory=dict[Loc, int])  # of lists of tables
    _at: int = 0

    @classmethod
    def of(cls, text: str) -> "Scan":
        scan = cls(text)
        scan._run()
        return scan

    def line_of(self, at: int) -> int:
        """From 1 on."""
        return self.text.count("\n", 0, at) + 1

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Behind the line break."""
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1

    def _run(self) -> None:
        section = Section((), 0, 0)
        self.sections.append(section)
        while True:
            self._skip(_BLANK)
            if self._at >= len(self.text):
                return
            if self.text[self._at] == "[":
                section = self._header()
                self.sections.append(section)
            else:
                self._pair(section.loc, section.loc, None)
                section.end = self.line_end(self._at)
                self._at = max(self._at, section.end)

    def _header(self) -> Section:
        start = self.line_start(self._at)
        is_item = self.text.startswith("[[", self._at)
        self._at += 2 if is_item else 1
        self._skip(_SPACE)
        *above, name = self._key()
        loc = (*self._resolved((), above), name)
        if is_item:
            self._counts[loc] = self._counts.get(loc, 0) + 1
            loc = (*loc, self._counts[loc] - 1)
        elif loc in self._counts:  # [sources] below [[sources]]: TOML has no such thing
            loc = self._resolved((), [*above, name])
        self._at = self.line_end(self._at)
        return Section(loc, start, self._at, is_item)

    def _resolved(self, loc: Loc, parts: list[str]) -> Loc:
        """A table below a list of tables belongs to its last one."""
        for part in parts:
            loc = (*loc, part)
            if loc in self._counts:
                loc = (*loc, self._counts[loc] - 1)
        return loc

    def _pair(self, table: Loc, section: Loc, inside: Loc | None) -> None:
        start = self._at
        loc = (*table, *self._key())
        self._skip(_EQUALS)
        value_start = self._at
        place = len(self.entries)
        self._value(loc, section)
        self.entries.insert(place, Entry(loc, section, start, value_start, self._at, inside))

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            found = _KEY.match(self.text, self._at)
            assert found is not None, "it is TOML"
            raw = found[0]
            parts.append(raw if raw[0] not in "\"'" else tomllib.loads(f"key = {raw}")["key"])
            self._at = found.end()
            dot = _DOT.match(self.text, self._at)
            if dot is None:
                return parts
            self._at = dot.end()

    def _value(self, loc: Loc, section: Loc) -> None:
        match self.text[self._at]:
            case "[":
                self._members("]", loc, section)
            case "{":
                self._members("}", loc, section)
            case _:
                self._skip(_SCALAR)

    def _members(self, closing: str, loc: Loc, section: Loc) -> None:
        """Of an array or an inline table."""
        self._at += 1
        number = 0
        while True:
            self._skip(_BLANK)
            if self.text[self._at] == closing:
                self._at += 1
                return
            if self.text[self._at] == ",":
                self._at += 1
            elif closing == "}":
                self._pair(loc, section, loc)
            else:
                start, place = self._at, len(self.entries)
                self._value((*loc, number), section)
                self.entries.insert(place, Entry((*loc, number), section, start, start, self._at, loc))
                number += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self._at)
        assert found is not None, "it is TOML"
        self._at = found.end()
