"""What an operator answers: accept, block, unblock. Writes the lock. Must not know how a server is asked."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from callgate.model.error_codes import CALLER_BAD_ARGUMENTS, CALLER_NOT_FOUND, CALLER_STALE
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean
from callgate.model.trust import LISTED_KINDS, SINGLE_KINDS, PinnedKind, TrustItem
from callgate.ports.faces import DefinitionStore
from callgate.trust.known_lock import SECTION_OF, Become, KnownLock, pin_of
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
        """`asked`: with the digests that were shown. It takes no block back: somebody may have blocked it
        since it was shown."""
        with self._alone:
            self._lock.refresh()
            found = self._differing(server, {one.kind for one in asked})
            items = [self._as_shown(server, one, found.get((one.kind, one.name))) for one in asked]
            self._store.put(server, [item for item in items if item.now is not None])
            self._set(server, items, partial(self._accepted, server))

    def block(self, server: str, asked: Sequence[TrustItem]) -> None:
        """By name: whatever it says now or later."""
        with self._alone:
            self._lock.refresh()
            for one in asked:
                self._check_known(server, one)
            self._set(server, asked, lambda item, before: replace(before or Pin(), is_blocked=True))

    def unblock(self, server: str, asked: Sequence[TrustItem]) -> None:
        """What was accepted counts again. What never was, is new again."""

        def unblocked(item: TrustItem, before: Pin | None) -> Pin | None:
            if before is None or not before.is_blocked:
                raise CallerError(
                    CALLER_NOT_FOUND,
                    f"The {item.kind} {item.name[:100]} of {server} is not blocked",
                    hint="See what is: callgate trust",
                )
            return replace(before, is_blocked=False) if before.digest else None

        with self._alone:
            self._lock.refresh()
            for one in asked:
                self._check_known(server, one)
            self._set(server, asked, unblocked)

    def names(self, server: str) -> tuple[tuple[PinnedKind, str], ...]:
        """All that can be blocked: what is listed, and what the lock has."""
        pins = self._lock.pins(server).pins
        return tuple(
            (kind, name)
            for kind in LISTED_KINDS
            for name in sorted(self._seen.names(server, kind) | pins.get(SECTION_OF[kind], {}).keys())
        )

    def _accepted(self, server: str, item: TrustItem, before: Pin | None) -> Pin | None:
        if before is not None and before.is_blocked:
            raise CallerError(
                CALLER_STALE,
                f"The {item.kind} {item.name[:100]} of {server} is blocked",
                hint="To have it back: callgate trust unblock",
            )
        return pin_of(item, for_some=self._seen.is_for_some(server, item.kind, item.name))

    def _set(self, server: str, items: Sequence[TrustItem], become: Become) -> None:
        self._lock.set(server, items, become)
        self._seen.settle(server, items)

    def _differing(self, server: str, kinds: Iterable[PinnedKind]) -> dict[tuple[PinnedKind, str], TrustItem]:
        """All that is not as it was accepted, also what is not listed any more."""
        pins = self._lock.pins(server).pins
        items = (
            item for kind in kinds for item in self._seen.of(server, kind, pins.get(SECTION_OF[kind], {}))
        )
        return {(item.kind, item.name): item for item in items}

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

    def _as_shown(self, server: str, asked: TrustItem, found: TrustItem | None) -> TrustItem:
        """What it is now, if that is what was shown."""
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
