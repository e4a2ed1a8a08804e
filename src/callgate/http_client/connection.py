"""HTTP/1.1 towards one upstream, on one socket, by httptools: one exchange at a time.

The mirror image of `edge.http.http1`. Owns reading and framing; the pool decides which request comes next.
Knows nothing of MCP.

Rules
1. A connection goes back to its pool only when the answer was complete, the bytes that carried it held
   nothing more, and the request had left. Anything else closes it: a byte too many would become the next
   caller's answer.
2. The head is bounded here, and what comes between and behind the pieces of a body (chunk extensions,
   trailers); the body is the exchange's to bound, since a stream has no size.
3. An answer without a length ends with the connection (RFC 9112, 6.3); with one, an early end is a failure.
4. An answer whose head came before on this connection, byte for byte but for the length, is not read again if
   its short body came with it. The parser is the definition: it read the first one.
5. Cancelling closes the connection: the rest of the answer could not be told from the next one.
"""

import asyncio
import socket
from typing import Any, Protocol, cast

import httptools

from callgate.fair_reading import FairReading
from callgate.http_client.exchange import HttpExchange, KnownAnswer, RawHeaders, header_of, promised_idle_s
from callgate.model.error_codes import UPSTREAM_FAILED, UPSTREAM_TOO_LARGE, UPSTREAM_UNAVAILABLE
from callgate.model.errors import UpstreamError
from callgate.wire.framing.repeated_head import repeated_head

# Generous for cookies and policies, small enough that a thousand connections cannot fill the memory.
MAX_HEAD_BYTES = 64 * 1024
# Answers that may be known by their heads: longer ones are read in pieces (`fair_reading`).
_SHORT_BYTES = 8 * 1024
# A silent peer behind a dead network is noticed within two minutes, on streams that are quiet for hours.
_KEEP_ALIVE_IDLE_S, _KEEP_ALIVE_INTERVAL_S, _KEEP_ALIVE_PROBES = 60, 20, 3


class ConnectionOwner(Protocol):
    shown: str  # the upstream's name for messages

    def released(self, connection: "UpstreamConnection") -> None: ...

    def wait_in_line(self, exchange: HttpExchange) -> None: ...

    def gone(self, connection: "UpstreamConnection") -> None: ...


