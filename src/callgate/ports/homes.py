"""Relay and edge ask which replica a session belongs to. One process without replicas has none of this."""

from dataclasses import dataclass
from typing import Protocol

from callgate.model.envelope import Envelope
from callgate.model.identity import Principal
from callgate.model.session import Session


@dataclass(frozen=True, slots=True)
class AdoptedSession:
    """A handshake session whose home is gone, and what there was to know of it."""

    session_id: str
    envelope: Envelope
    created_at: float
    target: str | None
    workspace: str | None


@dataclass(frozen=True, slots=True)
class ModernHome:
    session_id: str
    home: str  # the replica that makes its calls to servers that keep state; empty: not known


@dataclass(frozen=True, slots=True)
class ModernKey:
    """What makes a modern session, as all replicas know it, and the id that it gets if it begins now."""

    digest: str
    session_id: str
    principal: str


class Homes(Protocol):
    @property
    def gateway(self) -> str:
        """This replica's own name, new with every start."""
        ...

    # ---- handshake sessions

    def new_handshake_id(self, principal: Principal) -> str: ...

    def home_of(self, handshake_id: str, principal: Principal) -> str | None:
        """The replica that has this session, as far as is known here. None: the id is forged, cut, or another
        principal's. No look-up."""
        ...

    async def moved_to(self, handshake_id: str) -> str | None:
        """Whom the directory names, where the replica that the id names does not know the session."""
        ...

    async def adopt(self, handshake_id: str, principal: Principal, gone: str) -> AdoptedSession | str | None:
        """Its home is gone: the session is ours from now on, or that of the replica that is named instead.
        None: it cannot be gone on with, or nobody knows it. Raises UpstreamError while nobody can tell."""
        ...

    def opened(self, session: Session) -> None:
        """A handshake session is here from now on. Written down later: nothing waits for it."""
        ...

    def bound(self, session: Session) -> None:
        """It has something that lives in this process only: nobody can go on with it elsewhere."""
        ...

    def ended(self, session: Session, *, for_good: bool) -> None:
        """`for_good`: not only here, because we stop or somebody else has it."""
        ...

    # ---- modern sessions

    def modern_key(self, parts: tuple[str | None, ...], now_s: float) -> ModernKey: ...

    async def claim(self, key: ModernKey) -> ModernHome:
        """Who has it: whoever was first. Waits a moment at most, and else takes it to be new and ours."""
        ...

    def is_here(self, session: Session) -> bool:
        """A modern session, and the directory said so."""
        ...

    async def settled_home(self, session: Session) -> str:
        """Of a session that was claimed here. If the directory is about to answer, its answer."""
        ...

    async def take(self, session: Session, gone: str) -> str:
        """Its home is gone: who has it instead. Raises UpstreamError while nobody can tell."""
        ...

    def entered(self, key: ModernKey, session: Session, home: str) -> None:
        """A modern session is in use here. `home`: who has it; empty: the directory could not say."""
        ...
