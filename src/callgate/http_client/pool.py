"""The connections to one origin: kept alive, reused, opened on demand, and the queue of requests for them.

Owns which request gets which connection. Knows neither MCP nor how bytes are read (connection.py).

Rules
1. The connection used last is used next, so that a burst's surplus grows old and is closed.
2. A request that finds no idle connection waits in line; one is opened for each of them, up to the limits.
   The next free one serves the first in line, whichever it was opened for. A failed opening fails the first
   in line.
3. **A request is sent twice only if it is `repeatable`**, once, on a new connection, and only when a reused
   connection ended without a single byte of an answer. That end is usually the peer's idle time-out crossing
   our request, but it looks exactly like a server that took the request, ran it and died: the sender cannot
   know (RFC 9110, 9.2.2), and a tool must not run twice. So that unrepeatable requests do not fail for a
   mere race, they take only a connection that was used within the last few seconds, and open one otherwise.
4. Urgent requests pass the line and the limit: a server may be unable to answer what occupies all other
   connections before it gets them (our answer to its elicitation, a cancellation).
"""

import asyncio
import ssl
from collections import OrderedDict
from dataclasses import dataclass

from callgate.http_client.address import Origin
from callgate.http_client.connection import UpstreamConnection
from callgate.http_client.dial import CONNECT_TIMEOUT_S, dial
from callgate.http_client.exchange import HttpExchange
from callgate.model.error_codes import UPSTREAM_UNAVAILABLE
from callgate.model.errors import UpstreamError


@dataclass(frozen=True, slots=True)
class PoolLimits:
    # Half of the usual limit of 1,024 open files: clients need the other half.
    max_connections: int = 512
    # What a listening socket's usual backlog takes at once; past it, SYN packets are dropped and cost 1 s.
    max_dials: int = 64
    max_idle: int = 64
    max_idle_s: float = 30.0
    # Below the 5 s after which Node and uvicorn hang up by default, without saying so.
    max_idle_unrepeatable_s: float = 4.0
    connect_timeout_s: float = CONNECT_TIMEOUT_S


DEFAULT_LIMITS = PoolLimits()


class HttpPool:
    def __init__(self, origin: Origin, ssl_context: ssl.SSLContext | None, limits: PoolLimits) -> None:
        self._origin = origin
        self.shown = str(origin)
        self._ssl_context = ssl_context
        self.limits = limits
        self._loop = asyncio.get_running_loop()
        self._idle: list[UpstreamConnection] = []
        self._connections: set[UpstreamConnection] = set()
        self.line: OrderedDict[HttpExchange, None] = OrderedDict()  # requests that wait, urgent ones apart
        self._urgent_line: OrderedDict[HttpExchange, None] = OrderedDict()
        self._dials: set[asyncio.Task[None]] = set()
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._all_gone: asyncio.Future[None] | None = None

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def send(self, exchange: HttpExchange) -> None:
        idle, limits = self._idle, self.limits
        while idle and idle[-1].is_lost:
            idle.pop()
        if idle:
            connection = idle[-1]
            limit_s = limits.max_idle_s if exchange.repeatable else limits.max_idle_unrepeatable_s
            if connection.promised_idle_s is not None:  # a second of the promise is left for the way
                limit_s = min(limits.max_idle_s, connection.promised_idle_s - 1)
            if self._loop.time() - connection.idle_since < limit_s:
                idle.pop()
                connection.send(exchange)
                return
        self.wait_in_line(exchange)

    def wait_in_line(self, exchange: HttpExchange) -> None:
        if self._is_closed:
            error = UpstreamError(UPSTREAM_UNAVAILABLE, f"The connections to {self._origin} are closed")
            self._loop.call_soon(exchange.on_failure, error)
            return
        (self._urgent_line if exchange.is_urgent else self.line)[exchange] = None
        exchange.place = self
        self._open_more()

    def _next_in_line(self) -> HttpExchange | None:
        line = self._urgent_line or self.line
        if not line:
            return None
        exchange, _ = line.popitem(last=False)
        exchange.place = None
        return exchange

    def _open_more(self) -> None:
        while self._should_open_one():
            task = self._loop.create_task(self._open_one())
            self._dials.add(task)
            task.add_done_callback(self._dial_ended)

    def _should_open_one(self) -> bool:
        dials, urgent = len(self._dials), len(self._urgent_line)
        if self._is_closed or dials >= urgent + len(self.line):
            return False
        if dials < urgent:
            return True
        limits = self.limits
        return dials < limits.max_dials and len(self._connections) + dials < limits.max_connections

    async def _open_one(self) -> None:
        connection = UpstreamConnection(self)
        try:
            await dial(self._origin, connection, self._ssl_context, self.limits.connect_timeout_s)
        except UpstreamError as error:
            exchange = self._next_in_line()
            if exchange is not None:
                exchange.on_failure(error)
            return
        except asyncio.CancelledError:
            connection.abort()  # it may have been opened in the same turn of the loop
            raise
        # Only now: uvloop never reports the end of one whose opening was cancelled, and `close` waits for it.
        self._connections.add(connection)
        if not connection.is_lost:
            self.released(connection)
        else:
            self.gone(connection)

    def _dial_ended(self, task: asyncio.Task[None]) -> None:
        self._dials.discard(task)
        self._open_more()

    # ---- a waiting exchange's place

    def withdraw(self, exchange: HttpExchange) -> None:
        self.line.pop(exchange, None)
        self._urgent_line.pop(exchange, None)

    def pause(self) -> None:
        """Nothing arrives for an exchange that waits in line."""

    def resume(self) -> None:
        pass

    # ---- what connections report (ConnectionOwner)

    def released(self, connection: UpstreamConnection) -> None:
        exchange = self._next_in_line() if self.line or self._urgent_line else None
        if exchange is not None:
            connection.send(exchange)
        elif self._is_closed:
            connection.abort()
        else:
            if len(self._idle) >= self.limits.max_idle:
                self._idle.pop(0).abort()  # the oldest: a call may need one that was used just now
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
            if self._sweep_timer is None:
                self._sweep_timer = self._loop.call_later(self.limits.max_idle_s, self._sweep)

    def gone(self, connection: UpstreamConnection) -> None:
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self._all_gone is not None and not self._connections and not self._all_gone.done():
            self._all_gone.set_result(None)
        self._open_more()

    def _sweep(self) -> None:
        now = self._loop.time()
        self._sweep_timer = None
        old = [c for c in self._idle if now - c.idle_since >= self.limits.max_idle_s]
        self._idle = self._idle[len(old) :]  # oldest first
        for connection in old:
            connection.abort()
        if self._idle:
            due = self._idle[0].idle_since + self.limits.max_idle_s
            self._sweep_timer = self._loop.call_at(due, self._sweep)

    # ---- closing

    async def close(self) -> None:
        """Everything under way fails; nothing is left behind. Idempotent."""
        self._is_closed = True
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        for task in self._dials:
            task.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        while (exchange := self._next_in_line()) is not None:
            text = f"The connections to {self._origin} are closed"
            exchange.on_failure(UpstreamError(UPSTREAM_UNAVAILABLE, text))
        self._idle.clear()
        if self._connections:
            self._all_gone = self._all_gone or self._loop.create_future()
            for connection in self._connections:
                connection.abort()
            await self._all_gone
