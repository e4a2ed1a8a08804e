"""What a `Connection` hands out: commands to carry out, and events that happened.

msgspec structs and not frozen dataclasses, like everything else of this kind in `wire`: two are made for each
request, and a frozen dataclass costs 0.4 µs to make, a struct 0.06 µs.
"""

import msgspec

from callgate.model.errors import CallgateError, UpstreamError
from callgate.wire.connection.request_table import Pending


class Send(msgspec.Struct, frozen=True, gc=False):
    """Give this request to the transport; when it takes no more at the moment, say `busy`."""

    rpc_id: int
    frame: bytes


class Held(msgspec.Struct, frozen=True, gc=False):
    """Stored and its time is running; `ready` will hand out the frame."""

    rpc_id: int


class Answered(msgspec.Struct, frozen=True, gc=False):
    """A terminal outcome: the upstream's own answer, exactly one of the two."""

    pending: Pending
    result: bytes | None
    error: bytes | None


class Ended(msgspec.Struct, frozen=True):
    """A terminal outcome without an answer. `frame`: the one cancellation to send, best effort."""

    pending: Pending
    error: UpstreamError
    frame: bytes | None = None


class Cancelled(msgspec.Struct, frozen=True):
    """A terminal outcome that the caller wanted. `frame`: the one cancellation to send, best effort."""

    pending: Pending
    frame: bytes | None


class Progressed(msgspec.Struct, frozen=True):
    """`params` carries the client's own token again."""

    pending: Pending
    params: bytes


class Notified(msgspec.Struct, frozen=True):
    """`pending`: the open request on whose stream it came, when the transport can tell."""

    method: str
    params: bytes
    pending: Pending | None


class AskedBack(msgspec.Struct, frozen=True):
    """A request of the server. Its answer is worth sending only while `epoch` is the connection's."""

    rpc_id: bytes
    method: str
    params: bytes
    pending: Pending | None
    epoch: int


class Late(msgspec.Struct, frozen=True):
    """A response or progress for a request that had ended `late_s` ago; not delivered."""

    rpc_id: int
    method: str
    late_s: float
    progress: bytes | None = None  # the params, unless it was a response


class Orphan(msgspec.Struct, frozen=True):
    """A response or progress for nothing we know; not delivered. `rpc_id` as the upstream wrote it."""

    rpc_id: bytes
    progress: bytes | None = None  # the params, unless it was a response


class Garbage(msgspec.Struct, frozen=True):
    """A frame that is no message; dropped."""

    error: CallgateError


Event = Answered | Progressed | Notified | AskedBack | Late | Orphan | Garbage | Ended
