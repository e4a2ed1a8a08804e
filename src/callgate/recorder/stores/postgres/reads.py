"""The connections that read the record, apart from the one that writes: how many, and how long each may take.

A read that takes too long, or that nobody waits for any more, is cancelled at the server.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from callgate.model.errors import CallgateError
from callgate.postgres_connection import FAILURES, OPTIONS, Connection, driver, pg, transaction
from callgate.recorder.read.read_limits import ReadKind, ReadTurns, too_long
from callgate.recorder.stores.postgres.connection import StoreAddress, trouble_of
from callgate.recorder.stores.postgres.loop_thread import LoopThread
from callgate.recorder.trouble import record_closed

_Found = TypeVar("_Found")
Read = Callable[[Connection], Awaitable[_Found]]
_MOST_CONNECTIONS = 7
_IDLE_S = 60.0
_CONNECT_S = 5.0


class PostgresReads:
    """Asked on one event loop; the connections live on the store's."""

    def __init__(self, thread: LoopThread, address: StoreAddress, *, of_users: bool = False) -> None:
        """`of_users`: as the second user of the address."""
        self._dsn = (address.reader_dsn or address.dsn) if of_users else address.dsn
        self._thread = thread
        self._address = address
        self._pool: Any = None
        self._turns = ReadTurns()
        self._is_closed = False

    async def run(
        self, read: Read[_Found], kind: ReadKind, most_s: float | None = None, *, read_only: bool = True
    ) -> _Found:
        """In one transaction. Raises CallerError when it takes too long, or none of its kind ends
        in time to let it begin, and SetupError when the store cannot be read."""
        limit_s = kind.value.most_s if most_s is None else most_s
        async with self._turns.of(kind):
            try:
                return await self._thread.ask(self._run(read, limit_s, read_only))
            except (pg.QueryCanceledError, pg.IdleInTransactionSessionTimeoutError):
                raise too_long(limit_s) from None
            except CallgateError:
                raise
            except FAILURES as problem:
                if self._is_closed:
                    raise record_closed() from None
                raise trouble_of(self._address, problem) from problem

    async def close(self) -> None:
        """Whoever still reads is told so."""
        self._is_closed = True
        if self._pool is not None:
            await self._thread.ask(_ended(self._pool))

    async def _run(self, read: Read[_Found], limit_s: float, read_only: bool) -> _Found:
        if self._pool is None:
            self._pool = driver.create_pool(
                self._dsn,
                min_size=0,
                max_size=_MOST_CONNECTIONS,
                max_inactive_connection_lifetime=_IDLE_S,
                timeout=_CONNECT_S,
                reset=_left_as_it_is,
                **OPTIONS,
            )
            await self._pool
        async with self._pool.acquire(timeout=2 * _CONNECT_S) as connection:
            try:
                # The server's limit comes first; ours is for a server that says nothing any more.
                async with (
                    asyncio.timeout(limit_s + _CONNECT_S),
                    transaction(connection, limit_s=limit_s, lock_s=limit_s, read_only=read_only),
                ):
                    return await read(connection)
            except (TimeoutError, asyncio.CancelledError):
                # What was sent may still be answered: the pool would find a transaction, and lend it again.
                with suppress(driver.InterfaceError):  # the pool was ended meanwhile, and took it back
                    connection.terminate()
                raise


async def _left_as_it_is(_: Connection) -> None:
    """Nothing outlives a transaction: there is nothing to be undone, and no statement to be sent for it."""


async def _ended(pool: Any) -> None:
    pool.terminate()
