"""A pool of connections: at most `size` connections, handed out in order of arrival.

Rules
1. Callers are served in the order in which they came. Waiting has a limit of its own.
2. A connection that lay idle for long is asked for a sign of life before it is used again.
3. A place freed by a lost connection goes to the first waiting caller, as the right to open another.
4. After a failed opening, further ones fail at once with the same reason until the back-off is over: a server
   that is down must not make each caller wait for its own time-out. While somebody asks, it is short.
5. A server that has no connection left for us is no reason to fail while we have some: who wants one waits.
6. No connection grows old: logins, names and addresses change while we run.

Lives on one event loop. Counterpart: `driver` decides when a connection is given back or dropped.
"""

import asyncio
import math
import time
import weakref
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic

from callgate.sql.drivers.network.server import Connection, NetworkEngine, OpenFailed
from callgate.sql.drivers.network.stream import ConnectionLost

# A server restart or a firewall's forgetting is likely to show within this; a ping costs 0.1 ms.
_TRUSTED_IDLE_S = 15.0
_PING_LIMIT_S = 2.0
# Agents come in bursts; after five minutes of silence the server may have its threads back.
_IDLE_LIMIT_S = 300.0
_FIRST_BACK_OFF_S = 0.25
_MAX_BACK_OFF_S = 15.0
# Somebody who asked within so many seconds is likely to ask again.
_ASKED_RECENTLY_S = 15.0
_BACK_OFF_WHILE_ASKED_S = 0.5
# Half of the shortest life of a cloud's tokens and certificates that is in use, an hour.
_MAX_AGE_S = 1800.0


class PoolBusy(Exception):  # noqa: N818 - the driver words the error
    """No connection became free in time."""


class PoolClosed(Exception):  # noqa: N818 - the driver words the error
    """The source was closed."""


@dataclass(slots=True)
class _Life:
    """Of a connection."""

    opened_mono: float
    is_reused: bool = False


