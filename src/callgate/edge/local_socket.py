"""The door for processes of the same user on this machine: a Unix socket that speaks like stdio.

`callgate stdio` joins a running gateway through it, so that all clients share one catalog and one record.
The folder is private to the user (0700), which is all the authentication a local pipe has.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path

from callgate.edge.stream_client import StreamClient
from callgate.ports.answerer import Answerer
from callgate.ports.event_sink import EventSink

_CHUNK_BYTES = 64 * 1024


class SocketStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        return await self._reader.read(_CHUNK_BYTES)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


class LocalSocket:
    def __init__(self, answerer: Answerer, sink: EventSink) -> None:
        self._answerer = answerer
        self._sink = sink
        self._folder: Path | None = None
        self._path: Path | None = None
        self._server: asyncio.Server | None = None
        self._clients: dict[asyncio.Task[None], StreamClient] = {}

    async def start(self, path: Path | None = None) -> Path:
        """Listens; returns the path. Not in the state folder: a socket's path is 107 bytes at most. `path`:
        in a private folder of somebody else's."""
        if path is None:
            self._folder = Path(tempfile.mkdtemp(prefix="callgate-"))  # mode 0700
            path = self._folder / "gateway.sock"
        self._path = path
        self._server = await asyncio.start_unix_server(self._serve, str(path))
        return path

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        stream = SocketStream(reader, writer)
        client = self._clients[task] = StreamClient(self._answerer, stream, self._sink)
        try:
            await client.run()
        except asyncio.CancelledError:
            pass  # we are closing; the client sees the end of the stream
        finally:
            del self._clients[task]
            writer.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*(client.finish() for client in list(self._clients.values())))
        for task in list(self._clients):
            task.cancel()
        if self._clients:
            await asyncio.wait(list(self._clients))
        if self._server is not None:
            await self._server.wait_closed()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
