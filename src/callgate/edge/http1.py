"""HTTP/1.1 for one connection, on httptools: requests in, answers out.

By hand because the layer above it decides the gateway's speed: an ASGI server costs 60 µs a request more
(docs/decisions/0002-own-http-layer.md). Knows nothing of MCP.

Rules
1. One request is answered at a time. One that arrives meanwhile (pipelining) waits, and reading stops until
   it is answered; while none waits we keep reading, since that is how a disconnect is noticed.
2. Head and body are bounded before they are kept; a client that exceeds them is answered and cut off. What
   was answered must be read before the next request is served.
3. A body arrives whole before the handler runs; answers are whole or streamed in chunks.
4. When the client goes away, the handler's task is cancelled only if it asked for that.
5. Fields after the body (trailers) are dropped: no proxy in front of us looked at them. So is an offer to
   upgrade: we may ignore it (RFC 9110, 7.8), and clients that make it go on in HTTP/1.1.
"""

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, cast

import httptools

from callgate.edge.http_message import HttpRequest, Responder
from callgate.model.error_codes import CALLER_MALFORMED, CALLER_TOO_LARGE
from callgate.model.errors import CallerError

# Generous for cookies and tokens, small enough that 10,000 connections cannot fill the memory.
MAX_HEAD_BYTES = 32 * 1024

# What one read may bring: the head may be complete in the same chunk that exceeds its limit.
_CHUNK_BYTES = 256 * 1024
_UPGRADE_FIELD = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)

Handler = Callable[[HttpRequest, Responder], Awaitable[None]]
Refuser = Callable[[CallerError, HttpRequest, Responder], None]  # the request as far as it was read


@lru_cache(maxsize=1024)  # clients send the same few names all the time
def _lower(name: bytes) -> str:
    return name.decode("latin-1").lower()


