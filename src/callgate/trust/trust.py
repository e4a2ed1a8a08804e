"""Keeps what servers say to what was accepted of it. Implements `ports.Faces`.

Used by the loop and by threads: everything that looks at the lock does so alone. Must not know how a server
is asked.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from callgate.model.counted import counted
from callgate.model.error_codes import CALLER_NOT_FOUND, CALLER_STALE, SETUP_LOCK
from callgate.model.errors import CallerError, SetupError
from callgate.model.offers import OfferKind
from callgate.model.trust import Flaw, PinnedKind, ServerTrust, TrustItem, TrustMode
from callgate.ports.faces import DefinitionStore, ShownEntries
from callgate.trust.canonical import UnreadableError, digest_of, read_definition
from callgate.trust.judge import Face, judge
from callgate.trust.lock_file import Lock, LockFile, LockProblemError, Pin, Section, ServerPins
from callgate.trust.scan import scan

_log = logging.getLogger(__name__)

_KINDS: dict[OfferKind, PinnedKind] = {OfferKind.TOOL: "tool", OfferKind.PROMPT: "prompt"}
_SECTIONS: dict[PinnedKind, Section] = {"tool": "tools", "prompt": "prompts", "instructions": "instructions"}
# Definitions that were looked at; those of more servers than anybody has.
_MAX_LOOKED_AT = 50_000
# Of one server and kind: it may make up new names all day.
_MAX_ITEMS = 20_000


@dataclass(frozen=True, slots=True)
class _Looked:
    digest: str
    flaws: tuple[Flaw, ...]

    @property
    def holds(self) -> bool:
        return any(flaw.holds for flaw in self.flaws)


@dataclass(slots=True)
class _Seen:
    """What one server says of one kind, as far as it is not as it was accepted."""

    items: dict[str, TrustItem] = field(default_factory=dict[str, TrustItem])
    listed: frozenset[str] | None = None  # all of it, as told last


class Trust:
    def __init__(
        self,
        modes: Mapping[str, TrustMode],
        lock_file: LockFile,
        store: DefinitionStore,
        *,
        writes: bool = True,
    ) -> None:
        """`writes`: False to compare only, and to leave the lock as it is."""
        self._modes = dict(modes)
        self._file = lock_file
        self._store = store
        self._writes = writes
        self._alone = threading.RLock()
        self._lock: Lock = {}
        self._read_state: object = ()  # of the file when it was read; none yet
        self._seen: dict[tuple[str, PinnedKind], _Seen] = {}
        self._looked: dict[bytes, _Looked] = {}
        self._stored: set[tuple[str, str]] = set()
        self._early: set[tuple[str, Section]] = set()  # parts of lists that came before the whole one
        self._has_lock = True
        self.problem: str | None = None
        self.version = 0
        self._refresh()

    # ---- ports.Faces

    def watches(self, server: str) -> bool:
        return self._modes.get(server, "free") != "free"

    def holds(self, server: str) -> bool:
        return self._modes.get(server) == "hold"

    def use(self, modes: Mapping[str, TrustMode]) -> None:
        """The operator's words, taken over while we run."""
        with self._alone:
            if modes != self._modes:
                self._modes = dict(modes)
                self.version += 1

    def show(self, server: str, kind: OfferKind, entries: Sequence[bytes], *, is_whole: bool) -> ShownEntries:
        pinned = _KINDS.get(kind)
        if pinned is None or not self.watches(server):
            return ShownEntries(entries)
        named = {entry: name for entry in entries if (name := _name_of(entry)) is not None}
        with self._alone:
            self._refresh()
            shown = self._judge(server, pinned, named, is_whole)
            for entry in entries:
                if (
                    entry not in named
                ):  # nobody can say whose it is: it passes only if nothing is wrong with it
                    is_odd = self.holds(server) or self._look_at(server, entry, frozenset()).holds
                    shown[entry] = None if is_odd else entry
        kept = [face for entry in entries if (face := shown[entry]) is not None]
        hidden = {name for entry, name in named.items() if shown[entry] is None}
        visible = {name for entry, name in named.items() if shown[entry] is not None}
        return ShownEntries(kept, frozenset(hidden - visible))

    def instructions(self, server: str, told: str | None) -> str | None:
        if not self.watches(server):
            return told
        entry = json.dumps(told, ensure_ascii=False).encode(errors="surrogatepass")
        with self._alone:
            self._refresh()
            face = self._judge(server, "instructions", {entry: ""}, is_whole=True)[entry]
        if face is entry:
            return told
        return None if face is None else json.loads(face)

    def hides(self, server: str, kind: OfferKind, native_name: str) -> bool:
        pinned = _KINDS.get(kind)
        if pinned is None or not self.watches(server):
            return False
        pin = self._pins(server).get(_SECTIONS[pinned], native_name)
        if pin is not None and pin.is_blocked:
            return True
        return self.holds(server) and (pin is None or not pin.digest)

    def guards(self, server: str) -> bool:
        if self.holds(server):
            return True
        pins = self._pins(server).pins
        if any(pin.is_blocked for section in pins.values() for pin in section.values()):
            return True
        seen = [found for (name, _), found in self._seen.items() if name == server]
        return any(item.is_held for found in seen for item in list(found.items.values()))

    def notes(self, server: str) -> list[str]:
        if not self.watches(server):
            return []
        found = self.of(server)
        told = [] if found.problem is None or not self.holds(server) else [found.problem]
        if found.held:
            told.append(f"{counted(found.held, 'change')} of it held: see callgate trust diff {server}")
        return told

    # ---- for the operator

    def of(self, server: str) -> ServerTrust:
        with self._alone:
            pins = self._pins(server)
            items: list[TrustItem] = []
            for kind in ("instructions", "tool", "prompt"):
                seen = self._seen.get((server, kind)) or _Seen()
                items += [seen.items[name] for name in sorted(seen.items)]
                items += self._not_listed(pins, kind, seen)
            pinned = sum(len(pins.pins.get(section, {})) for section in ("tools", "prompts"))
            return ServerTrust(server, self._modes[server], pinned, tuple(items), self.problem)

    def servers(self) -> list[str]:
        return [name for name, mode in self._modes.items() if mode != "free"]

    def accept(self, server: str, asked: Sequence[TrustItem]) -> None:
        """Raises CallerError and SetupError."""
        with self._alone:
            items = [self._current(server, one) for one in asked]
            self._store.put(server, [item for item in items if item.now is not None])
            pins = self._pins(server)
            taken = [(item, _pin_of(item, pins.get(_SECTIONS[item.kind], item.name))) for item in items]
            self._change(partial(_having, server, taken))
            self._settle(server, items)

    def block(self, server: str, asked: Sequence[TrustItem]) -> None:
        with self._alone:
            pins = self._pins(server)
            items = [self._current(server, one, may_be_as_accepted=True) for one in asked]
            blocked = [
                (item, replace(pins.get(_SECTIONS[item.kind], item.name) or Pin(), is_blocked=True))
                for item in items
            ]
            self._change(partial(_having, server, blocked))
            self._settle(server, items)

    def _settle(self, server: str, items: Sequence[TrustItem]) -> None:
        """Until its list is judged again."""
        for item in items:
            if (seen := self._seen.get((server, item.kind))) is not None:
                seen.items.pop(item.name, None)

    def look(self) -> bool:
        """Whether the lock is another one than before: somebody else wrote it."""
        with self._alone:
            before = self.version
            self._refresh()
            return self.version != before

    # ---- the lock

    def _refresh(self) -> None:
        state = self._file.state()
        if state == self._read_state:
            return
        is_first = self._read_state == ()
        self._read_state = state
        try:
            lock = self._file.read()
        except LockProblemError as problem:
            # What was read before stays: a file that is being merged holds nobody up.
            self._has_lock = not is_first
            self._say(f"{problem}: nothing new of its servers is accepted until it is repaired")
            return
        is_other = lock != self._lock or not self._has_lock
        self._lock, self._has_lock = lock, True
        self._say(None)
        if is_other and not is_first:
            self.version += 1

    def _say(self, problem: str | None) -> None:
        if problem is not None and problem != self.problem:
            _log.error("%s", problem)
        self.problem = problem

    def _pins(self, server: str) -> ServerPins:
        return self._lock.get(server) or ServerPins()

    def _write(self, change: Callable[[Lock], Lock]) -> None:
        """Raises LockProblemError."""
        self._lock = self._file.change(change)
        self._read_state = self._file.state()

    def _change(self, change: Callable[[Lock], Lock]) -> None:
        """Raises SetupError."""
        try:
            self._write(change)
        except LockProblemError as problem:
            raise SetupError(
                SETUP_LOCK, f"{problem}", hint="Repair it or make its folder writable, then try again"
            ) from None
        self._say(None)
        self.version += 1

    # ---- judging

    def _judge(
        self, server: str, kind: PinnedKind, named: Mapping[bytes, str], is_whole: bool
    ) -> dict[bytes, bytes | None]:
        """By entry what is shown of it; None: nothing."""
        section, pins = _SECTIONS[kind], self._pins(server)
        is_first = section not in pins.seen
        if is_first and not is_whole:
            self._early.add((server, section))
        own_names = frozenset(named.values())
        looked = {entry: self._look_at(server, entry, own_names) for entry in named}
        judged = {
            entry: judge(
                self._modes[server],
                pins.get(section, name),
                looked[entry].digest,
                holds=looked[entry].holds,
                is_first=is_first and is_whole,
                has_lock=self._has_lock,
            )
            for entry, name in named.items()
        }
        new = [
            TrustItem(kind, name, "new", False, looked[entry].digest, None, entry, looked[entry].flaws)
            for entry, name in named.items()
            if judged[entry].accepts
        ]
        accepts = is_first and is_whole and self._has_lock
        if accepts and not self._accept_first(server, section, new):
            face = Face.NONE if self.holds(server) else Face.AS_IT_IS
            judged |= {
                entry: replace(one, face=face, change="new") for entry, one in judged.items() if one.accepts
            }
        shown: dict[bytes, bytes | None] = {}
        items: dict[str, TrustItem] = {}
        for entry, name in named.items():
            face, accepted = judged[entry].face, None
            pin = pins.get(section, name)
            if judged[entry].change in ("changed", "blocked") and pin is not None and pin.digest:
                accepted = self._accepted(server, kind, name, pin.digest)
            shown[entry] = entry if face is Face.AS_IT_IS else accepted if face is Face.ACCEPTED else None
            if face is Face.AS_IT_IS and judged[entry].change is None and pin is not None:
                self._keep(server, kind, name, pin.digest, entry)
            change = judged[entry].change
            if change is not None and not (is_first and not is_whole and face is Face.AS_IT_IS):
                held = face is not Face.AS_IT_IS and change != "blocked"
                items[name] = TrustItem(
                    kind, name, change, held, looked[entry].digest, accepted, entry, looked[entry].flaws
                )
        self._note(server, kind, items, frozenset(named.values()), is_whole)
        return shown

    def _look_at(self, server: str, entry: bytes, own_names: frozenset[str]) -> _Looked:
        names = hash(own_names).to_bytes(8, "big", signed=True)
        key = hashlib.blake2b(entry, digest_size=16, key=names).digest()
        if (known := self._looked.get(key)) is None:
            if len(self._looked) >= _MAX_LOOKED_AT:
                self._looked.clear()
            flaws = tuple(
                Flaw(one.kind, one.words, one.tier == "holds", one.where, one.excerpt)
                for one in scan(entry, own_names)
            )
            known = self._looked[key] = _Looked(digest_of(entry), flaws)
        return known

    def _accept_first(self, server: str, section: Section, new: list[TrustItem]) -> bool:
        if not self._writes:
            return False
        try:
            self._store.put(server, new)
            self._write(partial(_first, server, section, new))
        except (LockProblemError, SetupError) as problem:
            self._say(f"{problem}: what {server} lists is not accepted")
            return False
        self._stored |= {(server, item.digest) for item in new}
        if (server, section) in self._early:
            self._early.discard((server, section))
            self.version += 1
        return True

    def _accepted(self, server: str, kind: PinnedKind, name: str, digest: str) -> bytes | None:
        try:
            return self._store.get(server, kind, name, digest)
        except SetupError as problem:
            self._say(f"{problem.message}: what was accepted of {server} cannot be shown")
            return None

    def _keep(self, server: str, kind: PinnedKind, name: str, digest: str, entry: bytes) -> None:
        """The lock may come from another machine: the definition is kept here too, once it is met."""
        if (server, digest) in self._stored or not self._writes:
            return
        self._stored.add((server, digest))
        try:
            if self._store.get(server, kind, name, digest) is None:
                self._store.put(server, [TrustItem(kind, name, "new", False, digest, None, entry)])
        except SetupError as problem:
            self._say(f"{problem.message}: definitions of {server} are not kept")

    def _note(
        self,
        server: str,
        kind: PinnedKind,
        items: dict[str, TrustItem],
        listed: frozenset[str],
        is_whole: bool,
    ) -> None:
        seen = self._seen.setdefault((server, kind), _Seen())
        before = dict(seen.items)
        if is_whole:
            seen.items, seen.listed = items, listed
        else:
            for name in listed:
                seen.items.pop(name, None)
            seen.items |= items
            while len(seen.items) > _MAX_ITEMS:
                del seen.items[next(iter(seen.items))]
        for name, item in seen.items.items():
            was = before.get(name)
            if was is None or was.digest != item.digest:
                flaws = ", ".join(dict.fromkeys(flaw.words for flaw in item.flaws if flaw.holds))
                _log.warning(
                    "%s: the %s %s is %s%s%s",
                    server,
                    kind,
                    name,
                    item.change,
                    " and held" if item.is_held else "",
                    f" ({flaws})" if flaws else "",
                )

    # ---- for accepting

    def _current(self, server: str, asked: TrustItem, *, may_be_as_accepted: bool = False) -> TrustItem:
        """What it is now, if that is what was shown."""
        seen = self._seen.get((server, asked.kind)) or _Seen()
        found = seen.items.get(asked.name)
        pin = self._pins(server).get(_SECTIONS[asked.kind], asked.name)
        if found is None and pin is not None and (may_be_as_accepted or pin.is_blocked):
            found = TrustItem(asked.kind, asked.name, "gone", False, pin.digest)
        if found is None:
            raise CallerError(
                CALLER_NOT_FOUND,
                f"Nothing waits to be accepted of the {asked.kind} {asked.name[:100]} of {server}",
                hint=f"See what does: callgate trust diff {server}",
            )
        if found.digest != asked.digest:
            raise CallerError(
                CALLER_STALE,
                f"The {asked.kind} {asked.name[:100]} of {server} is another one than was shown",
                hint="Look at it again",
            )
        return found

    def _not_listed(self, pins: ServerPins, kind: PinnedKind, seen: _Seen) -> list[TrustItem]:
        if kind == "instructions":
            return []
        return [
            TrustItem(kind, name, "blocked" if pin.is_blocked else "gone", False, pin.digest)
            for name, pin in sorted(pins.pins.get(_SECTIONS[kind], {}).items())
            if name not in seen.items
            and (pin.is_blocked or (seen.listed is not None and name not in seen.listed))
        ]


