"""The connections of a listener: how many there may be, which give way to others, and which are dropped.

Those beyond the limit are told so and closed, and take no place. The answer waits for the client's first
bytes: closing a socket that holds unread bytes resets the connection, and the client would see that instead
of the answer. So a few of them stay for a moment. When there are more, the one that has been silent longest
is closed without an answer: an honest client asks at once.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from callgate.edge.http.http1 import ClientConnection
from callgate.edge.http.message import RETRY_AFTER_S, Responder
from callgate.edge.http.service import Service
from callgate.edge.stream_client import STOP_GRACE_S
from callgate.model.error_codes import CALLER_TIMEOUT, REFUSED_OVERLOADED
from callgate.model.errors import CallerError, RefusedError
from callgate.wire.problem_of import problem_of

# How long an idle connection may stay, or a request may take to arrive: longer than common proxies keep
# theirs (60 s), short enough that a slow-writing attacker does not hold connections for free.
_IDLE_S = 75.0
# Proxies give up on an answer that is silent for a minute; this leaves room for two lost comments.
_SILENCE_S = 15.0
# How long a new connection has for its first request when we stop: who connects is about to ask.
_FIRST_REQUEST_S = 0.5
_LOOK_FOR_IT_EVERY_S = 0.01
# When all places are taken: how long a connection may stay before its first request, and how often we look.
_UNASKED_S = 2.0
_MAKE_ROOM_EVERY_S = 1.0
# Of those that asked before, this part gives way at a time, the longest silent first.
_PART_MADE_ROOM = 8
# Of those beyond the limit: how many may wait for their answer, and how long. Their descriptors come out of
# the reserve.
_MAX_SURPLUS = 16
_PATIENCE_S = 1.0


class Connections:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: set[AcceptedConnection] = set()
        self.discard = self._open.discard
        self._surplus: dict[_Surplus, None] = {}  # in the order of their coming
        self._made_room_at = 0.0
        self._is_leaving = False

    def __len__(self) -> int:
        return len(self._open)

    def all(self) -> "list[AcceptedConnection]":
        return list(self._open)

    def add(self, connection: "AcceptedConnection") -> bool:
        """False: there is no place for it."""
        if len(self._open) >= self.limit:
            self._make_room()
            return False
        self._open.add(connection)
        if self._is_leaving:
            connection.leave()
        return True

    def turn_away(self, transport: asyncio.BaseTransport) -> None:
        """A connection that was just accepted, and has no place."""
        stream = cast(asyncio.Transport, transport)
        if len(self._surplus) >= _MAX_SURPLUS:
            oldest = next(iter(self._surplus))
            del self._surplus[oldest]
            oldest.transport.abort()
        surplus = _Surplus(stream, lambda gone: self._surplus.pop(gone, None))
        self._surplus[surplus] = None
        stream.set_protocol(surplus)

    def leave(self) -> None:
        """Each ends with its next answer."""
        self._is_leaving = True
        for connection in self._open:
            connection.leave()

    async def hear_newest(self) -> None:
        """Waits for the first requests of those who have just connected."""
        now = asyncio.get_running_loop().time
        while any(  # noqa: ASYNC110 - once, at the very end: an event would cost each connection
            not one.has_asked and one.waiting_since > now() - _FIRST_REQUEST_S for one in self._open
        ):
            await asyncio.sleep(_LOOK_FOR_IT_EVERY_S)

    async def close(self) -> None:
        answering = [task for connection in self.all() if (task := connection.shut_down())]
        if answering:
            _, late = await asyncio.wait(answering, timeout=STOP_GRACE_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for connection in self.all():
            connection.abort()  # whoever has not read its answer by now will not
        for surplus in list(self._surplus):
            surplus.transport.abort()

    def drop_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        before = now - _IDLE_S
        for connection in self.all():
            connection.drop_if_stuck(before)
            if connection.is_answering:
                connection.check_silence(now - _SILENCE_S)
            elif connection.waiting_since < before:
                connection.drop_idle()

    def _make_room(self) -> None:
        """For those who come next: a connection that never asked anything costs an attacker nothing, and one
        that asked once and is kept costs little. A client whose kept connection is closed opens another."""
        now = asyncio.get_running_loop().time()
        if now - self._made_room_at < _MAKE_ROOM_EVERY_S:
            return
        self._made_room_at = now
        before = now - _UNASKED_S
        asked = [connection for connection in self._open if connection.has_asked]
        for connection in self._open.difference(asked):
            if connection.waiting_since < before:
                connection.abort()
        if 2 * len(asked) < self.limit:
            return  # the crowd is another, and gives way by itself
        silent = [one for one in asked if not one.is_answering and one.waiting_since < before]
        silent.sort(key=lambda connection: connection.waiting_since)
        for connection in silent[: max(1, self.limit // _PART_MADE_ROOM)]:
            connection.abort()


class AcceptedConnection(ClientConnection):
    """A ClientConnection that its listener knows of."""

    def __init__(self, service: Service, connections: Connections) -> None:
        super().__init__(service, asyncio.get_running_loop().time)
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._connections.add(self):
            super().connection_made(transport)
        else:
            self._connections.turn_away(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.discard(self)

    def drop_idle(self) -> None:
        if self.is_mid_request:
            self.refuse(CallerError(CALLER_TIMEOUT, f"The request did not arrive within {_IDLE_S:g} s"))
        else:
            self.close()


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

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    async def drained(self) -> None:
        """Nothing is streamed here."""
