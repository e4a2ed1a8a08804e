"""Plain reads without a task: sent at once, and told when their answer has come whole, in its very callback.

A task, its coroutines and a future cost more than all else that is done for a short read.

1. A read is begun when a connection lies idle whose session takes it as it is (`PlainReadConnection`). Every
   other statement is run (`NetworkDriver.run`), which is the definition.
2. What comes back is read there and then if it is whole and nothing else is to be done. Everything else (an
   error, more rows, a reset, a lost connection, a stopped call) is the task's that awaits `rest`.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from callgate.sql.drivers.driver import StatementResult
from callgate.sql.drivers.network.driver import LostIdle, NetworkDriver
from callgate.sql.drivers.network.running_calls import RunningCall
from callgate.sql.drivers.network.server import ServerConnection
from callgate.sql.drivers.workers.job import StopReason
from callgate.sql.guard.judgement import Statement

Told = Callable[[StatementResult | None], None]


class PlainReadConnection(ServerConnection, Protocol):
    def begin(self, statement: Statement, heard: Callable[[], None]) -> bool:
        """Sends a plain read. `heard`: called once, when something has come or the connection is lost.

        False: nothing was sent, and the session is as it was. Raises `stream.ConnectionLost`.
        """
        ...

    def result_at_once(self) -> StatementResult | None:
        """Of what was begun. None: nothing was taken, `result` awaits it."""
        ...

    async def result(self) -> tuple[StatementResult, ...]:
        """As `run` does."""
        ...


Connection = TypeVar("Connection", bound=PlainReadConnection)


class PlainReadDriver(NetworkDriver[Connection]):
    """Implements `drivers.PlainReader`."""

    def begin(self, statement: Statement, told: Told) -> "NetworkRead[Connection] | None":
        connection = self._pool.take_at_once()
        if connection is None:
            return None
        read = NetworkRead(self, connection, statement, told, self._policy.limits.timeout_s)
        try:
            has_begun = connection.begin(statement, read.heard)
        except Exception:  # noqa: BLE001 - lost, most often: who runs it instead finds out, and tells
            connection.close()
            has_begun = False
        if has_begun:
            self._running.begin(connection, read)
            return read
        self._pool.give_back(connection)
        return None

    def end(self, read: "NetworkRead[Connection]") -> None:
        self._running.end(read.connection, read)

    def stop(self, read: "NetworkRead[Connection]") -> None:
        self._running.stop(read.connection, read, StopReason.CANCELLED)

    async def rest_of(self, read: "NetworkRead[Connection]") -> tuple[StatementResult, ...]:
        statements = (read.statement,)
        try:
            return await self._ended(read.connection, read, statements, read.connection.result())
        except LostIdle:
            return await self._run_again(statements)


class NetworkRead(RunningCall, Generic[Connection]):
    """Implements `drivers.BegunRead`."""

    __slots__ = ("_driver", "_result", "_told", "connection", "statement")

    def __init__(
        self,
        driver: PlainReadDriver[Connection],
        connection: Connection,
        statement: Statement,
        told: Told,
        timeout_s: float,
    ) -> None:
        super().__init__(timeout_s)
        self._driver = driver
        self.connection = connection
        self.statement = statement
        self._told: Told | None = told
        self._result: StatementResult | None = None

    def heard(self) -> None:
        """In the callback of the socket. Raises nothing but what `told` does."""
        told, self._told = self._told, None
        if told is None:
            return  # it was given up
        if self.stop_reason is None:
            with suppress(Exception):  # `rest` reads it again, and has words for what is wrong
                self._result = self.connection.result_at_once()
            if self._result is not None:
                self._driver.end(self)
        told(self._result)

    async def rest(self) -> tuple[StatementResult, ...]:
        return await self._driver.rest_of(self) if self._result is None else (self._result,)

    def cancel(self) -> None:
        self._told = None
        self._driver.stop(self)
