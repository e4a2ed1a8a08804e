"""What an upstream says of its own accord."""

from dataclasses import dataclass

from callgate.model.reply import Unasked, Undelivered
from callgate.model.view import View


@dataclass(frozen=True, slots=True)
class Heard:
    """A notification or question that belongs to no call we could name."""

    upstream: str
    session_id: str | None  # the one session that this connection serves; None on a shared one
    item: Unasked | Undelivered
    wanted_by: tuple[str, ...] = ()  # on a shared one: sessions that asked for this message of the log


@dataclass(frozen=True, slots=True)
class StateChanged:
    """It came up, or went down: what it offers is to be asked anew."""

    upstream: str
    is_up: bool


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """A connection that lists for all clients of one view said that a list changed."""

    upstream: str
    view: View
    method: str  # the notification's


News = Heard | StateChanged | ViewChanged
