"""What comes back up: the reply, which is returned, and what is told while it is awaited."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from callgate.model.session import Session


class RpcFault(msgspec.Struct, frozen=True, gc=False):
    """A JSON-RPC error object."""

    code: int
    message: str
    data: Any = None
    raw: bytes | None = None  # an upstream's own, which goes to the client as it came


class Notice(msgspec.Struct, frozen=True, gc=False):
    """A notification on its way to the client (progress, log message)."""

    method: str
    params: bytes


class Answer(msgspec.Struct, frozen=True):
    """What a client said to a server's own question: one of the two, raw JSON."""

    result: bytes | None = None
    error: bytes | None = None


class Asking(msgspec.Struct, frozen=True):
    """A server's own request to the client (sampling, elicitation, roots), on the way of a call.

    `respond` is to be called once, with the client's answer; never, when the client goes away.
    """

    method: str
    params: bytes
    respond: Callable[[Answer], None]


class Withdrawn(msgspec.Struct, frozen=True):
    """The server takes a question back; whatever the client answers now is ignored."""

    question: Asking
    params: bytes = b""  # of the server's `notifications/cancelled`: its reason


class Paused(msgspec.Struct, frozen=True):
    """The upstream closed the stream of this call on purpose and will go on after a reconnect."""

    retry_ms: int | None


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The end of every answer: a raw result, or a fault."""

    result: bytes | None = None
    fault: RpcFault | None = None
    opened: Session | None = None  # a handshake opened this session: the edge must hand out its id


class Undelivered(msgspec.Struct, frozen=True):
    """What a server said that goes no further, for the record only: a question that was answered for the
    client, or the progress of nothing we know."""

    method: str
    params: bytes
    answer: Answer | None = None  # what the server was told


# Messages that a server may send without a request.
Unsolicited = Notice | Asking | Withdrawn
# What a server may say before its reply.
Said = Notice | Asking | Withdrawn | Paused
# Who hears it: one after the other, and whoever tells waits while the listener cannot take more.
Tell = Callable[[Said], Awaitable[None]]


async def tell_nobody(said: Said) -> None:
    """For those who want the reply alone."""
