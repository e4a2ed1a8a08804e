"""*Our* grouping of one client's exchanges; not the protocol's session, which modern MCP no longer has."""

from dataclasses import dataclass, field

from callgate.model.envelope import Envelope, Era
from callgate.model.identity import Principal
from callgate.model.presence import Presence


@dataclass(slots=True)
class Session:
    """Legacy: one per handshake. Modern: same principal, client and workspace, no gap over 30 minutes."""

    session_id: str
    principal: Principal
    transport: str  # "http" | "stdio"
    envelope: Envelope  # as declared when the session began
    created_at: float
    last_seen_at: float
    workspace: str | None = None
    target: str | None = None  # /servers/<target>/mcp; None is the aggregate
    # The `Mcp-Session-Id` we minted, for legacy HTTP only. A secret: never shown, never recorded.
    handshake_id: str | None = None
    ended_at: float | None = None
    presence: Presence = field(default_factory=Presence)

    @property
    def era(self) -> Era:
        return self.envelope.era
