"""A hostile MCP server over HTTP, in the harness: what only HTTP can do is here, what any server can say in
`frames`."""

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from _http import read_message

from _hostile.frames import MIB, fine, frames_for

Writer = asyncio.StreamWriter
# The most that one of them sends: enough to exceed every bound many times.
_ENDLESS_BYTES = 300 * MIB
_PATIENCE_S = 30.0
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
_CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def whole(
    body: bytes, status: bytes = b"200 OK", kind: bytes = b"application/json", more: bytes = b""
) -> bytes:
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n"
    return head % (status, kind, len(body), more) + body


async def _pour(writer: Writer, begin: bytes, piece: bytes, size: int = _ENDLESS_BYTES) -> None:
    writer.write(begin)
    for _ in range(size // len(piece)):
        writer.write(piece)
        await writer.drain()


async def endless_body(writer: Writer, rpc_id: Any) -> None:
    await _pour(writer, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", b" " * 65536)


async def endless_line(writer: Writer, rpc_id: Any) -> None:
    await _pour(writer, _STREAM + b"data: ", b"x" * 65536)


async def endless_comments(writer: Writer, rpc_id: Any) -> None:
    await _pour(writer, _STREAM, b":\n\n" * 5_000, 60 * MIB)


async def endless_data_lines(writer: Writer, rpc_id: Any) -> None:
    await _pour(writer, _STREAM, b"data: x\n" * 5_000)


async def endless_interim(writer: Writer, rpc_id: Any) -> None:
    await _pour(writer, b"", b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 1_000, 100 * MIB)


async def endless_head(writer: Writer, rpc_id: Any) -> None:
    await _pour(writer, b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 1_000)


async def endless_trailers(writer: Writer, rpc_id: Any) -> None:
    body = fine(rpc_id)
    await _pour(writer, _CHUNKED + b"%x\r\n%b\r\n0\r\n" % (len(body), body), b"X-A: b\r\n" * 1_000, 100 * MIB)


async def endless_trailer(writer: Writer, rpc_id: Any) -> None:
    body = fine(rpc_id)
    begin = _CHUNKED + b"%x\r\n%b\r\n0\r\nX: " % (len(body), body)
    await _pour(writer, begin, b"y" * 65536, 100 * MIB)


async def endless_extension(writer: Writer, rpc_id: Any) -> None:
    await _pour(writer, _CHUNKED + b"5;", b"x" * 65536, 100 * MIB)


async def tiny_chunks(writer: Writer, rpc_id: Any) -> None:
    await _pour(writer, _CHUNKED, b"1\r\n \r\n" * 2_000, 30 * MIB)


async def drips(writer: Writer, rpc_id: Any) -> None:
    for byte in whole(fine(rpc_id)) * 3:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def closes_in_the_middle(writer: Writer, rpc_id: Any) -> None:
    answer = whole(fine(rpc_id))
    writer.write(answer[: len(answer) - 10])


async def promises_more(writer: Writer, rpc_id: Any) -> None:
    writer.write(whole(fine(rpc_id)).replace(b"Content-Length: ", b"Content-Length: 9"))
    await asyncio.sleep(_PATIENCE_S)


async def says_more(writer: Writer, rpc_id: Any) -> None:
    """A second answer behind the first: it must not become the next caller's."""
    poison = whole(fine(rpc_id).replace(b"fine", b"poison"))
    writer.write(whole(fine(rpc_id)) + poison)
    await asyncio.sleep(1)


async def redirects(writer: Writer, rpc_id: Any) -> None:
    writer.write(whole(b"", b"307 Temporary Redirect", more=b"Location: /mcp\r\n"))


async def squeezes(writer: Writer, rpc_id: Any) -> None:
    writer.write(whole(gzip.compress(b" " * 50 * MIB), more=b"Content-Encoding: gzip\r\n"))


async def shows_a_page(writer: Writer, rpc_id: Any) -> None:
    writer.write(whole(b"<html>" * 1_000_000, kind=b"text/html"))


async def fails_at_length(writer: Writer, rpc_id: Any) -> None:
    writer.write(whole(b"\x1b[31m" * 2_000_000, b"500 Internal Server Error", b"text/plain"))


async def speaks_no_http(writer: Writer, rpc_id: Any) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n" * 1_000)


async def splits_its_session(writer: Writer, rpc_id: Any) -> None:
    writer.write(whole(fine(rpc_id), more=b"Mcp-Session-Id: " + b"s" * 60_000 + b"\r\n"))


async def breaks_off_each_stream(writer: Writer, rpc_id: Any) -> None:
    """Asks to be called again at once, for ever."""
    writer.write(_STREAM + b"id: 1\nretry: 0\ndata: \n\n")


RAW: dict[str, Callable[[Writer, Any], Awaitable[None]]] = {
    "sends a body without an end": endless_body,
    "sends a line without an end": endless_line,
    "sends comments without an end": endless_comments,
    "sends an event without an end": endless_data_lines,
    "sends 1xx without an end": endless_interim,
    "sends a head without an end": endless_head,
    "sends trailers without an end": endless_trailers,
    "sends a trailer without an end": endless_trailer,
    "sends a chunk extension without an end": endless_extension,
    "sends chunks of one byte": tiny_chunks,
    "drips its answer": drips,
    "closes in the middle of its answer": closes_in_the_middle,
    "promises a longer answer": promises_more,
    "answers twice on one connection": says_more,
    "redirects to itself": redirects,
    "squeezes 50 MiB into its answer": squeezes,
    "answers with a page": shows_a_page,
    "fails with 10 MB of text": fails_at_length,
    "speaks no HTTP": speaks_no_http,
    "names its session in 60,000 bytes": splits_its_session,
    "breaks off each stream": breaks_off_each_stream,
}


class HttpServer:
    """`asked`: how often each HTTP method came."""

    def __init__(self, behaviour: str, scale: float) -> None:
        self._behaviour = behaviour
        self._scale = scale
        self.asked: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            while True:
                first, _, body = await read_message(reader)
                self.asked[first.split()[0]] += 1
                if not first.startswith("POST"):
                    await self._other(first, writer)
                elif not await self._message(json.loads(body), writer):
                    return
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the gateway hung up, or the scenario is over
        finally:
            writer.close()

    async def _other(self, first: str, writer: Writer) -> None:
        if self._behaviour == "breaks off each stream" and first.startswith("GET"):
            writer.write(_STREAM + b"id: 1\nretry: 0\ndata: \n\n")
            raise ConnectionResetError
        writer.write(whole(b"", b"405 Method Not Allowed"))

    async def _message(self, message: dict[str, Any], writer: Writer) -> bool:
        """False when the connection is at its end."""
        if message.get("method") == "tools/call" and self._behaviour in RAW:
            await RAW[self._behaviour](writer, message["id"])
            await writer.drain()
            return False
        if "id" not in message or "method" not in message:
            writer.write(whole(b"", b"202 Accepted"))
            return True
        if message["method"] != "tools/call":
            for frame in frames_for(self._behaviour, message, self._scale):
                writer.write(whole(frame))
            return True
        writer.write(_STREAM)
        for frame in frames_for(self._behaviour, message, self._scale):
            writer.write(b"data: %b\n\n" % frame)
            await writer.drain()
        if self._behaviour == "never answers":
            await asyncio.sleep(_PATIENCE_S)
        return False


@asynccontextmanager
async def http_server(behaviour: str, scale: float) -> AsyncIterator[tuple[HttpServer, str]]:
    """The server and its address."""
    one = HttpServer(behaviour, scale)
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0, limit=64 * MIB)
    try:
        yield one, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
