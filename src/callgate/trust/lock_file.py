"""`callgate.lock`: what was accepted of each server, as a text that reads well in a review.

TOML with one block for each tool, in the order of names, and each line of a description as a line. What a
reader would not see is written as an escape.

Rules
1. What cannot be read in one way only is a problem: cut (its last line is missing), of a newer version, with
   marks of a merge, with a name twice. Nothing is written over it.
2. It is written beside itself and takes its place at once. Each writer reads it again first, one after the
   other (`alone_in`): no process loses another's entries.
"""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any, Literal, cast

from callgate.config.read_toml import read_toml
from callgate.config.whole_file import alone_in, whole_file
from callgate.model.trust import SINGLE_KINDS

VERSION = 1
_HEAD = """\
# What each server's tools looked like when they were accepted. Written by Callgate: commit it, review changes
# of it, and change it with `callgate trust`.
"""
_END = "# end of the lock"
_MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
_MAX_BYTES = 64 * 1024 * 1024
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")

Section = Literal["instructions", "prompts", "server", "templates", "tools"]
SECTIONS: tuple[Section, ...] = ("instructions", "prompts", "server", "templates", "tools")


class LockProblemError(Exception):
    """Why the lock cannot be used, as a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Pin:
    digest: str = ""  # empty: it was never accepted
    description: str = ""
    is_blocked: bool = False
    for_some: bool = False  # a tool that is listed only to clients that declare certain capabilities


@dataclass(frozen=True, slots=True)
class ServerPins:
    """`seen`: what was accepted at first sight. What comes to it later is new."""

    seen: frozenset[str] = frozenset()
    pins: Mapping[Section, Mapping[str, Pin]] = field(default_factory=dict[Section, Mapping[str, Pin]])

    def get(self, section: Section, name: str) -> Pin | None:
        return self.pins.get(section, {}).get(name)

    def having(self, section: Section, changed: Mapping[str, Pin | None]) -> "ServerPins":
        """With these; None: without that one."""
        mixed = {**self.pins.get(section, {}), **changed}
        kept = {name: pin for name, pin in mixed.items() if pin is not None}
        return ServerPins(self.seen | {section}, {**self.pins, section: kept})


Lock = Mapping[str, ServerPins]
LockState = tuple[int, int, int] | None


class LockFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def state(self) -> LockState:
        """Changes when the file does; None: there is none."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError:
            return (0, 0, 0)
        return (found.st_mtime_ns, found.st_size, found.st_ino)

    def read(self) -> Lock:
        """Raises LockProblemError. Empty where there is no file."""
        try:
            found = self.path.stat()
            if not S_ISREG(found.st_mode):
                raise LockProblemError(f"{self.path} is not a file")
            if found.st_size > _MAX_BYTES:
                raise LockProblemError(f"{self.path} is larger than {_MAX_BYTES // 1024**2} MiB")
            text = self.path.read_bytes().decode()
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise LockProblemError(f"{self.path} cannot be read ({problem.strerror})") from None
        except UnicodeDecodeError:
            raise LockProblemError(f"{self.path} is not UTF-8 text") from None
        try:
            return parse_lock(text)
        except LockProblemError as problem:
            raise LockProblemError(f"{self.path} {problem}") from None

    def change(self, change: Callable[[Lock], Lock]) -> tuple[Lock, LockState]:
        """Reads, changes and writes it, alone: what it is then, and its state. Raises LockProblemError."""
        try:
            # A link stays one. Of a link to itself `resolve` raises no OSError.
            written = Path(os.path.realpath(self.path))
            with alone_in(written.parent):
                before = self.read()
                after = change(before)
                if after != before:
                    with whole_file(written, 0o644) as file:
                        file.write(write_lock(after).encode())
                return after, self.state()
        except OSError as problem:
            raise LockProblemError(f"{self.path} cannot be written ({problem.strerror})") from None


# ---- the text


