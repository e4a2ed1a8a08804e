"""MCP over the deprecated HTTP+SSE transport (2024-11-05): a GET stream for what comes, POSTs for what goes.

Owns the stream and the endpoint it named. Must not know request tables, time-outs or clients.

Rules
1. The endpoint must be of the same origin: the operator's headers go with every POST.
2. The stream is the session: when it ends, the transport is lost; nothing can be resumed.
3. Frames come with no `about`: nothing on this wire ties them to a POST.
"""

import asyncio
from urllib.parse import urljoin

from callgate.http_client.address import HttpAddress, parse_address, post_head, request_line
from callgate.http_client.client import HttpClient
from callgate.http_client.exchange import HttpExchange, RawHeaders
from callgate.model.error_codes import UPSTREAM_FAILED, UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE
from callgate.model.errors import CallerError, SetupError, UpstreamError
from callgate.upstreams.http.faults import Refusal, answer_fault, session_lost_fault, too_large_fault
from callgate.upstreams.http.get_stream import StreamGet
from callgate.upstreams.http.http_transport import MAX_WAITING, HttpSettings, HttpTransport
from callgate.upstreams.http.message_post import REPEATABLE_METHODS
from callgate.upstreams.transport import OneStream, Receiver
from callgate.wire.framing.sse import SseDecoder

# The first event comes at once from a server that works; the same patience as for a connection.
_ENDPOINT_TIMEOUT_S = 10.0


class LegacySseTransport(HttpTransport, OneStream):
    def __init__(self, settings: HttpSettings, client: HttpClient, receiver: Receiver) -> None:
        HttpTransport.__init__(self, settings, client, receiver)
        OneStream.__init__(self, self._pause_reading, self._resume_reading)
        self._url = settings.url
        self._version_line = b""
        self._endpoint: HttpAddress | None = None
        self._endpoint_found: asyncio.Future[None] | None = None
        self._stream: StreamGet | None = None
        self._decoder = SseDecoder()

    # ---- Transport

    async def start(self) -> None:
        self._endpoint_found = asyncio.get_running_loop().create_future()
        head = request_line("GET", self._address) + self._own_lines
        payload = head + b"accept: text/event-stream\r\n\r\n"
        self._stream = StreamGet(self, payload, tells_why=True)
        self.pool.send(self._stream)
        try:
            async with asyncio.timeout(_ENDPOINT_TIMEOUT_S):
                await self._endpoint_found
        except TimeoutError as problem:
            self._stop()
            text = f"{self.shown} named no endpoint within {_ENDPOINT_TIMEOUT_S:g} s"
            raise UpstreamError(UPSTREAM_TIMEOUT, text) from problem

    def send(self, frame: bytes, rpc_id: int | None = None, method: str | None = None, *_: object) -> bool:
        if self._is_over or self._endpoint is None:
            return False
        if rpc_id is not None and len(self.pool.line) >= MAX_WAITING:
            return False
        head = post_head(self._endpoint, self._own_lines + self._version_line)
        payload = b"%bcontent-length: %d\r\n\r\n%b" % (head, len(frame), frame)
        post = _Post(self, payload, rpc_id, method)
        self._keep(post, rpc_id)
        self.pool.send(post)
        return True

    def _pause_reading(self) -> None:
        if self._stream is not None:
            self._stream.pause()

    def _resume_reading(self) -> None:
        if self._stream is not None:
            self._stream.resume()

    async def close(self) -> None:
        if not self._is_over:
            await self._take_leave()
        self._stop()

    def negotiated(self, revision: str) -> None:
        """2024-11-05 has no such header; a later revision spoken over this transport expects it."""
        self._version_line = b"mcp-protocol-version: %b\r\n" % revision.encode()

    # ---- what the exchanges report

    def read(self, data: bytes) -> None:
        try:
            events = self._decoder.feed(data)
        except CallerError:
            self.failed(too_large_fault(self.shown))
            return
        for event in events:
            if event.event == "endpoint":
                self._take_endpoint(event.data)
            elif event.data and event.event == "message" and not self._is_over:
                self.receiver.received(event.data, None)

    def refused(self, status: int, headers: RawHeaders, body: bytes) -> None:
        self.failed(answer_fault(self.shown, status, headers, body, self.hide))

    def ended(self) -> None:
        self.failed(UpstreamError(UPSTREAM_UNAVAILABLE, f"{self.shown} ended its event stream"))

    def _take_endpoint(self, data: bytes) -> None:
        try:
            endpoint = parse_address(urljoin(self._url, data.decode()))
        except (SetupError, UnicodeDecodeError):
            self.failed(UpstreamError(UPSTREAM_FAILED, f"{self.shown} named an endpoint that is not a URL"))
            return
        if endpoint.origin != self._address.origin:
            text = f"{self.shown} named an endpoint of another origin ({endpoint.origin})"
            self.failed(
                UpstreamError(UPSTREAM_FAILED, text, hint="Credentials are sent to the url's own host only")
            )
            return
        self._endpoint = endpoint
        if self._endpoint_found is not None and not self._endpoint_found.done():
            self._endpoint_found.set_result(None)

    def failed(self, error: UpstreamError) -> None:
        """The stream is gone. Before `start` is through, that is its failure, not a loss."""
        if self._is_over:
            return
        self._stop()
        if self._endpoint_found is not None and not self._endpoint_found.done():
            self._endpoint_found.set_exception(error)
        elif self._endpoint is not None:
            self.receiver.lost(error)

    def _stop(self) -> None:
        super()._stop()
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None


class _Post(HttpExchange):
    """One message. Accepted is all it can be: what answers it comes on the stream."""

    def __init__(
        self, transport: LegacySseTransport, payload: bytes, rpc_id: int | None, method: str | None
    ) -> None:
        is_repeatable = method is None or method in REPEATABLE_METHODS
        super().__init__(payload, repeatable=is_repeatable, is_urgent=rpc_id is None)
        self._transport = transport
        self._rpc_id = rpc_id
        self._answer = Refusal(0, [])

    def on_head(self, status: int, headers: RawHeaders) -> None:
        self._answer = Refusal(status, headers)

    def on_data(self, data: bytes) -> None:
        self._answer.read(data)

    def on_end(self) -> None:
        transport, answer = self._transport, self._answer
        if answer.status == 404:
            transport.failed(session_lost_fault(transport.shown))
            return
        if 200 <= answer.status < 300:
            transport.post_ended(self, self._rpc_id)
            return
        status, headers, body = answer.status, answer.headers, answer.body
        self.on_failure(answer_fault(transport.shown, status, headers, body, transport.hide))

    def on_failure(self, error: UpstreamError) -> None:
        self._transport.post_ended(self, self._rpc_id)
        if self._rpc_id is not None:
            self._transport.receiver.stream_failed(self._rpc_id, error)
