"""One HTTP request as its handler sees it, and the answering half of it; `http1` is the connection."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from callgate.model.errors import CallgateError
from callgate.model.identity import Principal

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}

Headers = tuple[tuple[str, str], ...]

_MAX_LENGTH_DIGITS = 5

# With every answer: a browser must not take it for another type, show it to another site, or (unless the
# answer says something else about caching) keep it.
_GUARDS: Headers = (
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
)


class HttpRequest(msgspec.Struct):
    """Made when the head is complete; the body follows, if there is one and who asks was let in."""

    method: str
    target: str  # as sent: path and query
    headers: list[tuple[str, str]]  # names in lower case, in order, duplicates kept
    fields: Mapping[str, str]  # the same by name: those that decide something came once, others are joined
    peer: str | None  # IP address of the other end
    is_http_10: bool = False
    body: bytes = b""  # whoever has read it drops it
    body_bytes: int = 0  # how long it was
    budget_bytes: int = 0  # how much of the budget of bodies it takes, until it is answered
    wants_close: bool = True
    is_cut: bool = False  # answered before all of it was read: nothing can follow
    principal: Principal | None = None  # who the gate found
    ignores_body: bool = False  # nobody will read it: nothing of it is kept
    has_wrong_token: bool = False
    refusal: CallgateError | None = None  # what the gate said
    known: "KnownHead | None" = None  # its connection sent the same head before
    decoded: Any = None  # what the layer above has read of the body already

    @property
    def path(self) -> str:
        return _path_of(self.target)


class KnownHead:
    """A head that a connection sends again and again, but for the length: read and judged once.

    A client that keeps its connection repeats its head with every request.
    """

    __slots__ = ("_after", "_before", "_max_body_bytes", "_request", "decision")

    def __init__(self, before: bytes, after: bytes, request: HttpRequest, max_body_bytes: int) -> None:
        """`before` and `after` are what stands around the digits of the length."""
        self._before = before
        self._after = after
        self._request = request
        self._max_body_bytes = max_body_bytes
        self.decision: Any = None  # what the layer above makes of this head

    def read(self, data: bytes) -> HttpRequest | None:
        """The request, if `data` is exactly one with this head and a short body. All else is the parser's."""
        if not data.startswith(self._before):
            return None
        begin = len(self._before)
        end = data.find(b"\r", begin, begin + _MAX_LENGTH_DIGITS + 1)
        digits = data[begin:end]
        if end < 0 or not digits.isdigit() or not data.startswith(self._after, end):
            return None
        length = int(digits)
        body = data[end + len(self._after) :]
        if length != len(body) or length > self._max_body_bytes:
            return None
        first = self._request
        return HttpRequest(
            first.method,
            first.target,
            first.headers,
            first.fields,
            first.peer,
            body=body,
            body_bytes=length,
            wants_close=False,
            principal=first.principal,
            known=self,
        )


@lru_cache(maxsize=1024)
def _path_of(target: str) -> str:
    path = target.partition("?")[0]
    if path[:1] != "/" and "://" in path:  # absolute form (RFC 9112, 3.2.2)
        path = "/" + path.partition("://")[2].partition("/")[2]
    return path


class AnswerLine(Protocol):
    """What a responder needs of its connection."""

    @property
    def is_closed(self) -> bool: ...

    @property
    def task(self) -> asyncio.Task[None] | None: ...

    def write(self, data: bytes) -> None: ...

    async def drained(self) -> None: ...


class Begun(Protocol):
    """An answer that was begun without the connection's task (`http1`, rule 5)."""

    def abort(self) -> None:
        """Its client is gone, or we are stopped: nobody waits for it any more."""
        ...


class Beginner(Protocol):
    """Who may begin such answers."""

    def begin(self, request: HttpRequest, responder: "Responder", owner: "BegunOwner") -> Begun | None:
        """None: the task is to answer. Nothing is sent, and `owner` not called, before this has returned."""
        ...


class BegunOwner(Protocol):
    """What such an answer needs of its connection."""

    def hand_over(self, handler: "Callable[[HttpRequest, Responder], Awaitable[None]]") -> None:
        """The task is to go on with it."""
        ...

    def finish(self) -> None:
        """It is complete, or given up."""
        ...


class Responder:
    """The answering half of one request."""

    __slots__ = (
        "_connection",
        "_head_only",
        "_is_chunked",
        "cancel_on_disconnect",
        "on_silence",
        "started",
        "streaming",
    )

    def __init__(self, connection: "AnswerLine", head_only: bool, is_chunked: bool = True) -> None:
        self._connection = connection
        self._head_only = head_only
        self._is_chunked = is_chunked
        self.started = False
        self.streaming = False
        self.cancel_on_disconnect = False
        # Called when nothing was written for a while (see Listener), to keep the connection alive.
        self.on_silence: Callable[[], None] | None = None

    @property
    def task(self) -> asyncio.Task[None]:
        """The one that answers this request; asking asyncio for it is dear."""
        task = self._connection.task
        assert task is not None
        return task

    @property
    def client_gone(self) -> bool:
        return self._connection.is_closed

    def send(self, status: int, headers: Headers, body: bytes = b"") -> None:
        """A whole answer."""
        self.started = True
        self.on_silence = None
        # Neither has a body, and the length of a 304 would be that of the answer it stands for.
        length = b"" if status in (204, 304) else b"content-length: %d\r\n" % len(body)
        sent = b"" if self._head_only else body
        self._connection.write(b"".join((_head(status, headers), length, b"\r\n", sent)))

    def start_stream(self, status: int, headers: Headers) -> None:
        self.started = self.streaming = True
        # HTTP/1.0 knows no chunks: there the end of the connection is the end of the answer.
        end = b"transfer-encoding: chunked\r\n\r\n" if self._is_chunked else b"connection: close\r\n\r\n"
        self._connection.write(_head(status, headers) + end)

    def write(self, data: bytes) -> None:
        """One chunk of a stream."""
        if data and not self._head_only:
            self._connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)

    async def stream(self, data: bytes) -> None:
        """One chunk; waits while the client reads too slowly."""
        self.write(data)
        await self._connection.drained()

    def end_stream(self) -> None:
        self.streaming = False
        self.on_silence = None
        if self._is_chunked:
            self._connection.write(b"0\r\n\r\n")


@lru_cache(maxsize=256)  # nearly all answers begin with one of a few heads
def _head(status: int, headers: Headers) -> bytes:
    given = {name for name, _ in headers}
    guards = tuple(guard for guard in _GUARDS if guard[0] not in given)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers + guards)
    return b"HTTP/1.1 %d %b\r\n%b" % (status, _REASONS.get(status, b""), lines.encode("latin-1"))
