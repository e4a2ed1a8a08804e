"""What an operator answers: accept, block, unblock. Writes the lock. Must not know how a server is asked."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from callgate.model.error_codes import CALLER_BAD_ARGUMENTS, CALLER_NOT_FOUND, CALLER_STALE
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean
from callgate.model.trust import LISTED_KINDS, SINGLE_KINDS, PinnedKind, TrustItem
from callgate.ports.faces import DefinitionStore
from callgate.trust.known_lock import SECTION_OF, KnownLock, pin_of
from callgate.trust.lock_file import Pin
from callgate.trust.seen_changes import SeenChanges


class Answers:
    """All of it raises CallerError and SetupError."""

    def __init__(
        self, lock: KnownLock, seen: SeenChanges, store: DefinitionStore, alone: threading.RLock
    ) -> None:
        self._lock = lock
        self._seen = seen
        self._store = store
        self._alone = alone

    def accept(self, server: str, asked: Sequence[TrustItem]) -> None:
        """`asked`: with the digests that were shown."""
        with self._alone:
            items = [self._as_shown(server, one) for one in asked]
            self._store.put(server, [item for item in items if item.now is not None])
            self._set(server, [(item, self._accepted(server, item)) for item in items])

    def block(self, server: str, asked: Sequence[TrustItem]) -> None:
        """By name: whatever it says now or later."""
        with self._alone:
            for one in asked:
                self._check_known(server, one)
            self._set(
                server,
                [(one, replace(self._pin(server, one) or Pin(), is_blocked=True)) for one in asked],
            )

    def unblock(self, server: str, asked: Sequence[TrustItem]) -> None:
        """What was accepted counts again. What never was, is new again."""
        with self._alone:
            freed: list[tuple[TrustItem, Pin | None]] = []
            for one in asked:
                self._check_known(server, one)
                pin = self._pin(server, one)
                if pin is None or not pin.is_blocked:
                    raise CallerError(
                        CALLER_NOT_FOUND,
                        f"The {one.kind} {one.name[:100]} of {server} is not blocked",
                        hint="See what is: callgate trust",
                    )
                freed.append((one, replace(pin, is_blocked=False) if pin.digest else None))
            self._set(server, freed)

    def names(self, server: str) -> tuple[tuple[PinnedKind, str], ...]:
        """All that can be blocked: what is listed, and what the lock has."""
        pins = self._lock.pins(server).pins
        return tuple(
            (kind, name)
            for kind in LISTED_KINDS
            for name in sorted(self._seen.names(server, kind) | pins.get(SECTION_OF[kind], {}).keys())
        )

    def _accepted(self, server: str, item: TrustItem) -> Pin | None:
        for_some = self._seen.is_for_some(server, item.kind, item.name)
        return pin_of(item, self._pin(server, item), for_some=for_some)

    def _set(self, server: str, pins: Sequence[tuple[TrustItem, Pin | None]]) -> None:
        self._lock.set(server, pins)
        self._seen.settle(server, [item for item, _ in pins])

    def _pin(self, server: str, item: TrustItem) -> Pin | None:
        return self._lock.pins(server).get(SECTION_OF[item.kind], item.name)

    def _check_known(self, server: str, asked: TrustItem) -> None:
        if asked.kind in SINGLE_KINDS:
            raise CallerError(
                CALLER_BAD_ARGUMENTS,
                "Only tools, prompts and resource templates are blocked",
                hint=f'Set trust = "hold" for {server}: it keeps what was accepted',
            )
        known = [name for kind, name in self.names(server) if kind == asked.kind]
        if asked.name not in known:
            raise CallerError(
                CALLER_NOT_FOUND,
                f"{server} has no {asked.kind} {asked.name[:100]}",
                hint=did_you_mean(asked.name, known) or f"See what it has: callgate tools {server}",
            )

    def _as_shown(self, server: str, asked: TrustItem) -> TrustItem:
        """What it is now, if that is what was shown."""
        found, pin = self._seen.get(server, asked.kind, asked.name), self._pin(server, asked)
        if found is None and pin is not None and pin.is_blocked:
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
