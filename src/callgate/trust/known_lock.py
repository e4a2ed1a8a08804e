"""The lock as this process knows it: read again when the file is another one, and changed pin by pin.

A file that cannot be used is told, and what was read before stays: a merge that is not finished yet holds
nobody up. At the start there is nothing before, and nothing is accepted.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from callgate.model.error_codes import SETUP_LOCK
from callgate.model.errors import SetupError
from callgate.model.trust import PinnedKind, TrustItem
from callgate.trust.canonical import UnreadableError, read_definition
from callgate.trust.lock_file import Lock, LockFile, LockProblemError, Pin, Section, ServerPins

_log = logging.getLogger(__name__)

SECTION_OF: dict[PinnedKind, Section] = {
    "instructions": "instructions",
    "server": "server",
    "tool": "tools",
    "prompt": "prompts",
    "template": "templates",
}


# What an entry becomes (None: none), and what it was.
Become = Callable[[TrustItem, Pin | None], Pin | None]


class KnownLock:
    def __init__(self, file: LockFile, hide: Callable[[str, str], str]) -> None:
        """`hide`: takes out of a server's words what its entry holds in secret: the lock is committed."""
        self._file = file
        self._hide = hide
        self._lock: Lock = {}
        self._read_state: object = ()  # of the file when it was read; none yet
        self.is_usable = True
        self.problem: str | None = None
        self.version = 0  # increases when an operator's word changed
        self.refresh()

    def pins(self, server: str) -> ServerPins:
        return self._lock.get(server) or ServerPins()

    def refresh(self) -> None:
        state = self._file.state()
        if state == self._read_state:
            return
        is_first = self._read_state == ()
        self._read_state = state
        try:
            lock = self._file.read()
        except LockProblemError as problem:
            self.is_usable = self.is_usable and not is_first
            self.say(f"{problem}: nothing new of its servers is accepted until it is repaired")
            return
        is_other = lock != self._lock or not self.is_usable
        self._lock, self.is_usable = lock, True
        self.say(None)
        if is_other and not is_first:
            self.version += 1

    def say(self, problem: str | None) -> None:
        if problem is not None and problem != self.problem:
            _log.error("%s", problem)
        self.problem = problem

    def set(self, server: str, items: Sequence[TrustItem], become: Become) -> None:
        """An operator's word. `become`: what each entry becomes, by what the file has of it now: another
        process may have written it since we read it. Raises SetupError, and what `become` raises."""
        try:
            self._write(partial(self._having, server, items, become))
        except LockProblemError as problem:
            hint = "Repair it or make its folder writable, then try again"
            raise SetupError(SETUP_LOCK, f"{problem}", hint=hint) from None
        self.say(None)
        self.version += 1

    def _having(self, server: str, items: Sequence[TrustItem], become: Become, lock: Lock) -> Lock:
        pins = lock.get(server) or ServerPins()
        for item in items:
            section = SECTION_OF[item.kind]
            pin = become(item, pins.get(section, item.name))
            if pin is not None and self._has_secret_name(server, item):
                raise SetupError(
                    SETUP_LOCK,
                    f"The name of a {item.kind} of {server} repeats a secret of its entry, which the lock "
                    "must not hold",
                    hint="Change that secret, and disable the server: it tells it to every caller",
                )
            pins = pins.having(section, {item.name: self._hidden(server, pin)})
        return {**lock, server: pins}

    def set_first(self, server: str, section: Section, new: Sequence[TrustItem], *, for_some: bool) -> None:
        """What is accepted at first sight. `for_some`: of what only some clients are listed. Raises
        LockProblemError."""
        pins = {
            item.name: self._hidden(server, pin_of(item, for_some=for_some))
            for item in new
            if not self._has_secret_name(server, item)
        }
        self._write(partial(_first, server, section, pins, for_some))

    def move(self, file: LockFile) -> None:
        """It is another file from now on."""
        self._file, self._lock, self._read_state, self.is_usable = file, {}, (), True
        self.say(None)
        self.refresh()
        self.version += 1

    def _has_secret_name(self, server: str, item: TrustItem) -> bool:
        return self._hide(server, item.name) != item.name

    def _hidden(self, server: str, pin: Pin | None) -> Pin | None:
        return pin and replace(pin, description=self._hide(server, pin.description))

    def _write(self, change: Callable[[Lock], Lock]) -> None:
        known, found = self._lock, list[Lock]()

        def changed(lock: Lock) -> Lock:
            found.append(lock)
            return change(lock)

        self._lock, self._read_state = self._file.change(changed)
        if found != [known]:  # somebody else's words came with it
            self.version += 1


def _first(server: str, section: Section, new: Mapping[str, Pin | None], for_some: bool, lock: Lock) -> Lock:
    """Another process may have been first: what it accepted stays."""
    pins = lock.get(server) or ServerPins()
    if section in pins.seen and not for_some:
        return lock
    return {**lock, server: pins.having(section, {**new, **pins.pins.get(section, {})})}


def pin_of(item: TrustItem, *, for_some: bool) -> Pin | None:
    """What is written when it is accepted. None: it is gone, and so is its entry."""
    if item.now is None:
        return None
    try:
        read: Any = read_definition(item.now).value
    except UnreadableError:
        read = None
    told: Any = read
    if isinstance(read, dict):
        members = cast("dict[str, Any]", read)
        told = members.get("description") or (item.kind == "server" and members.get("name"))
    return Pin(item.digest, told if isinstance(told, str) else "", for_some=for_some)
