"""A line between the browser and the gateway that a test can cut, and mend again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class CutLine:
    def __init__(self, gateway_port: int) -> None:
        self._gateway_port = gateway_port
        self._open: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Every connection breaks, and each new one at once."""
        self._is_cut = True
        for writer in list(self._open):
            writer.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._gateway_port)
        self._open |= {writer, far_writer}
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            self._open -= {writer, far_writer}
            writer.close()
            far_writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(64 * 1024):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


@asynccontextmanager
async def line_to(gateway_port: int) -> AsyncIterator[CutLine]:
    line = CutLine(gateway_port)
    server = await asyncio.start_server(line.carry, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        line.cut()
