"""The threads in which the store is read: not those that the rest of the gateway shares, and some for each
kind of read, so that slow ones cannot take them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from callgate.recorder.read.read_limits import PATIENCE_S, ReadKind, too_long, too_many
from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.store import Store
from callgate.recorder.trouble import record_closed

_Found = TypeVar("_Found")
Read = Callable[["duckdb.DuckDBPyConnection"], _Found]


# DuckDB forgets an interrupt that comes between two statements: it is repeated.
_INTERRUPT_EVERY_S = 0.1


class ReadThreads:
    """Lives on one event loop."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._pool = ThreadPoolExecutor(sum(kind.value.at_once for kind in ReadKind), "record read")
        self._turns = {kind: asyncio.Semaphore(kind.value.at_once) for kind in ReadKind}

    async def run(
        self, store: Store, read: Read[_Found], kind: ReadKind, most_s: float | None = None
    ) -> _Found:
        """Raises CallerError when it takes too long, or none of its kind ends in time to let it begin."""
        limit_s = kind.value.most_s if most_s is None else most_s
        await self._take_turn(kind)
        reading = _Reading(store)
        try:
            running = asyncio.get_running_loop().run_in_executor(self._pool, reading.run, read)
        except RuntimeError:  # the threads are closed
            self._turns[kind].release()
            raise record_closed() from None
        # Its turn ends with its thread, whether or not anybody still waits for it.
        running.add_done_callback(lambda _: self._turns[kind].release())
        running.add_done_callback(_retrieve)  # of a read that was given up nobody asks how it ended
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(running)
        except TimeoutError:
            _stop(reading, running)
            raise too_long(limit_s) from None
        except asyncio.CancelledError:
            if running.cancelled():  # by `close`, before it began; nobody gave it up
                raise record_closed() from None
            _stop(reading, running)
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _take_turn(self, kind: ReadKind) -> None:
        try:
            async with asyncio.timeout(self._patience_s):
                await self._turns[kind].acquire()
        except TimeoutError:
            raise too_many(kind, self._patience_s) from None


def _retrieve(ended: asyncio.Future[Any]) -> None:
    if not ended.cancelled():
        ended.exception()


def _stop(reading: _Reading, running: asyncio.Future[Any]) -> None:
    if running.done():
        return
    reading.give_up()
    asyncio.get_running_loop().call_later(_INTERRUPT_EVERY_S, _stop, reading, running)


class _Reading:
    """One read in its thread. It ends when nobody waits for it any more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._is_given_up = False

    def run(self, read: Read[_Found]) -> _Found:
        with self._store.reading() as cursor:
            self._cursor = cursor
            if self._is_given_up:
                raise duckdb.InterruptException("nobody waits for it")
            return read(cursor)

    def give_up(self) -> None:
        """From another thread."""
        self._is_given_up = True
        if self._cursor is not None:
            with suppress(duckdb.Error):  # it may be closed already
                self._cursor.interrupt()
