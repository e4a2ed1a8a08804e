"""The network between us and a database, which a test can cut, mend and stall."""

import asyncio
from collections.abc import Callable
from contextlib import suppress


class Proxy:
    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_stalled = False  # accepts, and then says nothing
        self.port = 0

    def change(self, data: bytes) -> bytes:
        """What the server says, on its way to us."""
        return data

    def hear(self, data: bytes) -> bytes:
        """What we say, on its way to the server."""
        return data

    async def mend(self) -> None:
        """From the first time on under the same port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, reuse_address=True)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """As a server that is killed: connections are reset, new ones refused."""
        assert self._server is not None
        self._server.close()
        for writer in list(self._links):
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._links.add(writer)
        try:
            if self.is_stalled:
                await reader.read()
                return
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            self._links.add(far_writer)
            await asyncio.gather(_pump(reader, far_writer, self.hear), _pump(far_reader, writer, self.change))
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            self._links.discard(writer)
            writer.transport.abort()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, change: Callable[[bytes], bytes] = bytes
) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(change(data))
            await writer.drain()
    with suppress(ConnectionError, RuntimeError):
        writer.transport.abort()