def write_lock(lock: Lock) -> str:
    lines = [_HEAD, f"version = {VERSION}\n"]
    for server, pins in sorted(lock.items()):
        place = f"servers.{_key(server)}"
        seen = ", ".join(f'"{section}"' for section in sorted(pins.seen))
        lines.append(f"\n[{place}]\nseen = [{seen}]\n")
        for section in SECTIONS:
            for name, pin in sorted(pins.pins.get(section, {}).items()):
                inner = section if section in SINGLE_KINDS else f"{section}.{_key(name)}"
                lines.append(f"\n[{place}.{inner}]\n{_pin(pin)}")
    return "".join([*lines, f"\n{_END}\n"])


def _pin(pin: Pin) -> str:
    text = f'digest = "{_escaped(pin.digest)}"\n'
    if pin.is_blocked:
        text += "blocked = true\n"
    if pin.for_some:
        text += "for_some = true\n"
    return text + f'description = """\n{_lines(pin.description)}"""\n'


def _key(name: str) -> str:
    return name if name and set(name) <= _BARE else f'"{_escaped(name)}"'


def _lines(text: str) -> str:
    """As lines of a text in three quotes: nothing in it can look like the mark of a merge, or be unseen."""
    lines: list[str] = []
    for line in text.split("\n"):
        told = _escaped(line)
        if told.startswith(_MARKS):
            told = f"\\u{ord(told[0]):04X}{told[1:]}"
        elif told.endswith(" "):
            told = f"{told[:-1]}\\u0020"
        lines.append(told)
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return "".join(_character(char) for char in text)


def _character(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char == " " or (char.isprintable() and char not in "\u3164\uffa0\u115f\u1160\u034f"):
        return char
    if "\ud800" <= char <= "\udfff":  # half a pair, which TOML cannot say
        return "\\uFFFD"
    return f"\\u{ord(char):04X}" if ord(char) < 0x10000 else f"\\U{ord(char):08X}"


def parse_lock(text: str) -> Lock:
    """Raises LockProblemError: what follows the name of the file."""
    if any(line.startswith(_MARKS) for line in text.splitlines()):
        raise LockProblemError("has the marks of a merge that was not finished")
    if not text.rstrip().endswith(_END):
        raise LockProblemError("is cut: its last line is missing")
    try:
        read = read_toml(text)
    except tomllib.TOMLDecodeError as problem:
        raise LockProblemError(f"cannot be read: {problem}") from None
    version = read.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise LockProblemError(f"has version {version!r}, and this Callgate reads up to {VERSION}")
    try:
        return {name: _server(table) for name, table in read.get("servers", {}).items()}
    except (AttributeError, TypeError, KeyError, ValueError):
        raise LockProblemError("has entries that are none of ours") from None


def _server(table: dict[str, Any]) -> ServerPins:
    named = {**table, **{section: {"": table[section]} for section in SINGLE_KINDS if section in table}}
    pins = {section: dict(_pins(named[section])) for section in SECTIONS if section in named}
    seen = table["seen"]  # without it all that is new would be accepted as at first sight
    if not isinstance(seen, list) or not set(cast("list[Any]", seen)) <= set(SECTIONS):
        raise TypeError
    if table.keys() - {"seen", *SECTIONS}:
        raise ValueError
    return ServerPins(frozenset(cast("list[str]", seen)), cast(Any, pins))


def _pins(table: dict[str, Any]) -> Iterator[tuple[str, Pin]]:
    for name, entry in table.items():
        is_blocked, for_some = entry.get("blocked", False), entry.get("for_some", False)
        if not (isinstance(entry["digest"], str) and type(is_blocked) is type(for_some) is bool):
            raise TypeError
        if entry.keys() - {"digest", "blocked", "for_some", "description"}:
            raise ValueError
        yield name, Pin(entry["digest"], str(entry.get("description", "")), is_blocked, for_some)
