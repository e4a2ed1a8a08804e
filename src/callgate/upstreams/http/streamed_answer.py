"""Requests of ours whose answers are passed on as they come. Implements `ports.PeerTransport`.

Owns the flow: a reader that is slow holds back who sends. Knows neither MCP nor who is asked.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from callgate.model.errors import UpstreamError
from callgate.ports.peers import Headers, NotSentError
from callgate.upstreams.http.address import Origin, parse_address
from callgate.upstreams.http.client import HttpClient
from callgate.upstreams.http.exchange import HttpExchange, RawHeaders
from callgate.upstreams.http.pool import PoolLimits

# Read ahead of a slow reader: enough to keep a fast one busy.
_MAX_AHEAD_BYTES = 256 * 1024
UNIX = "unix:"
# Other replicas are near: one that has not accepted by then is not there.
_CONNECT_S = 1.2
_LIMITS = PoolLimits(
    max_connections=4096,  # a stream has one to itself for as long as it is open
    max_idle=2,
    max_idle_unrepeatable_s=30.0,  # their listener keeps an idle connection longer than that
    connect_timeout_s=_CONNECT_S,
)


class StreamedAnswer(HttpExchange):
    __slots__ = ("_ahead", "_ahead_bytes", "_changed", "_failure", "_is_over", "headers", "started", "status")

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.status = 0
        self.headers: Headers = ()
        self._ahead: deque[bytes] = deque()
        self._ahead_bytes = 0
        self._changed = asyncio.Event()
        self._is_over = False
        self._failure: UpstreamError | None = None

    def on_head(self, status: int, headers: RawHeaders) -> None:
        self.status = status
        self.payload = b""  # it was sent once, and is not sent again
        self.headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        if not self.started.done():
            self.started.set_result(None)

    def on_data(self, data: bytes) -> None:
        self._ahead.append(data)
        self._ahead_bytes += len(data)
        if self._ahead_bytes > _MAX_AHEAD_BYTES:
            self.pause()
        self._changed.set()

    def on_end(self) -> None:
        self._is_over = True
        self._changed.set()

    def on_failure(self, error: UpstreamError) -> None:
        self._failure = error
        self._is_over = True
        if not self.started.done():
            self.started.set_exception(error)
        self._changed.set()

    async def pieces(self) -> AsyncGenerator[bytes]:
        try:
            while True:
                while self._ahead:
                    data = self._ahead.popleft()
                    self._ahead_bytes -= len(data)
                    if not self._ahead:
                        self.resume()
                    yield data
                if self._failure is not None:
                    raise self._failure
                if self._is_over:
                    return
                self._changed.clear()
                await self._changed.wait()
        finally:
            if not self._is_over:
                self.cancel()


class StreamingTransport:
    def __init__(self) -> None:
        self._client = HttpClient(limits=_LIMITS)

    async def send(self, address: str, payload: bytes) -> StreamedAnswer:
        exchange = StreamedAnswer(payload)
        self._client.pool_for(_origin_of(address)).send(exchange)
        try:
            await exchange.started
        except UpstreamError as error:
            if error.data.get("reason") == "unreachable":
                raise NotSentError(is_refused="refused" in error.message) from error
            raise
        except asyncio.CancelledError:
            exchange.cancel()
            raise
        return exchange

    async def close(self) -> None:
        await self._client.close()


def _origin_of(address: str) -> Origin:
    """A host and port, or `unix:` and the path of a socket."""
    if address.startswith(UNIX):
        return Origin(address.removeprefix(UNIX), 0, is_tls=False)
    return parse_address(f"http://{address}/").origin
