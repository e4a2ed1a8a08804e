"""Our own stdin and stdout as a client's stream, and the promise that nothing else is ever written there."""

import asyncio
import os
import threading
from typing import Final

_CHUNK_BYTES: Final = 64 * 1024


def claim_stdout() -> int:
    """A private descriptor for the protocol; from now on whatever prints to stdout reaches stderr instead.

    Done on descriptors, not on sys.stdout: a library in C or a child process must not get through either.
    """
    protocol_fd = os.dup(1)
    os.dup2(2, 1)
    return protocol_fd


class StdioStream:
    """Threads, not loop transports: stdin may be a pipe, a terminal or a plain file, and all must work."""

    def __init__(self, in_fd: int, out_fd: int) -> None:
        self._in_fd = in_fd
        self._out_fd = out_fd
        self._loop = asyncio.get_running_loop()
        # One chunk ahead: a reader that is behind stops the thread, and the pipe fills (backpressure).
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1)
        self._turn = asyncio.Lock()
        # A daemon: it sits in read(2), which nothing but the client can end.
        threading.Thread(target=self._pump, name="stdin", daemon=True).start()

    def _pump(self) -> None:
        while True:
            try:
                data = os.read(self._in_fd, _CHUNK_BYTES)
            except OSError:
                data = b""
            try:
                asyncio.run_coroutine_threadsafe(self._chunks.put(data), self._loop).result()
            except RuntimeError:  # the loop is closed: we are shutting down
                return
            if not data:
                return

    async def read(self) -> bytes:
        return await self._chunks.get()

    async def write(self, data: bytes) -> None:
        async with self._turn:
            await asyncio.to_thread(self._write_all, data)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._out_fd, view) :]
