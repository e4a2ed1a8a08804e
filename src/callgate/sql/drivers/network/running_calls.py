"""RunningCalls: what runs on which connection, the watchdog over it, and how it is stopped.

Rules 1 and 2 of `driver`. One timer for all calls, set to the first that may have to be stopped: a timer each
would cost a short call more than its place in the pool.
"""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any, Generic

from callgate.sql.drivers.network.pool import ConnectionPool
from callgate.sql.drivers.network.server import Connection
from callgate.sql.drivers.workers.job import StopReason

# Ending statements at a server that is there takes milliseconds; for one that is not, nobody should wait.
_CANCEL_LIMIT_S = 1.0


class RunningCall:
    """Until when it may run, and the flag that says why it was told to stop."""

    __slots__ = ("began_at", "ends_at", "stop_reason", "timeout_s")

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.began_at = time.monotonic()
        self.ends_at = self.began_at + timeout_s
        self.stop_reason: StopReason | None = None


class RunningCalls(Generic[Connection]):
    def __init__(
        self, pool: ConnectionPool[Connection], tend: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        """`tend`: runs what nobody awaits."""
        self._pool = pool
        self._tend = tend
        self._running: dict[Connection, RunningCall] = {}
        self._watchdog: asyncio.TimerHandle | None = None
        self._watches_at = math.inf

    def begin(self, connection: Connection, call: RunningCall) -> None:
        """On a connection that was taken from the pool."""
        self._running[connection] = call
        if call.ends_at < self._watches_at:
            self._watch(call.ends_at)

    def end(self, connection: Connection, call: RunningCall) -> None:
        """It is over, and the connection is given back, unless it was stopped: then it comes back later."""
        if call.stop_reason is None:
            del self._running[connection]
            self._pool.give_back(connection)

    def stop(self, connection: Connection, call: RunningCall, reason: StopReason) -> None:
        """Nothing, if it is over or was stopped already."""
        if call.stop_reason is None and self._running.get(connection) is call:
            call.stop_reason = reason
            self._tend(self._end_at_server(connection))

    def close(self) -> None:
        for connection, call in list(self._running.items()):
            self.stop(connection, call, StopReason.CLOSED)

    def close_watchdog(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()

    def _watch(self, at: float) -> None:
        self.close_watchdog()
        self._watches_at = at
        delay_s = max(at - time.monotonic(), 0)
        self._watchdog = asyncio.get_running_loop().call_later(delay_s, self._stop_overdue)

    def _stop_overdue(self) -> None:
        now = time.monotonic()
        self._watchdog, self._watches_at = None, math.inf
        for connection, call in list(self._running.items()):
            if call.ends_at <= now:
                self.stop(connection, call, StopReason.TIMEOUT)
        ends = [call.ends_at for call in self._running.values() if call.stop_reason is None]
        if ends:
            self._watch(min(ends))

    async def _end_at_server(self, connection: Connection) -> None:
        # Its caller waits no longer than this for a server that does not take the cancel.
        closing = asyncio.get_running_loop().call_later(_CANCEL_LIMIT_S, connection.close)
        try:
            await connection.cancel()
        finally:
            closing.cancel()
            connection.close()
            self._running.pop(connection, None)
            self._pool.free_place()
