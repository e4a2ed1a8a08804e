"""HTTP/1.1 requests out of the bytes of one connection, on httptools. `http1` answers them.

Knows neither the socket nor what is being answered.

Rules
1. Head and body are bounded before they are kept, and so is what is neither: sizes of chunks, their
   extensions, fields after the body. A body is whole before its request is handed on.
2. The gate judges a request when its head is complete. Of one that it refuses, or whose body nobody will
   read, no byte of the body is kept: a short body is passed over, before a long one the request is handed on
   at once and nothing more is read.
3. The bodies of all connections share a budget, the first bytes of each left out: long ones that fill it
   must not keep short ones out.
4. Of a POST with a short body of a given length it is asked who may begin its answer. What was decided holds
   for all requests with the same head: one that comes again on this connection, byte for byte but for the
   length, is not read and judged again (`repeated_head`). The parser is the definition: it read the first.
5. Fields after the body (trailers) are dropped: no proxy in front of us looked at them. So is an offer to
   upgrade, which stops the parser, who takes it for accepted: we ignore it (RFC 9110, 7.8), and the head is
   read again without it.
"""

from collections.abc import Callable
from functools import lru_cache

import httptools

from callgate.edge.http.message import HttpRequest, body_length, by_name, check_version, path_of
from callgate.edge.http.read_limits import (
    MAX_HEAD_BYTES,
    UnreportedBytes,
    body_too_large,
    head_too_large,
    overloaded,
)
from callgate.edge.http.service import Service
from callgate.model.error_codes import CALLER_MALFORMED
from callgate.model.errors import CallerError, CallgateError
from callgate.wire.framing.pieces import Pieces
from callgate.wire.framing.repeated_head import RepeatedHead, repeated_head

# Nearly all calls are shorter than this.
_FREE_BODY_BYTES = 16 * 1024
# To pass over so much is cheaper than a new connection.
_PASSED_OVER_BYTES = 64 * 1024
# With one of these the length is not all that says where a request ends, or what is to be done with it.
_FRAMING_FIELDS = frozenset({"transfer-encoding", "expect", "upgrade", "trailer"})


class ReadNoMoreError(Exception):
    """Stops the parser: the request was handed on before its end."""


