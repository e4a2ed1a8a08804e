"""The HTTP client: one pool of connections for each origin, and a simple awaitable on top.

By hand because the client library decides the gateway's speed: aiohttp costs 220 µs a request more, httpx
3,300 (docs/decisions/0002-own-http-layer.md). The hot path takes a pool once and sends `HttpExchange`s;
`post` is for rare questions, such as the era probe. Follows no redirect and keeps no cookie: an operator's
credentials go to the address they were written for, and nowhere else. Knows nothing of MCP.
"""

import asyncio
import ssl
from collections.abc import Iterable
from dataclasses import dataclass

from callgate.http_client.address import (
    OUR_HEADERS,
    HttpAddress,
    Origin,
    header_lines,
    operator_headers,
    parse_address,
    post_head,
)
from callgate.http_client.exchange import SSE_TYPE, HttpExchange, RawHeaders, media_type_of
from callgate.http_client.pool import DEFAULT_LIMITS, HttpPool, PoolLimits
from callgate.model.error_codes import UPSTREAM_TIMEOUT, UPSTREAM_TOO_LARGE
from callgate.model.errors import CallerError, UpstreamError
from callgate.wire.framing.lines import MAX_FRAME_BYTES
from callgate.wire.framing.pieces import Pieces
from callgate.wire.framing.sse import SseDecoder


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: dict[str, str]  # names in lower case; of duplicates the first
    body: bytes  # whole, or the first message of an event stream


class HttpClient:
    """Made and closed inside a running loop; shared by all transports, whose connections it owns."""

    def __init__(
        self, *, ssl_context: ssl.SSLContext | None = None, limits: PoolLimits = DEFAULT_LIMITS
    ) -> None:
        self._ssl_context = ssl_context
        self._limits = limits
        self._pools: dict[Origin, HttpPool] = {}

    def use_limits(self, limits: PoolLimits) -> None:
        """From now on; what is open past them is closed when it was idle for long."""
        self._limits = limits
        for pool in self._pools.values():
            pool.limits = limits

    def pool_for(self, origin: Origin) -> HttpPool:
        pool = self._pools.get(origin)
        if pool is None:
            if origin.is_tls and self._ssl_context is None:
                self._ssl_context = ssl.create_default_context()  # reads the system's CAs: not before needed
            pool = HttpPool(origin, self._ssl_context if origin.is_tls else None, self._limits)
            self._pools[origin] = pool
        return pool

    async def post(
        self, url: str, headers: Iterable[tuple[str, str]], body: bytes, timeout_s: float
    ) -> HttpAnswer:
        """One POST of JSON, answered whole; of an event stream the first message. Any status is an answer.

        `headers` are sent as they are, the operator's and those of the protocol; only framing is ours. For
        requests that may be sent twice. Raises UpstreamError, also when it takes longer than `timeout_s`.
        """
        address = parse_address(url)
        given = list(headers)
        ours = [pair for pair in given if pair[0].lower() in OUR_HEADERS]
        protocol = [pair for pair in ours if pair[0].lower().startswith("mcp-")]
        head = post_head(address, operator_headers(address, given) + header_lines(protocol))
        payload = b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)
        return await self.ask(address, payload, timeout_s)

    async def ask(self, address: HttpAddress, payload: bytes, timeout_s: float) -> HttpAnswer:
        """A request that may be sent twice and passes the line; see `post`."""
        exchange = WholeAnswer(payload, address.shown)
        self.pool_for(address.origin).send(exchange)
        try:
            async with asyncio.timeout(timeout_s):
                return await exchange.done
        except TimeoutError as problem:
            text = f"{address.shown} did not answer within {timeout_s:g} s"
            raise UpstreamError(UPSTREAM_TIMEOUT, text) from problem
        finally:
            exchange.cancel()

    async def close(self) -> None:
        """Every connection is gone afterwards; what was under way failed. Idempotent."""
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))


class WholeAnswer(HttpExchange):
    """Puts the parts of an answer together for a caller that awaits it."""

    def __init__(self, payload: bytes, shown: str) -> None:
        super().__init__(payload, repeatable=True, is_urgent=True)
        self.done: asyncio.Future[HttpAnswer] = asyncio.get_running_loop().create_future()
        self._shown = shown
        self._status = 0
        self._headers: dict[str, str] = {}
        self._body = Pieces()
        self._decoder: SseDecoder | None = None

    def on_head(self, status: int, headers: RawHeaders) -> None:
        self._status = status
        for name, value in headers:
            self._headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
        if media_type_of(headers) == SSE_TYPE:
            self._decoder = SseDecoder()

    def on_data(self, data: bytes) -> None:
        if self._decoder is None:
            self._body.append(data)
            if self._body.size_bytes > MAX_FRAME_BYTES:
                self._give_up()
            return
        try:
            frames = [event.data for event in self._decoder.feed(data) if event.data]
        except CallerError:
            self._give_up()
            return
        if frames:
            self._body.append(frames[0])
            self.cancel()
            self.on_end()

    def _give_up(self) -> None:
        self.cancel()
        text = f"{self._shown} answered with more than {MAX_FRAME_BYTES} bytes"
        self.on_failure(UpstreamError(UPSTREAM_TOO_LARGE, text))

    def on_end(self) -> None:
        if not self.done.done():
            self.done.set_result(HttpAnswer(self._status, self._headers, self._body.take()))

    def on_failure(self, error: UpstreamError) -> None:
        if not self.done.done():
            self.done.set_exception(error)