def _having(server: str, changed: Sequence[tuple[TrustItem, Pin | None]], lock: Lock) -> Lock:
    pins = lock.get(server) or ServerPins()
    for item, pin in changed:
        pins = pins.having(_SECTIONS[item.kind], {item.name: pin})
    return {**lock, server: pins}


def _first(server: str, section: Section, new: Sequence[TrustItem], lock: Lock) -> Lock:
    """Another process may have been first: what it accepted stays."""
    pins = lock.get(server) or ServerPins()
    if section in pins.seen:
        return lock
    return {**lock, server: pins.having(section, {item.name: _pin_of(item, None) for item in new})}


def _pin_of(item: TrustItem, before: Pin | None) -> Pin | None:
    """None: it is gone, and so is its entry."""
    if item.now is None:
        is_blocked = before is not None and before.is_blocked and before.digest
        return replace(before, is_blocked=False) if is_blocked and before is not None else None
    try:
        read = read_definition(item.now)
    except UnreadableError:
        read = None
    told = read.get("description") if isinstance(read, dict) else read
    return Pin(item.digest, told if isinstance(told, str) else "")


def _name_of(entry: bytes) -> str | None:
    """As the relay reads it: of a member that is given twice the last one counts."""
    try:
        name = json.loads(entry).get("name")
    except (ValueError, RecursionError, AttributeError):
        return None
    return name if isinstance(name, str) else None
