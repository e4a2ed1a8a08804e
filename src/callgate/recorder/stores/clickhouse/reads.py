"""The connections that read the record, apart from the one that writes: how many, and how long each may take.

A read that takes too long is ended by the server; one that nobody waits for any more by its connection.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from callgate.recorder.read.read_limits import ReadKind, ReadTurns, too_long
from callgate.recorder.stores.clickhouse.connection import (
    FAILURES,
    ClickhouseAddress,
    ClickhouseConnection,
    ClickhouseError,
    StoreUser,
    trouble_of,
)
from callgate.recorder.trouble import record_closed

_Found = TypeVar("_Found")
Read = Callable[[ClickhouseConnection], _Found]
_MOST_THREADS = sum(kind.value.at_once for kind in ReadKind)


class ClickhouseReads:
    """Asked on one event loop; the reads run in threads."""

    def __init__(self, address: ClickhouseAddress) -> None:
        self._address = address
        self._threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="record read")
        self._turns = ReadTurns()
        self._under_way: set[ClickhouseConnection] = set()
        self._is_closed = False

    async def run(
        self, read: Read[_Found], kind: ReadKind, most_s: float | None = None, login: StoreUser | None = None
    ) -> _Found:
        """Raises CallerError when it takes too long, or none of its kind ends in time to let it begin, and
        SetupError when the store cannot be read. `login`: of another user than the store's."""
        limit_s = kind.value.most_s if most_s is None else most_s
        async with self._turns.of(kind):
            if self._is_closed:
                raise record_closed()
            connection = ClickhouseConnection(self._address, limit_s, login)
            self._under_way.add(connection)
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, read, connection)
            except ClickhouseError as problem:
                if problem.is_out_of_time:
                    raise too_long(limit_s) from None
                raise trouble_of(self._address, problem) from problem
            except FAILURES as problem:
                raise trouble_of(self._address, problem) from problem
            finally:
                self._under_way.discard(connection)
                connection.close()

    def close(self) -> None:
        self._is_closed = True
        for connection in self._under_way:
            connection.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
