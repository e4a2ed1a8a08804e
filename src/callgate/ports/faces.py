"""Relay asks what of a server's words may be shown. Api asks what changed, accepts and blocks. Trust keeps
whole definitions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from callgate.model.offers import OfferKind
from callgate.model.trust import Extent, ServerTrust, TrustItem, TrustMode


@dataclass(frozen=True, slots=True)
class ShownEntries:
    entries: Sequence[bytes]  # of a list, as callers may see them
    hidden: frozenset[str] = frozenset()  # native names of those that are left out


class Faces(Protocol):
    @property
    def version(self) -> int:
        """Increases when an operator's word changed: what is known is to be judged again."""
        ...

    def mode_of(self, server: str) -> TrustMode:
        """`free`: everything of it passes as it comes, and nothing below is asked about it."""
        ...

    def show(self, server: str, kind: OfferKind, entries: Sequence[bytes], extent: Extent) -> ShownEntries:
        """Which of these raw definitions are shown, each as it is or as it was accepted. In a thread: it may
        read and write files."""
        ...

    def end_first_sight(self, server: str) -> None:
        """It was asked what it lists to clients that declare more: what it lists from now on is new."""
        ...

    def instructions(self, server: str, told: str | None) -> str | None:
        """What a client is told in the place of what the server told. In a thread, as `show`."""
        ...

    def server_info(self, server: str, told: bytes) -> bytes | None:
        """The same for how the server names itself (JSON, without its version). None: it must not be told."""
        ...

    def hides(self, server: str, kind: OfferKind, native_name: str) -> bool:
        """Whether it is unknown to callers, whatever the server lists."""
        ...

    def guards(self, server: str) -> bool:
        """Whether something of it is unknown to callers, so that a call must name what was judged."""
        ...

    def notes(self, server: str) -> list[str]:
        """For its health: what is held, and what is wrong with the lock."""
        ...


class DefinitionStore(Protocol):
    """Whole definitions by their digest, beside the lock. Raises SetupError."""

    def put(self, server: str, items: Sequence[TrustItem]) -> None:
        """`now` of each, under its digest."""
        ...

    def get(self, server: str, kind: str, name: str, digest: str) -> bytes | None: ...


class TrustDesk(Protocol):
    @property
    def news(self) -> Sequence[ServerTrust]:
        """As it was seen last, without definitions."""
        ...

    @property
    def problem(self) -> str | None:
        """What is wrong with the lock."""
        ...

    async def look(self, server: str | None = None) -> Sequence[ServerTrust]:
        """Asks the servers again what they list; all of those that are watched, or one. Raises CallerError
        for one that there is not."""
        ...

    async def accept(self, server: str, items: Sequence[TrustItem]) -> ServerTrust:
        """`items`: with the digests that were shown. Raises CallerError if one of them is another now, and
        SetupError if it cannot be written."""
        ...

    async def block(self, server: str, items: Sequence[TrustItem]) -> ServerTrust:
        """By their names: from now on they are unknown to callers. Raises CallerError for one that there is
        not."""
        ...

    async def unblock(self, server: str, items: Sequence[TrustItem]) -> ServerTrust:
        """Takes `block` back."""
        ...