class UpstreamConnection(asyncio.Protocol):
    def __init__(self, owner: ConnectionOwner) -> None:
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._exchange: HttpExchange | None = None
        self._headers: RawHeaders = []
        self._reading = FairReading(self._received)
        self.pause, self.resume = self._reading.pause, self._reading.resume
        self._has_served = False  # an answer came on it before: the peer may close it at any time
        self._has_surplus = False  # bytes after the end of an answer
        self._may_stay = False
        self.is_lost = False
        self._known: KnownAnswer | None = None
        self.idle_since = 0.0
        # The peer's own promise (`Keep-Alive: timeout=5`), if it makes one.
        self.promised_idle_s: float | None = None
        self._start_answer()

    def _start_answer(self) -> None:
        self._answer_bytes = 0
        self._body_bytes = 0
        self._quiet_bytes = 0  # read since the last piece of the body
        self._trailer_bytes = 0
        self._head_done = False
        self._complete = False

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._reading.use(self._transport)
        sock: Any = transport.get_extra_info("socket")
        if sock is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if hasattr(socket, "TCP_KEEPIDLE"):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_IDLE_S)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_ALIVE_INTERVAL_S)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEP_ALIVE_PROBES)

    def data_received(self, data: bytes) -> None:
        known, exchange = self._known, self._exchange
        if (
            known is None
            or exchange is None
            or self._answer_bytes
            or self._reading.is_paused
            or (body := known.head.body_of(data)) is None
            or (read := exchange.read_whole(known, body)) is None
        ):
            self._reading.received(data)
            return
        self._exchange = exchange.place = None  # rule 4: its head came before
        transport = self._transport
        if transport is not None and not self.is_lost and transport.get_write_buffer_size() == 0:
            self._owner.released(self)
        else:
            self.abort()
        exchange.on_whole(body, read)

    def _received(self, data: bytes) -> None:
        if self._exchange is None:
            self.abort()  # an answer that nobody asked for
            return
        self._answer_bytes += len(data)
        if self._head_done:
            self._quiet_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as problem:
            self.abort()  # a bug in a callback: the loop's handler hears of it
            raise problem.__context__ or problem from None
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as problem:
            if not self._complete:
                reason = problem if isinstance(problem, httptools.HttpParserError) else "protocol upgrade"
                text = f"{self._owner.shown} sent something that is not an HTTP answer: {reason}"
                self._fail(UpstreamError(UPSTREAM_FAILED, text))
                return
            self._has_surplus = True
        if self._complete:
            self._has_surplus = self._has_surplus or bool(self._reading.rest)
            self._known = self._learn(data)
            self._finish()
        elif not self._head_done and self._answer_bytes > MAX_HEAD_BYTES:
            self._fail(self._head_too_large())
        elif self._quiet_bytes > MAX_HEAD_BYTES:
            # The parser keeps an unfinished field, and joins what comes to it again and again.
            self._fail(self._framing_too_large())

    def _learn(self, data: bytes) -> KnownAnswer | None:
        """Rule 4."""
        if self._has_surplus or not self._may_stay or self._answer_bytes != len(data):
            return None
        status, headers = self._parser.get_status_code(), self._headers
        if status != 200 or header_of(headers, b"transfer-encoding") is not None:
            return None
        head = repeated_head(data, self._body_bytes, _SHORT_BYTES)
        return None if head is None else KnownAnswer(head, status, headers)

    def eof_received(self) -> None:
        self._reading.flush()
        # Not waiting for our own unsent bytes, as the transport would: the peer will not answer any more.
        self._end(None)
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._reading.flush()
        self._reading.end()
        self._end(exc)
        self._owner.gone(self)

    # ---- what the pool needs

    def send(self, exchange: HttpExchange) -> None:
        assert self._exchange is None, "one exchange at a time"
        assert self._transport is not None, "the pool hands out open connections only"
        self._exchange = exchange
        exchange.place = self
        if self._answer_bytes:
            self._start_answer()
        self._transport.write(exchange.payload)

    def abort(self) -> None:
        """Without a farewell: for TLS that would mean waiting for the peer."""
        self.is_lost = True
        self._reading.end()
        if self._transport is not None:
            self._transport.abort()

    # ---- what the exchange needs (Place)

    def withdraw(self, exchange: HttpExchange) -> None:
        if self._exchange is exchange:
            self._exchange = None
            self.abort()

    # ---- reading: httptools calls the on_ methods

    def on_message_begin(self) -> None:
        if self._complete:
            self._has_surplus = True
        else:
            self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_done:
            self._headers.append((name.lower(), value))
            return
        self._trailer_bytes += len(name) + len(value) + 4  # trailers, which nobody here reads
        if self._trailer_bytes > MAX_HEAD_BYTES:
            self._fail(self._framing_too_large())

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 100 and not self._complete:
            text = f"{self._owner.shown} answered with the HTTP status {status:03}, which does not exist"
            self._fail(UpstreamError(UPSTREAM_FAILED, text))  # its body would come without a head
            return
        if status < 200 or self._complete:
            return  # 100 Continue, 103 Early Hints: the answer proper follows
        self._head_done = True
        exchange = self._exchange
        if exchange is None:
            return
        # The sum is needed only when one read brought more than a head may have.
        is_long = self._answer_bytes > MAX_HEAD_BYTES
        if is_long and sum(len(name) + len(value) + 4 for name, value in self._headers) > MAX_HEAD_BYTES:
            self._fail(self._head_too_large())
            return
        exchange.on_head(status, self._headers)

    def on_body(self, body: bytes) -> None:
        self._quiet_bytes = 0
        self._body_bytes += len(body)
        if self._exchange is not None and not self._complete:
            self._exchange.on_data(body)

    def on_message_complete(self) -> None:
        if self._head_done and not self._complete:
            self._complete = True
            self._may_stay = self._parser.should_keep_alive()

    def _head_too_large(self) -> UpstreamError:
        text = f"{self._owner.shown} sent an HTTP head larger than {MAX_HEAD_BYTES} bytes"
        return UpstreamError(UPSTREAM_TOO_LARGE, text)

    def _framing_too_large(self) -> UpstreamError:
        text = f"{self._owner.shown} sent chunk extensions or trailers larger than {MAX_HEAD_BYTES} bytes"
        return UpstreamError(UPSTREAM_TOO_LARGE, text)

    # ---- ending

    def _finish(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return  # cancelled meanwhile; the connection is going down already
        exchange.place = None
        # Before the exchange hears of its end, so that what it sends next finds this connection.
        if self._can_stay():
            if not self._has_served:
                self._has_served = True
                self.promised_idle_s = promised_idle_s(self._headers)
            self.resume()
            self._owner.released(self)
        else:
            self.abort()
        exchange.on_end()

    def _can_stay(self) -> bool:
        if not self._may_stay or self._has_surplus or self.is_lost or self._transport is None:
            return False
        return self._transport.get_write_buffer_size() == 0

    def _fail(self, error: UpstreamError) -> None:
        exchange, self._exchange = self._exchange, None
        self.abort()
        if exchange is not None:
            exchange.place = None
            exchange.on_failure(error)

    def _end(self, exc: Exception | None) -> None:
        """The peer is gone: what that means for the exchange under way."""
        self.is_lost = True
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        exchange.place = None
        has_end = any(name in (b"transfer-encoding", b"content-length") for name, _ in self._headers)
        if self._head_done and exc is None and not has_end:
            exchange.on_end()
        elif (
            self._has_served and self._answer_bytes == 0 and exchange.repeatable and not exchange.was_repeated
        ):
            exchange.was_repeated = True
            # Another idle connection may be as dead as this one: it waits for a new one, or for one in use.
            self._owner.wait_in_line(exchange)
        else:
            exchange.on_failure(self._hung_up(exchange))

    def _hung_up(self, exchange: HttpExchange) -> UpstreamError:
        if self._answer_bytes:
            return UpstreamError(
                UPSTREAM_UNAVAILABLE, f"{self._owner.shown} closed the connection in the middle of its answer"
            )
        hint = "" if exchange.repeatable else "It may or may not have run, so it was not sent again"
        text = f"{self._owner.shown} closed the connection without an answer"
        return UpstreamError(UPSTREAM_UNAVAILABLE, text, hint=hint)
