"""What a server answers: `http_client.connection`, on a transport that goes nowhere."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

from callgate.http_client.connection import UpstreamConnection
from callgate.http_client.exchange import HttpExchange, RawHeaders
from callgate.model.errors import UpstreamError
from fuzz.targets.http_words import WORDS, body, head

_FIRST = (
    *(b"HTTP/1.1 200 OK",) * 8,
    *(b"HTTP/1.1 202 Accepted", b"HTTP/1.1 204 No Content", b"HTTP/1.1 304 Not Modified", b"HTTP/1.0 200 OK"),
    *(b"HTTP/1.1 100 Continue", b"HTTP/1.1 103 Early Hints", b"HTTP/1.1 101 Switching Protocols"),
    *(b"HTTP/1.1 500", b"HTTP/1.1 99999 X", b"HTTP/2.0 200 OK", b"ICY 200 OK", b"SSH-2.0-x", b""),
)  # fmt: skip


class _Exchange(HttpExchange):
    def __init__(self) -> None:
        super().__init__(b"")
        self.told: list[Any] = []
        self.body = b""

    def on_head(self, status: int, headers: RawHeaders) -> None:
        self.told.append((status, headers))

    def on_data(self, data: bytes) -> None:
        assert self.told, "a body before its head"
        self.body += data

    def on_end(self) -> None:
        self.told.append("end")

    def on_failure(self, error: UpstreamError) -> None:
        self.told.append(f"failed: {error.code}")


class _Transport(asyncio.Transport):
    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: Any) -> None: ...

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


class _Owner:
    shown = "fuzz"

    def released(self, connection: UpstreamConnection) -> None: ...

    def wait_in_line(self, exchange: HttpExchange) -> None: ...

    def gone(self, connection: UpstreamConnection) -> None: ...


class HttpClientTarget:
    name = "http_client"
    share = 24
    hang_cpu_s = 2.0
    is_cut = True
    words = (*WORDS, b"HTTP/1.1 200 OK", b"HTTP/1.1 100 Continue\r\n\r\n")
    seeds = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nA: b\r\n\r\nHTTP/1.1 204 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: x\n\n",
        b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nbytes",
    )

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def run(self, pieces: Sequence[bytes]) -> Any:
        """Head, body, and how it ended; the peer hangs up at the end."""
        return self._loop.run_until_complete(self._run(pieces))

    async def _run(self, pieces: Sequence[bytes]) -> Any:
        connection, exchange = UpstreamConnection(_Owner()), _Exchange()
        connection.connection_made(_Transport())
        connection.send(exchange)
        for piece in pieces:
            if not connection.is_lost and piece:
                connection.data_received(piece)
        if not connection.is_lost:
            connection.eof_received()
        connection.connection_lost(None)
        ends = [told for told in exchange.told if isinstance(told, str)]
        assert len(ends) == 1, f"exactly one end, not {ends}"
        return exchange.told, exchange.body

    def generated(self, random: Random) -> bytes:
        made = b""
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            framing, text = body(random)
            made += head(random.choice(_FIRST), random, framing) + text
        return made
