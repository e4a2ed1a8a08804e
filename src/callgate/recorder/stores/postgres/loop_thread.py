"""Event loops for asyncpg, which encodes and decodes rows: that must not hold the relay's loop.

Reads have one in a thread of its own. What a round stores runs in the round's thread, with its priority.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from callgate.recorder.trouble import record_closed

_T = TypeVar("_T")


class LoopThread:
    """Begins with the first that is asked of it, and with the priority of who asks."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """From any thread. Raises SetupError once it is closed."""
        with self._lock:
            try:
                return asyncio.run_coroutine_threadsafe(work, self._living_loop())
            except BaseException:
                work.close()
                raise

    def _living_loop(self) -> asyncio.AbstractEventLoop:
        if self._is_closed:
            raise record_closed()
        if self._loop is None:
            self._loop = _new_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
            self._thread.start()
        return self._loop

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """From another thread, which waits for it."""
        return self.submit(work).result()

    async def ask(self, work: Coroutine[Any, Any, _T]) -> _T:
        """From another loop. Cancelling the caller cancels it."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """What still runs is cancelled. Blocks for a moment."""
        with self._lock:
            self._is_closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_end_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class CallersLoop:
    """Runs in the thread that asks, and only then. One thread asks at a time."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """It takes descriptors."""
        if self._loop is None:
            self._loop = _new_loop()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        self.begin()
        assert self._loop is not None
        return self._loop.run_until_complete(work)

    def close(self) -> None:
        if self._loop is not None:
            self._loop.close()
            self._loop = None


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(_tell_of)
    return loop


def _tell_of(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # asyncpg, cut off while it connects, leaves a future that nobody asks any more.
    if not ("future" in context and isinstance(context.get("exception"), ConnectionError)):
        loop.default_exception_handler(context)


async def _end_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
