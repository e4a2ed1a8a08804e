"""The connections of a listener: how many there may be, which give way to others, and which are dropped."""

import asyncio

from callgate.edge.http.http1 import ClientConnection
from callgate.edge.http.service import Service
from callgate.edge.stream_client import STOP_GRACE_S
from callgate.edge.turned_away import TurnedAway
from callgate.model.error_codes import CALLER_TIMEOUT
from callgate.model.errors import CallerError

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


class Connections:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: set[AcceptedConnection] = set()
        self.discard = self._open.discard
        self._turned_away = TurnedAway()
        self.turn_away = self._turned_away.take
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
        self._turned_away.close()

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