class RequestReader:
    def __init__(
        self,
        service: Service,
        take: Callable[[HttpRequest], None],
        ask_for_body: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        """`take`: who gets each request; `ask_for_body`: a client waits for leave to send it."""
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._service = service
        self._max_body_bytes = service.max_body_bytes
        self._take = take
        self._ask_for_body = ask_for_body
        self._now = now
        self._body = Pieces()
        self.peer: str | None = None
        self.is_over = False  # nothing more is read here
        self._known: tuple[RepeatedHead, HttpRequest] | None = None  # and the request with it
        self.on_message_begin()
        self._is_between = True  # two requests
        self._whole: HttpRequest | None = None  # the last one that ended in what is being read

    @property
    def is_mid_request(self) -> bool:
        return self._head_bytes > 0

    @property
    def is_mid_body(self) -> bool:
        return self._request is not None

    @property
    def known_head(self) -> HttpRequest | None:
        """The request whose head need not be read again (rule 4)."""
        return None if self._known is None else self._known[1]

    def so_far(self) -> HttpRequest:
        """What could be read of a request that cannot be read to its end."""
        if self._request is not None:
            return self._request
        method = self._parser.get_method() if self._target and self._parser is not None else b""
        target, fields = self._target.decode("latin-1"), dict(self._headers)
        return HttpRequest(
            method.decode("latin-1"), target, path_of(target), self._headers, fields, self.peer
        )

    def known_request(self, data: bytes) -> HttpRequest | None:
        """Rule 4; while no other is answered. None: `feed` it."""
        if self._known is None or not self._is_between:
            return None
        head, request = self._known
        if (body := head.body_of(data)) is None:
            return None
        # One object for all of them: no request is read here before the one before it was answered.
        request.body, request.body_bytes = body, len(body)
        return request

    def feed(self, data: bytes) -> None:
        """Raises CallgateError for what cannot be read: nothing that follows can be trusted."""
        was_between = self._is_between
        request, body_bytes = self._request, self._body_bytes
        problem: CallgateError | None = None
        rest: bytes | None = data
        while rest is not None and self._parser is not None:
            unread, rest = rest, None
            try:
                self._parser.feed_data(unread)
            except httptools.HttpParserUpgrade as offer:  # there may be more of them behind it
                rest = self._head_without_offer() + unread[offer.args[0] :]
                self._parser = httptools.HttpRequestParser(self)
            except httptools.HttpParserError as error:
                problem = _problem_of(error)
        if problem is None and self._head_bytes and not self.is_over:
            problem = self._unreported_problem(len(data), request, body_bytes)
        if problem is not None:
            raise problem
        whole, self._whole = self._whole, None
        if was_between and self._is_between and whole is not None:
            max_body_bytes = min(_FREE_BODY_BYTES, self._max_body_bytes)
            head = repeated_head(data, whole.body_bytes, max_body_bytes) if whole.beginner else None
            self._known = None if head is None else (head, whole)

    def close(self) -> None:
        """Nothing more will come. What is kept goes now: parser and reader hold each other, and until the
        collector looked for that, an unfinished body would stay."""
        self.is_over = True
        self._parser = None
        self._known = self._whole = None
        self._drop_body()
        self.on_message_begin()

    # ---- parsing

    def _head_without_offer(self) -> bytes:
        assert self._parser is not None
        lines = "".join(f"{name}: {value}\r\n" for name, value in self._headers if name != "upgrade")
        version = self._parser.get_http_version()
        first = f"{self._parser.get_method().decode('latin-1')} {self._target.decode('latin-1')}"
        return f"{first} HTTP/{version}\r\n{lines}\r\n".encode("latin-1")

    def _unreported_problem(
        self, data_bytes: int, before: HttpRequest | None, body_bytes: int
    ) -> CallgateError | None:
        unreported = self._unreported = self._unreported or UnreportedBytes()
        if self._request is None:
            return unreported.add_to_head(data_bytes)
        if self._request is not before:
            return None
        return unreported.add_to_body(data_bytes, self._body_bytes - body_bytes)

    # ---- httptools calls these

    def on_message_begin(self) -> None:
        self._is_between = False
        self._request: HttpRequest | None = None  # from the end of its head to the end of its body
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._head_bytes = 0
        self._body_bytes = 0
        self._unreported: UnreportedBytes | None = None  # from the first of them on
        self.began_at = self._now()

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._head_bytes += len(url)
        if self._head_bytes > MAX_HEAD_BYTES:
            raise head_too_large()

    def on_header(self, name: bytes, value: bytes) -> None:
        field_bytes = len(name) + len(value) + 4
        if self._request is not None:
            self._unreported = self._unreported or UnreportedBytes()
            if (problem := self._unreported.add_trailer(field_bytes)) is not None:
                raise problem
            return
        self._head_bytes += field_bytes
        if self._head_bytes > MAX_HEAD_BYTES:
            raise head_too_large()
        self._headers.append((_lower_name(name), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        parser = self._parser
        assert parser is not None
        method = parser.get_method()
        if parser.should_upgrade() and method != b"CONNECT":
            return  # read again without it
        version = parser.get_http_version()
        if version != "1.1" or method == b"CONNECT":
            check_version(version, method)
        fields = by_name(self._headers)
        length = body_length(fields, version)
        if length > self._max_body_bytes:
            raise body_too_large(self._max_body_bytes)
        target = self._target.decode("latin-1")
        request = HttpRequest(
            method.decode("latin-1"),
            target,
            path_of(target),
            self._headers,
            fields,
            self.peer,
            version == "1.0",
        )
        self._request = request
        try:
            self._service.judge(request)
            if length > _FREE_BODY_BYTES and length - _FREE_BODY_BYTES > self._service.bodies.left_bytes:
                raise overloaded()
        except CallgateError as error:
            # Without its frames, which hold the bytes just read and lead back here.
            request.refusal = error.with_traceback(None)
        expects = "expect" in fields and fields["expect"].lower() == "100-continue"
        is_unread = request.refusal is not None or request.ignores_body
        if is_unread and (expects or length > _PASSED_OVER_BYTES):
            self._hand_on_early(request)
        if expects:
            self._ask_for_body()

    def on_body(self, body: bytes) -> None:
        request = self._request
        assert request is not None
        self._body_bytes += len(body)
        if request.refusal is not None or request.ignores_body:
            if self._body_bytes > _PASSED_OVER_BYTES:
                self._hand_on_early(request)
            return
        if self._body_bytes > self._max_body_bytes:
            raise body_too_large(self._max_body_bytes)
        more_bytes = self._body_bytes - _FREE_BODY_BYTES - request.budget_bytes
        if more_bytes > 0:
            if not self._service.bodies.take(more_bytes):
                self._drop_body()
                request.refusal = overloaded()
                self._hand_on_early(request)
            request.budget_bytes += more_bytes
        self._body.append(body)

    def on_message_complete(self) -> None:
        request, self._request = self._request, None
        if request is None:
            return  # it will be read again without its offer
        assert self._parser is not None
        request.wants_close = not self._parser.should_keep_alive()
        request.body_bytes = self._body_bytes
        request.body = self._body.take()
        self._head_bytes = 0
        self._is_between = True
        self._whole = request
        if request.wants_close:
            self._known = None
        elif (
            request.method == "POST"
            and self._body_bytes <= _FREE_BODY_BYTES
            and not request.is_http_10
            and not request.ignores_body
            and request.refusal is None
            and _FRAMING_FIELDS.isdisjoint(request.fields)
        ):
            request.beginner = self._service.decide(request)
        self._take(request)

    def _hand_on_early(self, request: HttpRequest) -> None:
        self._request = None
        self.is_over = request.is_cut = True
        request.body_bytes = self._body_bytes
        self._take(request)
        raise ReadNoMoreError

    def _drop_body(self) -> None:
        self._body.take()
        if self._request is not None:
            self._service.drop_body(self._request)


@lru_cache(maxsize=1024)  # clients send the same few names all the time
def _lower_name(name: bytes) -> str:
    return name.decode("latin-1").lower()


def _problem_of(error: httptools.HttpParserError) -> CallgateError | None:
    if not isinstance(error, httptools.HttpParserCallbackError):
        return CallerError(CALLER_MALFORMED, f"The HTTP request could not be read: {error}")
    raised = error.__context__  # by one of our callbacks, which the parser wraps
    if isinstance(raised, ReadNoMoreError):
        return None
    if isinstance(raised, CallgateError):
        return raised
    raise error  # a bug of ours
