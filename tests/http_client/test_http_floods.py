"""A server that sends as fast as it can, and the others that share the loop with it."""

import asyncio
import socket
import threading
from collections import Counter

from callgate.http_client.connection import UpstreamConnection
from callgate.http_client.exchange import HttpExchange, RawHeaders
from callgate.model.errors import UpstreamError

MEBIBYTE = 1024 * 1024
FLOOD_BYTES = 32 * MEBIBYTE


class Flooded(HttpExchange):
    """Counts what comes in each turn of the loop."""

    def __init__(self) -> None:
        super().__init__(b"GET / HTTP/1.1\r\n\r\n")
        self.by_turn: Counter[int] = Counter()
        self.turn = 0
        self.ended = asyncio.get_running_loop().create_future()

    def tick(self) -> None:
        if not self.ended.done():
            self.turn += 1
            asyncio.get_running_loop().call_soon(self.tick)

    def on_head(self, status: int, headers: RawHeaders) -> None:
        self.tick()

    def on_data(self, data: bytes) -> None:
        self.by_turn[self.turn] += len(data)

    def on_end(self) -> None:
        self.ended.set_result(None)

    def on_failure(self, error: UpstreamError) -> None:
        self.ended.set_exception(error)


class Owner:
    shown = "flood"

    def released(self, connection: UpstreamConnection) -> None: ...

    def wait_in_line(self, exchange: HttpExchange) -> None: ...

    def gone(self, connection: UpstreamConnection) -> None: ...


def flood(listening: socket.socket) -> None:
    peer, _ = listening.accept()
    with peer:
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * FLOOD_BYTES)


async def test_a_flood_gets_one_read_in_each_turn_of_the_loop() -> None:
    """uvloop would read the same socket 32 times before it looks at another."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sender = threading.Thread(target=flood, args=(listening,), daemon=True)
        sender.start()
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: UpstreamConnection(Owner()), *listening.getsockname()[:2]
        )
        exchange = Flooded()
        connection.send(exchange)
        async with asyncio.timeout(60):
            await exchange.ended
        sender.join(10)
    assert exchange.by_turn.total() == FLOOD_BYTES, "and nothing is lost by waiting"
    assert max(exchange.by_turn.values()) <= MEBIBYTE // 2
