"""The connections beyond the limit: each is told so and closed, and takes no place.

The answer waits for the client's first bytes: closing a socket that holds unread bytes resets the connection,
and the client would see that instead of the answer. So a few connections stay for a moment. When there are
more, the one that has been silent longest is closed without an answer: an honest client asks at once.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from callgate.edge.http.message import RETRY_AFTER_S, Responder
from callgate.model.error_codes import REFUSED_OVERLOADED
from callgate.model.errors import RefusedError
from callgate.wire.problem_of import problem_of

# How many may wait for their answer, and how long. Their descriptors come out of the reserve.
_MAX_WAITING = 16
_PATIENCE_S = 1.0


class TurnedAway:
    def __init__(self) -> None:
        self._waiting: dict[_Surplus, None] = {}  # in the order of their coming

    def take(self, transport: asyncio.BaseTransport) -> None:
        """A connection that was just accepted."""
        stream = cast(asyncio.Transport, transport)
        if len(self._waiting) >= _MAX_WAITING:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.transport.abort()
        surplus = _Surplus(stream, lambda gone: self._waiting.pop(gone, None))
        self._waiting[surplus] = None
        stream.set_protocol(surplus)

    def close(self) -> None:
        for surplus in list(self._waiting):
            surplus.transport.abort()


class _Surplus(asyncio.Protocol):
    """Implements `http.message.AnswerLine`."""

    def __init__(self, transport: asyncio.Transport, gone: "Callable[[_Surplus], object]") -> None:
        self.transport = transport
        self._gone = gone
        self._is_answered = False
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_S, transport.abort)

    def data_received(self, data: bytes) -> None:
        if not self._is_answered:
            self._is_answered = True
            text = "The limit of connections is reached"
            hint = f"Try again in {RETRY_AFTER_S[503]} s; the operator can raise [server] max_connections"
            error = RefusedError(REFUSED_OVERLOADED, text, hint=hint)
            Responder(self, head_only=False).send_problem(problem_of(error))
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._gone(self)

    @property
    def is_closed(self) -> bool:
        return self.transport.is_closing()

    @property
    def task(self) -> None:
        return None

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    async def drained(self) -> None:
        """Nothing is streamed here."""