class ConnectionPool(Generic[Connection]):
    def __init__(self, engine: NetworkEngine[Connection], size: int, wait_limit_s: float) -> None:
        self._engine = engine
        self._size = size
        self._wait_limit_s = wait_limit_s
        self._places = 0  # taken: idle, in use, being opened, being ended
        self._idle: deque[tuple[Connection, float]] = deque()  # with the time since when; newest last
        self._lives: weakref.WeakKeyDictionary[Connection, _Life] = weakref.WeakKeyDictionary()
        self._asked_mono = -math.inf
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False
        self._back_off_s = 0.0
        self._retry_at = 0.0
        self._failure: OpenFailed | None = None

    @property
    def failure(self) -> OpenFailed | None:
        """Why the last opening failed; None once one succeeded."""
        return self._failure

    @property
    def retry_in_s(self) -> float:
        return max(self._retry_at - time.monotonic(), 0.0)

    def take_at_once(self) -> Connection | None:
        """One that lies idle and needs no sign of life. None: `take` one."""
        if self._waiting or not self._idle:
            return None
        now = time.monotonic()
        connection, since = self._idle[-1]
        if now - since >= _TRUSTED_IDLE_S or not connection.is_usable:
            return None
        self._idle.pop()
        self._asked_mono = now
        return connection

    async def take(self) -> Connection:
        """Raises `OpenFailed`, `PoolBusy`, `PoolClosed`."""
        now = self._asked_mono = time.monotonic()
        self._retry_at = min(self._retry_at, now + _BACK_OFF_WHILE_ASKED_S)
        return await self._take()

    async def _take(self) -> Connection:
        if self._closed:
            raise PoolClosed
        if not self._waiting:
            connection = await self._take_idle()
            if connection is not None:
                return connection
            if self._places < self._size:
                self._places += 1
                return await self._open()
        handed = await self._wait()
        return handed if handed is not None else await self._open()

    def give_back(self, connection: Connection) -> None:
        now = time.monotonic()
        life = self._lives[connection]
        is_old = now - life.opened_mono > _MAX_AGE_S
        is_too_many = self._places > self._size
        if self._closed or is_old or is_too_many or not connection.is_usable:
            connection.close()
            self.free_place()
            return
        life.is_reused = True
        if self._waiting and (waiter := self._next_waiter()) is not None:
            waiter.set_result(connection)
            return
        self._idle.append((connection, now))
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(_IDLE_LIMIT_S, self._close_idle)

    def drop_idle(self) -> None:
        """The server is another one now, or gone: what lies idle is not to be trusted."""
        for connection, _ in self._idle:
            connection.close()
        self._places -= len(self._idle)
        self._idle.clear()

    def was_reused(self, connection: Connection) -> bool:
        """It served a call before, and something may have happened to it since."""
        return self._lives[connection].is_reused

    def free_place(self) -> None:
        """A connection that was taken is gone."""
        self._places -= 1
        self._hand_out_place()

    def resize(self, size: int) -> None:
        """From now on. What is in use beyond it is closed when it is given back."""
        self._size = size
        while self._places > size and self._idle:
            connection, _ = self._idle.popleft()
            connection.close()
            self._places -= 1
        while self._hand_out_place():
            pass

    def _hand_out_place(self) -> bool:
        if self._closed or self._places >= self._size or (waiter := self._next_waiter()) is None:
            return False
        self._places += 1
        waiter.set_result(None)
        return True

    async def probe(self) -> None:
        """Open a connection ahead of the first caller. Raises as `take` does."""
        self.give_back(await self._take())

    def close(self) -> None:
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        while (waiter := self._next_waiter()) is not None:
            waiter.set_exception(PoolClosed())
        self.drop_idle()

    async def _take_idle(self) -> Connection | None:
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.is_usable:
                connection.close()
                self._places -= 1
                continue
            if time.monotonic() - since < _TRUSTED_IDLE_S:
                return connection
            try:
                async with asyncio.timeout(_PING_LIMIT_S):
                    await connection.ping()
            except (ConnectionLost, TimeoutError):
                connection.close()
                self.free_place()
            except BaseException:
                connection.close()
                self.free_place()
                raise
            else:
                return connection
        return None

    async def _open(self) -> Connection:
        """With a place already taken."""
        started = time.monotonic()
        if self._failure is not None and started < self._retry_at:
            self.free_place()
            raise self._failure.with_traceback(None)  # or it grows with each who is told
        try:
            connection = await self._engine.open()
        except OpenFailed as failure:
            if failure.is_full and self._places > 1:
                self._places -= 1
                handed = await self._wait()
                return handed if handed is not None else await self._open()
            self._failure = failure
            if started >= self._retry_at:  # of several that fail together, one counts
                is_asked = started - self._asked_mono < _ASKED_RECENTLY_S
                most = _BACK_OFF_WHILE_ASKED_S if is_asked else _MAX_BACK_OFF_S
                self._back_off_s = min(max(self._back_off_s * 2, _FIRST_BACK_OFF_S), most)
                self._retry_at = time.monotonic() + self._back_off_s
            self.free_place()
            raise
        except BaseException:
            self.free_place()
            raise
        self._failure = None
        self._back_off_s = 0.0
        self._lives[connection] = _Life(time.monotonic())
        if self._closed:
            connection.close()
            self.free_place()
            raise PoolClosed
        return connection

    async def _wait(self) -> Connection | None:
        waiter: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(self._wait_limit_s):
                return await waiter
        except (TimeoutError, asyncio.CancelledError) as error:
            # It may have been handed over in the very moment of giving up.
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                handed = waiter.result()
                if handed is None:
                    self.free_place()
                else:
                    self.give_back(handed)
            if isinstance(error, TimeoutError):
                raise PoolBusy from None
            raise
        finally:
            with suppress(ValueError):
                self._waiting.remove(waiter)

    def _next_waiter(self) -> "asyncio.Future[Connection | None] | None":
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                return waiter
        return None

    def _close_idle(self) -> None:
        self._sweep = None
        limit = time.monotonic() - _IDLE_LIMIT_S
        while self._idle and self._idle[0][1] <= limit:
            connection, _ = self._idle.popleft()
            connection.close()
            self._places -= 1
        if self._idle:
            wait_s = self._idle[0][1] - limit
            self._sweep = asyncio.get_running_loop().call_later(wait_s, self._close_idle)
