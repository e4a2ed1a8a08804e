"""A raw HTTP server on a real socket that does what a test says, good or bad, and remembers what it saw."""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Seen:
    """One request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """The answering side of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self, status: int, body: bytes = b"", content_type: str = "application/json", **headers: str
    ) -> None:
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        kind = f"Content-Type: {content_type}\r\n" if body else ""
        head = f"HTTP/1.1 {status} X\r\n{kind}{lines}Content-Length: {len(body)}\r\n\r\n"
        await self.raw(head.encode() + body)

    async def json(self, content: Any, status: int = 200, **headers: str) -> None:
        await self.answer(status, json.dumps(content).encode(), **headers)

    async def start_sse(self, **headers: str) -> None:
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        await self.raw(f"{head}{lines}\r\n".encode())

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def event(self, content: Any = None, **fields: str) -> None:
        """`content` None: an event with an empty data field, as servers prime their clients."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        data = "" if content is None else json.dumps(content)
        await self.chunk(f"{lines}data: {data}\r\n\r\n".encode())

    async def end_sse(self) -> None:
        await self.raw(b"0\r\n\r\n")

    def hang_up(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Seen, Wire], Awaitable[None]]


@dataclass
class ScriptedHttp:
    script: Script
    port: int = 0
    scheme: str = "http"
    requests: list[Seen] = field(default_factory=list)
    connections: int = 0
    open_now: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/mcp"

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(20), self.changed:
            await self.changed.wait_for(is_so)

    async def _note(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_now += 1
        number = self.connections
        try:
            while True:
                seen = await _read_request(reader, number)
                self.requests.append(seen)
                await self._note()
                await self.script(seen, Wire(writer))
        finally:
            self.open_now -= 1
            await self._note()


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert len(headers) == len(lines), f"a header was sent twice: {lines}"
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, target, _ = first.split(" ")
    return Seen(method, target, headers, body, connection)


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(
    handler: Handler, *, ssl_context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[int]:
    """The port. A handler may end by any error of the connection; nothing of it is left behind."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(reader, writer)
            writer.close()
            await writer.wait_closed()
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass  # cancelled by the end of the server, below
        finally:
            writer.transport.abort()
            tasks.discard(task)

    server = await asyncio.start_server(serve, host, 0, ssl=ssl_context, backlog=1024, limit=2**21)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
        await asyncio.sleep(0)  # the loop reports the aborted ends


@asynccontextmanager
async def scripted_http(
    script: Script, *, ssl_context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[ScriptedHttp]:
    served = ScriptedHttp(script, scheme="http" if ssl_context is None else "https")
    async with raw_server(served.serve, ssl_context=ssl_context, host=host) as port:
        served.port = port
        yield served


async def wait_for_hang_up(wire: Wire) -> None:
    """Until the client closes its end; what a script does that must not answer."""
    protocol = wire.writer.transport.get_protocol()
    reader: asyncio.StreamReader = protocol._stream_reader  # pyright: ignore[reportAttributeAccessIssue]
    while await reader.read(65536):
        pass
    raise ConnectionError("the client hung up")
