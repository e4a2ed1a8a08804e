"""Keeps what servers say to what was accepted of it. Implements `ports.Faces`.

Used by the loop and by threads: everything that looks at the lock does so alone. Must not know how a server
is asked.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from callgate.model.errors import SetupError
from callgate.model.offers import OfferKind
from callgate.model.trust import (
    LISTED_KINDS,
    SINGLE_KINDS,
    Extent,
    PinnedKind,
    ServerTrust,
    TrustItem,
    TrustMode,
)
from callgate.model.wording import counted
from callgate.ports.faces import DefinitionStore, ShownEntries
from callgate.trust.answers import Answers
from callgate.trust.judge import Face, LookedAt, judge, name_of
from callgate.trust.known_lock import SECTION_OF, KnownLock
from callgate.trust.lock_file import LockFile, LockProblemError, Section
from callgate.trust.seen_changes import SeenChanges

_KINDS: dict[OfferKind, PinnedKind] = {
    OfferKind.TOOL: "tool",
    OfferKind.PROMPT: "prompt",
    OfferKind.TEMPLATE: "template",
}
_NOTHING = b"null"  # of a server without instructions: there is nothing to hold
# First sight of the tools that a server lists only to some clients ends then at the latest.
_FIRST_SIGHT_S = 300.0


class Trust:
    def __init__(
        self,
        modes: Mapping[str, TrustMode],
        lock_file: LockFile,
        store: DefinitionStore,
        *,
        writes: bool = True,
        hide: Callable[[str, str], str] = lambda server, text: text,
    ) -> None:
        """`writes`: False to compare only, and to leave the lock as it is. `hide`: takes the secrets of a
        server's entry out of its words, for the lock."""
        self._modes = dict(modes)
        self._leaving: dict[
            str, TrustMode
        ] = {}  # not in the file any more, but served until they are exchanged
        self._lock = KnownLock(lock_file, hide)
        self._store = store
        self._writes = writes
        self._alone = threading.RLock()
        self._seen = SeenChanges(hide)
        self.answers = Answers(self._lock, self._seen, store, self._alone)
        self._looked = LookedAt()
        self._stored: set[tuple[str, str]] = set()
        self._early: set[tuple[str, Section]] = set()  # parts of lists that came before the whole one
        # Servers whose tools were accepted at first sight just now, until what they list only to some clients
        # was asked for, too.
        self._first_sight_until_mono: dict[str, float] = {}

    # ---- ports.Faces

    @property
    def version(self) -> int:
        return self._lock.version

    @property
    def problem(self) -> str | None:
        return self._lock.problem

    def mode_of(self, server: str) -> TrustMode:
        return self._modes.get(server) or self._leaving.get(server, "free")

    def use(self, modes: Mapping[str, TrustMode]) -> None:
        """The operator's words, taken over while we run."""
        with self._alone:
            if modes != self._modes:
                self._leaving = {**self._leaving, **self._modes}
                self._modes = dict(modes)
                self._lock.version += 1

    def move_lock(self, lock_file: LockFile) -> None:
        """There is a configuration file now, and the lock is beside it."""
        with self._alone:
            self._lock.move(lock_file)

    def let_go(self) -> None:
        """Those that left are served no longer: a database may have the name next."""
        self._leaving = {}

    def show(self, server: str, kind: OfferKind, entries: Sequence[bytes], extent: Extent) -> ShownEntries:
        named = {entry: name for entry in entries if (name := name_of(entry, kind.key)) is not None}
        with self._alone:
            self._lock.refresh()
            shown = self._judge(server, _KINDS[kind], named, extent)
            for entry in entries:
                if (
                    entry not in named
                ):  # nobody can say whose it is: it passes only if nothing is wrong with it
                    is_odd = self.mode_of(server) == "hold" or self._looked.look(entry, frozenset()).holds
                    shown[entry] = None if is_odd else entry
        kept = [face for entry in entries if (face := shown[entry]) is not None]
        hidden = {name for entry, name in named.items() if shown[entry] is None}
        visible = {name for entry, name in named.items() if shown[entry] is not None}
        return ShownEntries(kept, frozenset(hidden - visible))

    def instructions(self, server: str, told: str | None) -> str | None:
        entry = json.dumps(told, ensure_ascii=False).encode(errors="surrogatepass")
        face = self._single(server, "instructions", entry)
        if face is entry:
            return told
        return None if face is None else json.loads(face)

    def server_info(self, server: str, told: bytes) -> bytes | None:
        return self._single(server, "server", told)

    def _single(self, server: str, kind: PinnedKind, entry: bytes) -> bytes | None:
        with self._alone:
            self._lock.refresh()
            return self._judge(server, kind, {entry: ""}, "common")[entry]

    def end_first_sight(self, server: str) -> None:
        self._first_sight_until_mono.pop(server, None)

    def hides(self, server: str, kind: OfferKind, native_name: str) -> bool:
        pin = self._lock.pins(server).get(SECTION_OF[_KINDS[kind]], native_name)
        if pin is not None and pin.is_blocked:
            return True
        return self.mode_of(server) == "hold" and (pin is None or not pin.digest)

    def guards(self, server: str) -> bool:
        if self.mode_of(server) == "hold":
            return True
        pins = self._lock.pins(server).pins
        if any(pin.is_blocked for section in pins.values() for pin in section.values()):
            return True
        return self._seen.holds(server)

    def notes(self, server: str) -> list[str]:
        if (mode := self.mode_of(server)) == "free":
            return []
        found = self.of(server)
        told = [] if found.problem is None or mode != "hold" else [found.problem]
        if found.held:
            told.append(f"{counted(found.held, 'change')} of it held: see callgate trust diff {server}")
        return told

    # ---- for the operator

    def of(self, server: str) -> ServerTrust:
        with self._alone:
            pins = self._lock.pins(server)
            items: list[TrustItem] = []
            for kind in (*SINGLE_KINDS, *LISTED_KINDS):
                items += self._seen.of(server, kind, pins.pins.get(SECTION_OF[kind], {}))
            pinned = sum(len(pins.pins.get(SECTION_OF[kind], {})) for kind in LISTED_KINDS)
            names = self.answers.names(server)
            return ServerTrust(server, self.mode_of(server), pinned, tuple(items), self.problem, names)

    def servers(self) -> list[str]:
        return [name for name, mode in self._modes.items() if mode != "free"]

    def look(self) -> bool:
        """Whether the lock is another one than before: somebody else wrote it."""
        with self._alone:
            before = self.version
            self._lock.refresh()
            return self.version != before

    # ---- judging

    def _judge(
        self, server: str, kind: PinnedKind, named: Mapping[bytes, str], extent: Extent
    ) -> dict[bytes, bytes | None]:
        """By entry what is shown of it; None: nothing."""
        section, pins = SECTION_OF[kind], self._lock.pins(server)
        is_whole, was_seen = extent == "common", section in pins.seen
        is_early, for_some = not is_whole and not was_seen, not is_whole and was_seen
        if is_early:
            self._early.add((server, section))
        is_first = not was_seen if is_whole else for_some and self._is_first_for_some(server, kind)
        own_names = frozenset(named.values())
        looked = {entry: self._looked.look(entry, own_names) for entry in named}
        judged = {
            entry: judge(
                self.mode_of(server),
                pins.get(section, name),
                looked[entry],
                is_first=is_first,
                has_lock=self._lock.is_usable,
            )
            for entry, name in named.items()
        }
        new = [
            TrustItem(kind, name, "new", False, looked[entry].digest, None, entry, looked[entry].flaws)
            for entry, name in named.items()
            if judged[entry].accepts
        ]
        is_written = new if for_some else is_first and self._lock.is_usable
        if is_written and self._accept_first(server, section, new, for_some=for_some):
            pins = self._lock.pins(server)  # another process may have been first, with another list
            judged |= {
                entry: judge(
                    self.mode_of(server),
                    pins.get(section, name),
                    looked[entry],
                    is_first=False,
                    has_lock=True,
                )
                for entry, name in named.items()
                if judged[entry].accepts
            }
        elif is_written:
            face = Face.NONE if self.mode_of(server) == "hold" else Face.AS_IT_IS
            judged |= {
                entry: replace(one, face=face, change="new") for entry, one in judged.items() if one.accepts
            }
        if kind == "tool" and not for_some and any(one.change for one in judged.values()):
            self._first_sight_until_mono.pop(server, None)  # it is another one by now
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
            is_silent = entry == _NOTHING or (is_early and face is Face.AS_IT_IS)
            if change is not None and not is_silent:
                held = face is not Face.AS_IT_IS and change != "blocked"
                items[name] = TrustItem(
                    kind, name, change, held, looked[entry].digest, accepted, entry, looked[entry].flaws
                )
        self._seen.note(server, kind, items, own_names, extent)
        return shown

    def _is_first_for_some(self, server: str, kind: PinnedKind) -> bool:
        return kind == "tool" and self._first_sight_until_mono.get(server, 0.0) > time.monotonic()

    def _accept_first(self, server: str, section: Section, new: list[TrustItem], *, for_some: bool) -> bool:
        if not self._writes:
            return False
        try:
            self._store.put(server, new)
            self._lock.set_first(server, section, new, for_some=for_some)
        except (LockProblemError, SetupError) as problem:
            self._lock.say(f"{problem}: what {server} lists is not accepted")
            return False
        self._stored |= {(server, item.digest) for item in new}
        if section == "tools" and not for_some:
            self._first_sight_until_mono[server] = time.monotonic() + _FIRST_SIGHT_S
        if (server, section) in self._early:
            self._early.discard((server, section))
            self._lock.version += 1
        return True

    def _accepted(self, server: str, kind: PinnedKind, name: str, digest: str) -> bytes | None:
        try:
            return self._store.get(server, kind, name, digest)
        except SetupError as problem:
            self._lock.say(f"{problem.message}: what was accepted of {server} cannot be shown")
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
            self._lock.say(f"{problem.message}: definitions of {server} are not kept")
