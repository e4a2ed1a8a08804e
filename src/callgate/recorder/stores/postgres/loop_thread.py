"""An event loop in a thread of its own: asyncpg encodes and decodes rows, which must not hold the relay's."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from callgate.recorder.trouble import record_closed

_T = TypeVar("_T")


class LoopThread:
    """Begins with the first that is asked of it, unless it was begun."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def begin(self) -> None:
        """Now, with the caller's priority."""
        with self._lock:
            self._living_loop()

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """From any thread. Raises SetupError once it is closed."""
        with self._lock:
            if self._is_closed:
                work.close()
                raise record_closed()
            return asyncio.run_coroutine_threadsafe(work, self._living_loop())

    def _living_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._loop.set_exception_handler(_tell_of)
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


def _tell_of(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # asyncpg, cut off while it connects, leaves a future that nobody asks any more.
    if not ("future" in context and isinstance(context.get("exception"), ConnectionError)):
        loop.default_exception_handler(context)


async def _end_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
