"""HTTP/1.1 requests out of the bytes of one connection, on httptools. `http1` answers them.

Knows neither the socket nor what is being answered.

Rules
1. Head and body are bounded before they are kept. A body is whole before its request is handed on.
2. Fields after the body (trailers) are dropped: no proxy in front of us looked at them. So is an offer to
   upgrade: we may ignore it (RFC 9110, 7.8), and clients that make it go on in HTTP/1.1.
"""

import re
from collections.abc import Callable
from functools import lru_cache

import httptools

from callgate.edge.http_message import HttpRequest
from callgate.model.error_codes import CALLER_MALFORMED, CALLER_TOO_LARGE
from callgate.model.errors import CallerError

# Generous for cookies and tokens, small enough that 10,000 connections cannot fill the memory.
MAX_HEAD_BYTES = 32 * 1024

# What one read may bring: the head may be complete in the same chunk that exceeds its limit.
_CHUNK_BYTES = 256 * 1024
_UPGRADE_FIELD = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)


@lru_cache(maxsize=1024)  # clients send the same few names all the time
def _lower(name: bytes) -> str:
    return name.decode("latin-1").lower()


class RequestReader:
    def __init__(
        self,
        take: Callable[[HttpRequest], None],
        ask_for_body: Callable[[], None],
        max_body_bytes: int,
        now: Callable[[], float],
    ) -> None:
        """`take`: who gets each request; `ask_for_body`: a client waits for leave to send it."""
        self._take = take
        self._ask_for_body = ask_for_body
        self._max_body_bytes = max_body_bytes
        self._now = now
        self._parser = httptools.HttpRequestParser(self)
        self.peer: str | None = None
        self.on_message_begin()

    @property
    def is_mid_request(self) -> bool:
        return self._head_bytes > 0

    def so_far(self) -> HttpRequest:
        """What could be read of a request that cannot be read to its end."""
        method = self._parser.get_method() if self._target else b""
        return HttpRequest(
            method.decode("latin-1"),
            self._target.decode("latin-1"),
            self._headers,
            b"",
            self.peer,
            wants_close=True,
        )

    def feed(self, data: bytes) -> None:
        """Raises CallerError for what cannot be read: nothing that follows can be trusted."""
        if b"pgrade:" in data and self._head_bytes == 0:
            data = _without_upgrade(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as problem:  # an offer that came in pieces
            raise CallerError(CALLER_MALFORMED, "No protocol upgrade is offered here") from problem
        except httptools.HttpParserCallbackError as problem:
            if isinstance(problem.__context__, CallerError):
                raise problem.__context__ from None
            raise CallerError(CALLER_MALFORMED, "The HTTP request could not be read") from problem
        except httptools.HttpParserError as problem:
            raise CallerError(CALLER_MALFORMED, f"The HTTP request could not be read: {problem}") from problem
        if not self._is_head_complete:
            # httptools reports a field when it is whole; until then its bytes are only counted here.
            self._fed_bytes += len(data)
            if self._fed_bytes > MAX_HEAD_BYTES + _CHUNK_BYTES:
                raise self._head_too_large()

    # ---- httptools calls these

    def on_message_begin(self) -> None:
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._head_bytes = 0
        self._fed_bytes = 0
        self._body_bytes = 0
        self._is_head_complete = False
        self.began_at = self._now()

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._head_bytes += len(url)
        if self._head_bytes > MAX_HEAD_BYTES:
            raise self._head_too_large()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_head_complete:
            return
        self._head_bytes += len(name) + len(value) + 4
        if self._head_bytes > MAX_HEAD_BYTES:
            raise self._head_too_large()
        self._headers.append((_lower(name), value.decode("latin-1").strip()))

    def _head_too_large(self) -> CallerError:
        return CallerError(CALLER_TOO_LARGE, f"The request head is larger than {MAX_HEAD_BYTES} bytes")

    def on_headers_complete(self) -> None:
        self._is_head_complete = True
        for name, value in self._headers:
            if name == "content-length" and value.isdigit() and int(value) > self._max_body_bytes:
                raise self._too_large()
            if name == "expect" and value.lower() == "100-continue":
                self._ask_for_body()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > self._max_body_bytes:
            raise self._too_large()
        self._body.append(body)

    def _too_large(self) -> CallerError:
        return CallerError(CALLER_TOO_LARGE, f"The body is larger than {self._max_body_bytes} bytes")

    def on_message_complete(self) -> None:
        method = self._parser.get_method()
        if method == b"CONNECT":
            raise CallerError(CALLER_MALFORMED, "This is no proxy")
        request = HttpRequest(
            method=method.decode("latin-1"),
            target=self._target.decode("latin-1"),
            headers=self._headers,
            body=b"".join(self._body),
            peer=self.peer,
            wants_close=not self._parser.should_keep_alive(),
            is_http_10=self._parser.get_http_version() == "1.0",
        )
        self._head_bytes = 0
        self._fed_bytes = 0
        self._take(request)


def _without_upgrade(data: bytes) -> bytes:
    """The first bytes of a request without its `Upgrade` field, which would end the parser's work."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE_FIELD.sub(b"", head) + end + rest if end else data
