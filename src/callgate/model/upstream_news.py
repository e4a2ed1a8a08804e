"""News of an upstream: what it says outside of any call, and what changed about it."""

from dataclasses import dataclass

from callgate.model.reply import Undelivered, Unsolicited
from callgate.model.view import View


@dataclass(frozen=True, slots=True)
class ServerMessage:
    """A notification or question of a server that belongs to no call we could name."""

    upstream: str
    session_id: str | None  # the one session that this connection serves; None on a shared one
    item: Unsolicited | Undelivered
    wanted_by: tuple[str, ...] = ()  # on a shared one: sessions that asked for this message of the log


@dataclass(frozen=True, slots=True)
class StateChanged:
    """It came up, or went down: what it offers is to be asked again."""

    upstream: str
    is_up: bool


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """A connection that lists for all clients of one view said that a list changed."""

    upstream: str
    view: View
    method: str  # the notification's


News = ServerMessage | StateChanged | ViewChanged