class HttpConnection(asyncio.Protocol):
    def __init__(
        self, handler: Handler, refuser: Refuser, max_body_bytes: int, now: Callable[[], float]
    ) -> None:
        self._handler = handler
        self._refuser = refuser
        self._max_body_bytes = max_body_bytes
        self._now = now
        self._transport: asyncio.Transport | None = None
        self._peer: str | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._task: asyncio.Task[None] | None = None
        self._responder: Responder | None = None
        self._drain: asyncio.Future[None] | None = None
        self._waiting: deque[HttpRequest] = deque()  # pipelined behind the one being answered
        self._refusal: CallerError | None = None  # what follows them on the wire could not be read
        self._closing = False
        self._stuck_since: float | None = None  # the client does not read what we wrote
        self.waiting_since = now()  # when we began to wait for the (rest of the) next request
        self._wrote_at = self.waiting_since
        self.on_message_begin()

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer: Any = transport.get_extra_info("peername")
        self._peer = peer[0] if isinstance(peer, tuple) else None

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._drain is not None and not self._drain.done():
            self._drain.set_result(None)
        if self._task is not None and self._responder is not None and self._responder.cancel_on_disconnect:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._closing or self._refusal is not None:
            return
        if b"pgrade:" in data and self._head_bytes == 0:
            data = _without_upgrade(data)
        self._parse(data)
        if not self._is_head_complete:
            # httptools reports a field when it is whole; until then its bytes are only counted here.
            self._fed_bytes += len(data)
            if self._fed_bytes > MAX_HEAD_BYTES + _CHUNK_BYTES:
                self.refuse(self._head_too_large())
        if self._waiting and self._transport is not None:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._drain = asyncio.get_running_loop().create_future()
        self._stuck_since = self._now()

    def resume_writing(self) -> None:
        self._stuck_since = None
        if self._drain is not None and not self._drain.done():
            self._drain.set_result(None)
        self._drain = None

    # ---- what the listener and the responder need

    @property
    def is_closed(self) -> bool:
        return self._transport is None

    @property
    def is_answering(self) -> bool:
        return self._task is not None

    @property
    def task(self) -> asyncio.Task[None] | None:
        return self._task

    @property
    def is_mid_request(self) -> bool:
        return self._head_bytes > 0

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._wrote_at = self._now()
            self._transport.write(data)

    def check_silence(self, before: float) -> None:
        """An answer under way that has written nothing since `before` is reminded to."""
        responder = self._responder
        if responder is not None and responder.on_silence is not None and self._wrote_at < before:
            responder.on_silence()

    async def drained(self) -> None:
        if self._drain is not None:
            await self._drain

    def close(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def drop_if_stuck(self, before: float) -> None:
        """A client that reads nothing keeps our answer in memory, also after `close`: cut it off."""
        if self._stuck_since is not None and self._stuck_since < before:
            self.abort()

    def abort(self) -> None:
        """Hang up without waiting for what is still unsent."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def shut_down(self) -> asyncio.Task[None] | None:
        """Hang up when idle; when answering, hang up after the answer. Returns the task to wait for."""
        if self._task is None:
            self.close()
        self._closing = True
        return self._task

    def refuse(self, error: CallerError) -> None:
        """Answer an unreadable request and hang up: what follows on the wire cannot be trusted.

        Not before those in front of it were answered: a client takes answers in the order it asked.
        """
        if self._task is not None:
            self._refusal = error
            return
        method = self._parser.get_method() if self._target else b""
        request = HttpRequest(
            method.decode("latin-1"),
            self._target.decode("latin-1"),
            self._headers,
            b"",
            self._peer,
            wants_close=True,
        )
        self._refuser(error, request, Responder(self, head_only=False))
        self.close()

    # ---- reading: httptools calls the on_ methods

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # an offer that came in pieces
            self.refuse(CallerError(CALLER_MALFORMED, "No protocol upgrade is offered here"))
        except httptools.HttpParserCallbackError as problem:
            cause = problem.__context__
            fallback = CallerError(CALLER_MALFORMED, "The HTTP request could not be read")
            self.refuse(cause if isinstance(cause, CallerError) else fallback)
        except httptools.HttpParserError as problem:
            self.refuse(CallerError(CALLER_MALFORMED, f"The HTTP request could not be read: {problem}"))

    def on_message_begin(self) -> None:
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._head_bytes = 0
        self._fed_bytes = 0
        self._body_bytes = 0
        self._is_head_complete = False
        self.waiting_since = self._now()

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_head_complete:
            return
        self._count_head(len(name) + len(value) + 4)
        self._headers.append((_lower(name), value.decode("latin-1").strip()))

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise self._head_too_large()

    def _head_too_large(self) -> CallerError:
        return CallerError(CALLER_TOO_LARGE, f"The request head is larger than {MAX_HEAD_BYTES} bytes")

    def on_headers_complete(self) -> None:
        self._is_head_complete = True
        for name, value in self._headers:
            if name == "content-length" and value.isdigit() and int(value) > self._max_body_bytes:
                raise self._too_large()
            # Not into the middle of another answer; a client that gets none sends its body after a while.
            if name == "expect" and value.lower() == "100-continue" and self._task is None:
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > self._max_body_bytes:
            raise self._too_large()
        self._body.append(body)

    def _too_large(self) -> CallerError:
        return CallerError(CALLER_TOO_LARGE, f"The body is larger than {self._max_body_bytes} bytes")

    def on_message_complete(self) -> None:
        if self._parser.get_method() == b"CONNECT":
            raise CallerError(CALLER_MALFORMED, "This is no proxy")
        request = HttpRequest(
            method=self._parser.get_method().decode("latin-1"),
            target=self._target.decode("latin-1"),
            headers=self._headers,
            body=b"".join(self._body),
            peer=self._peer,
            wants_close=not self._parser.should_keep_alive(),
            is_http_10=self._parser.get_http_version() == "1.0",
        )
        self._head_bytes = 0
        self._fed_bytes = 0
        if self._task is None:
            self._start(request)
        else:
            self._waiting.append(request)

    # ---- answering

    def _start(self, request: HttpRequest) -> None:
        self._responder = Responder(self, request.method == "HEAD", is_chunked=not request.is_http_10)
        self._wrote_at = self._now()
        self._task = asyncio.get_running_loop().create_task(self._serve(request, self._responder))

    async def _serve(self, request: HttpRequest, responder: Responder) -> None:
        try:
            await self._handler(request, responder)
            await self.drained()
        except asyncio.CancelledError:
            self.close()
        finally:
            self._task = self._responder = None
            unfinished = not responder.started or responder.streaming
            if request.wants_close or unfinished or self._closing:
                self.close()
        self._next()

    def _next(self) -> None:
        if self._transport is None or self._closing:
            return
        self.waiting_since = self._now()
        if self._waiting:
            self._start(self._waiting.popleft())
        elif self._refusal is not None:
            self.refuse(self._refusal)
            return
        if not self._waiting:
            self._transport.resume_reading()


def _without_upgrade(data: bytes) -> bytes:
    """The first bytes of a request without its `Upgrade` field, which would end the parser's work."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE_FIELD.sub(b"", head) + end + rest if end else data
