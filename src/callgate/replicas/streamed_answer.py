"""Requests of ours whose answers are passed on as they come. Implements `ports.PeerTransport`.

Owns the flow: a reader that is slow holds back who sends. Knows neither MCP nor who is asked.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from functools import lru_cache

from callgate.config.specs.listen_address import UNIX
from callgate.http_client.address import Origin, gateway_address
from callgate.http_client.client import HttpClient
from callgate.http_client.exchange import HttpExchange, KnownAnswer, RawHeaders, header_of
from callgate.http_client.pool import PoolLimits
from callgate.model.errors import UpstreamError
from callgate.ports.peers import Headers, NotSentError, PassedReceiver

# Read ahead of a slow reader: enough to keep a fast one busy.
_MAX_AHEAD_BYTES = 256 * 1024
# Other replicas are near: one that has not accepted by then is not there.
_CONNECT_S = 1.2
# Answers that are passed back in one piece.
_SHORT_BYTES = 64 * 1024
_LIMITS = PoolLimits(
    max_connections=4096,  # a stream has one to itself for as long as it is open
    # Fewer would be opened and closed with every burst of calls; what is not needed is closed after a while.
    max_idle=32,
    max_idle_unrepeatable_s=30.0,  # their listener keeps an idle connection longer than that
    connect_timeout_s=_CONNECT_S,
)


class StreamedAnswer(HttpExchange):
    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self._prepare()

    def _prepare(self) -> None:
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


class BegunAnswer(StreamedAnswer):
    """One whose receiver is told, instead of a task that waits."""

    __slots__ = ("_receiver", "_whole")

    def __init__(self, payload: bytes, receiver: PassedReceiver) -> None:
        HttpExchange.__init__(self, payload)
        self.status = 0  # the rest is made when it turns out to be a stream
        self._receiver = receiver
        self._whole: list[bytes] | None = None  # of a short answer, until all of it is there

    def on_head(self, status: int, headers: RawHeaders) -> None:
        length = header_of(headers, b"content-length") or b""
        if length.isdigit() and int(length) <= _SHORT_BYTES:
            self.status, self.headers = status, _decoded(tuple(headers))
            self.payload, self._whole = b"", []
            return
        self._prepare()
        super().on_head(status, headers)
        self._receiver.answers(self)

    def on_data(self, data: bytes) -> None:
        if self._whole is None:
            super().on_data(data)
        else:
            self._whole.append(data)

    def on_end(self) -> None:
        if self._whole is None:
            super().on_end()
        else:
            self._receiver.answered(self.status, tuple(self.headers), b"".join(self._whole))

    def on_failure(self, error: UpstreamError) -> None:
        if self._whole is None and self.status:
            super().on_failure(error)
        elif is_unsent(error):
            self._receiver.not_sent()
        else:
            self._receiver.lost()

    def read_whole(self, answer: KnownAnswer, body: bytes) -> KnownAnswer:
        return answer

    def on_whole(self, body: bytes, read: KnownAnswer) -> None:
        self._receiver.answered(read.status, _decoded(tuple(read.headers)), body)


@lru_cache(maxsize=64)  # answers of a replica begin with one of a few heads
def _decoded(headers: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def is_unsent(error: UpstreamError) -> bool:
    """There was no connection to send anything on."""
    return error.data.get("reason") == "unreachable"


class StreamingTransport:
    def __init__(self) -> None:
        self._client = HttpClient(limits=_LIMITS)

    async def send(self, address: str, payload: bytes) -> StreamedAnswer:
        exchange = StreamedAnswer(payload)
        self._client.pool_for(_origin(address)).send(exchange)
        try:
            await exchange.started
        except UpstreamError as error:
            if is_unsent(error):
                raise NotSentError(is_refused="refused" in error.message) from error
            raise
        except asyncio.CancelledError:
            exchange.cancel()
            raise
        return exchange

    def begin(self, address: str, payload: bytes, receiver: PassedReceiver) -> BegunAnswer:
        exchange = BegunAnswer(payload, receiver)
        self._client.pool_for(_origin(address)).send(exchange)
        return exchange

    async def close(self) -> None:
        await self._client.close()


@lru_cache(maxsize=1024)
def _origin(address: str) -> Origin:
    return gateway_address(address if address.startswith(UNIX) else f"http://{address}", "/").origin
