"""What httptools makes of the head of a request, and of what cannot be read. `request_reader` is the rest.

An offer to upgrade stops the parser, which takes it for accepted. We ignore it (RFC 9110, 7.8): the head is
read again without it.
"""

from functools import lru_cache

import httptools

from callgate.edge.http.read_limits import MAX_HEAD_BYTES, head_too_large
from callgate.model.error_codes import CALLER_MALFORMED
from callgate.model.errors import CallerError, CallgateError


class ReadNoMoreError(Exception):
    """Stops the parser: the request was handed on before its end."""


@lru_cache(maxsize=1024)  # clients send the same few names all the time
def lower_name(name: bytes) -> str:
    return name.decode("latin-1").lower()


class HeadParser:
    def __init__(self) -> None:
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._problem: CallgateError | None = None
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._head_bytes = 0

    @property
    def is_mid_request(self) -> bool:
        return self._head_bytes > 0

    def on_url(self, url: bytes) -> None:
        """Called by httptools."""
        self._target += url
        self._head_bytes += len(url)
        if self._head_bytes > MAX_HEAD_BYTES:
            raise self._fail(head_too_large())

    def _fail(self, problem: CallgateError) -> CallgateError:
        # Kept here because the parser wraps what its callbacks raise.
        self._problem = problem
        return problem

    def _problem_of(self, error: httptools.HttpParserError) -> CallgateError | None:
        if not isinstance(error, httptools.HttpParserCallbackError):
            return CallerError(CALLER_MALFORMED, f"The HTTP request could not be read: {error}")
        if isinstance(error.__context__, ReadNoMoreError):
            return None
        if self._problem is None:
            raise error  # a bug of ours
        return self._problem

    def _read_again(self, rest: memoryview) -> CallgateError | None:
        """Without the offer, and `rest` after it, where there may be more of them."""
        while True:
            head = self._head_without_offer()
            parser = self._parser = httptools.HttpRequestParser(self)
            try:
                parser.feed_data(head)
                parser.feed_data(rest)
            except httptools.HttpParserUpgrade as offer:
                rest = rest[offer.args[0] :]
                continue
            except httptools.HttpParserError as error:
                return self._problem_of(error)
            return None

    def _head_without_offer(self) -> bytes:
        assert self._parser is not None
        lines = "".join(f"{name}: {value}\r\n" for name, value in self._headers if name != "upgrade")
        version = self._parser.get_http_version()
        first = f"{self._parser.get_method().decode('latin-1')} {self._target.decode('latin-1')}"
        return f"{first} HTTP/{version}\r\n{lines}\r\n".encode("latin-1")
