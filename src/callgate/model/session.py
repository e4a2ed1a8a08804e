"""*Our* grouping of one client's exchanges; not the protocol's session, which modern MCP no longer has."""

from dataclasses import dataclass, field

from callgate.model.envelope import Envelope, Era
from callgate.model.identity import Principal


@dataclass(slots=True, eq=False)
class Presence:
    """Whether a client is still there, as far as the streams tell that it keeps open.

    Edge keeps it up to date. Parts that hold something for this client alone read it.
    """

    streams: int = 0  # open now
    left_at: float | None = None  # unix seconds at which the last of them closed

    def joined(self) -> None:
        self.streams += 1

    def left(self, now_s: float) -> None:
        self.streams -= 1
        if self.streams == 0:
            self.left_at = now_s


@dataclass(slots=True)
class Session:
    """Legacy: one per handshake. Modern: one principal, client, workspace, pipe; no gap over 30 minutes."""

    session_id: str
    principal: Principal
    transport: str  # "http" | "stdio"
    envelope: Envelope  # as declared when the session began
    created_at: float
    last_seen_at: float
    workspace: str | None = None
    is_local: bool = False  # its client is on this machine: paths mean the same to both
    target: str | None = None  # /servers/<target>/mcp; None is the aggregate
    # The `Mcp-Session-Id` we minted, for legacy HTTP only. A secret: never shown, never recorded.
    handshake_id: str | None = None
    ended_at: float | None = None
    presence: Presence = field(default_factory=Presence)

    @property
    def era(self) -> Era:
        return self.envelope.era
