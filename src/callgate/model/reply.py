"""What comes back up: items of one async iterator, notices first, one reply last."""

from dataclasses import dataclass
from typing import Any

from callgate.model.session import Session


@dataclass(frozen=True, slots=True)
class RpcFault:
    """A JSON-RPC error object."""

    code: int
    message: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification on its way to the client (progress, log message)."""

    method: str
    params: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """The last item of every answer: a raw result, or a fault."""

    result: bytes | None = None
    fault: RpcFault | None = None
    opened: Session | None = None  # a handshake opened this session: the edge must hand out its id


Item = Notice | Reply
