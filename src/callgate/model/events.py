"""Immutable facts, each emitted once into an `EventSink`, whatever becomes of them there."""

import msgspec

from callgate.model.exchange import Exchange, Settlement
from callgate.model.session import Session


class SessionOpened(msgspec.Struct, frozen=True):
    session: Session


class SessionClosed(msgspec.Struct, frozen=True):
    session: Session
    goes_on: bool = False  # at another replica: it is over here only


class ExchangeOpened(msgspec.Struct, frozen=True):
    exchange: Exchange


class ExchangeSettled(msgspec.Struct, frozen=True, gc=False):
    """The exchange does not change any more from here on: a sink on another thread may read it."""

    exchange: Exchange


class NoticePassed(msgspec.Struct, frozen=True):
    """A notification that passed, as an exchange that is settled already.

    There may be any number of these during one call: a sink may count the many instead of keeping them.
    """

    exchange: Exchange


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """A message that became no exchange: it was refused at the door, or a server said it out of turn.

    There may be any number of these that nobody asked for: a sink may count the many instead of keeping them.
    """

    event_id: str
    at_s: float
    method: str  # where none could be read: what the HTTP request was, as "POST /mcp"
    settlement: Settlement
    is_notification: bool = False
    rpc_id: bytes | None = None
    params: bytes = b""  # left out when too long, or not to be read
    size_bytes: int = 0  # of the message, as far as it is known
    sender: str = "client"  # "client" | "server" | "operator"
    client: str = ""
    server_name: str | None = None
    tool_name: str | None = None  # of a call that was refused
    session_id: str | None = None
    principal: str | None = None  # None: nobody we know


Event = SessionOpened | SessionClosed | ExchangeOpened | ExchangeSettled | NoticePassed | Aside
