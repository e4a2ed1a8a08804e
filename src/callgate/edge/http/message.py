"""One HTTP request as its handler sees it, what its head says of it, and the answering half of it.

`http1` is the connection.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from callgate.model.error_codes import CALLER_HTTP_VERSION, CALLER_MALFORMED, CALLER_TRANSFER_CODING
from callgate.model.errors import CallerError, CallgateError
from callgate.model.identity import Principal
from callgate.ports.peers import SignedHop
from callgate.wire.http_rules import SINGLE_HEADERS
from callgate.wire.problem_of import PROBLEM_TYPE

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}

Headers = tuple[tuple[str, str], ...]
JSON_HEADERS: Headers = (("content-type", "application/json"),)
# After this long a client may try again, by status. A crowd of idle connections is gone by then, and so are
# large bodies; who sent wrong tokens is to stop.
RETRY_AFTER_S = {503: 3, 429: 60}

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
    path: str  # of it: see `path_of`
    headers: list[tuple[str, str]]  # names in lower case, in order, duplicates kept
    fields: Mapping[str, str]  # the same by name: those that decide something came once, others are joined
    peer: str | None  # IP address of the other end
    is_http_10: bool = False
    body: bytes = b""  # its reader drops it
    body_bytes: int = 0  # how long it was
    budget_bytes: int = 0  # how much of the budget of bodies it takes, until it is answered
    wants_close: bool = True
    is_cut: bool = False  # answered before all of it was read: nothing can follow
    principal: Principal | None = None  # who the gate found
    ignores_body: bool = False  # nobody will read it: nothing of it is kept
    has_wrong_token: bool = False
    refusal: CallgateError | None = None  # what the gate said
    beginner: "Beginner | None" = None  # who may begin the answer without the connection's task
    decoded: Any = None  # what the layer above has read of the body already
    hop: SignedHop | None = None  # another replica passed it on


@lru_cache(maxsize=1024)
def path_of(target: str) -> str:
    path = target.partition("?")[0]
    if path[:1] != "/" and "://" in path:  # absolute form (RFC 9112, 3.2.2)
        path = "/" + path.partition("://")[2].partition("/")[2]
    return path


class AnswerLine(Protocol):
    """What a responder needs of its connection."""

    @property
    def is_closed(self) -> bool: ...

    def write(self, data: bytes) -> None: ...

    async def drained(self) -> None: ...


class Responder(msgspec.Struct):
    """The answering half of one request."""

    connection: AnswerLine
    head_only: bool
    is_chunked: bool = True
    started: bool = False
    streaming: bool = False
    cancel_on_disconnect: bool = False
    closes: bool = False  # the connection ends with this answer
    # Called when nothing was written for a while (see Listener), to keep the connection alive.
    on_silence: "Callable[[Responder], None] | None" = None

    @property
    def client_gone(self) -> bool:
        return self.connection.is_closed

    def send(self, status: int, headers: Headers, body: bytes = b"") -> None:
        """A whole answer."""
        self.started = True
        self.on_silence = None
        # Neither has a body, and the length of a 304 would be that of the answer it stands for.
        length = b"" if status in (204, 304) else b"content-length: %d\r\n" % len(body)
        sent = b"" if self.head_only else body
        last = b"connection: close\r\n\r\n" if self.closes else b"\r\n"
        self.connection.write(b"".join((_head(status, headers), length, last, sent)))

    def send_json(self, body: bytes) -> None:
        """As `send` with 200 and that type: what nearly all answers are."""
        if self.head_only or self.closes:
            self.send(200, JSON_HEADERS, body)
            return
        self.started = True
        self.on_silence = None
        self.connection.write(_JSON_ANSWER % (len(body), body))

    def send_problem(self, problem: tuple[int, bytes], retry_after_s: int | None = None) -> None:
        """As `wire.problem_of` makes them. `retry_after_s`: another time than that status has."""
        status, body = problem
        headers: Headers = (("content-type", PROBLEM_TYPE),)
        if status == 401:
            headers += (("www-authenticate", "Bearer"),)
        if (seconds := retry_after_s or RETRY_AFTER_S.get(status)) is not None:
            headers += (("retry-after", str(seconds)),)
        self.send(status, headers, body)

    def start_stream(self, status: int, headers: Headers) -> None:
        self.started = self.streaming = True
        # HTTP/1.0 knows no chunks: there the end of the connection is the end of the answer.
        last = b"connection: close\r\n\r\n" if self.closes or not self.is_chunked else b"\r\n"
        framing = b"transfer-encoding: chunked\r\n" if self.is_chunked else b""
        self.connection.write(_head(status, headers) + framing + last)

    def write(self, data: bytes) -> None:
        """One chunk of a stream."""
        if data and not self.head_only:
            self.connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self.is_chunked else data)

    async def stream(self, data: bytes) -> None:
        """One chunk; waits while the client reads too slowly."""
        self.write(data)
        await self.connection.drained()

    def end_stream(self) -> None:
        self.streaming = False
        self.on_silence = None
        if self.is_chunked:
            self.connection.write(b"0\r\n\r\n")


class BegunOwner(Protocol):
    """What an answer that was begun without the connection's task (`http1`, rule 5) needs of it."""

    def hand_over(self, handler: Callable[[HttpRequest, Responder], Awaitable[None]]) -> None:
        """The task is to go on with it."""
        ...

    def finish(self) -> None:
        """It is complete, or given up."""
        ...


class Cancellable(Protocol):
    def cancel(self) -> None: ...


class Begun(msgspec.Struct, eq=False):
    """Such an answer. `call`: what it waits for, while that is under way; it holds us."""

    responder: Responder
    owner: BegunOwner
    call: Cancellable | None = None
    is_over: bool = False  # answered or given up: what comes now is for nobody

    def abort(self) -> None:
        """Its client is gone, or we are stopped: nobody waits for it any more."""
        if not self.is_over:
            self._give_up()
            self.owner.finish()

    def _give_up(self) -> None:
        self.is_over = True
        call, self.call = self.call, None
        if call is not None:
            call.cancel()


class Beginner(Protocol):
    """Who may begin answers to all requests with one head."""

    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> Begun | None:
        """None: the task is to answer. Nothing is sent, and nothing finished, before this has returned. Once
        something was begun it must not raise: the task would do it again."""
        ...


@lru_cache(maxsize=256)  # nearly all answers begin with one of a few heads
def _head(status: int, headers: Headers) -> bytes:
    given = {name for name, _ in headers}
    guards = tuple(guard for guard in _GUARDS if guard[0] not in given)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers + guards)
    return b"HTTP/1.1 %d %b\r\n%b" % (status, _REASONS.get(status, b""), lines.encode("latin-1"))


_JSON_ANSWER = _head(200, JSON_HEADERS) + b"content-length: %d\r\n\r\n%b"


# What the head of a request says about its framing, and what of that is not taken. One framing only: a
# length, or chunks and nothing else (RFC 9112, 6). What a proxy in front of us could read in another way is
# refused.


def check_version(version: str, method: bytes) -> None:
    if method == b"CONNECT":
        raise CallerError(CALLER_MALFORMED, "CONNECT is not supported")
    if version not in ("1.1", "1.0"):
        raise CallerError(CALLER_HTTP_VERSION, f"HTTP/{version} is not supported; use HTTP/1.1")


def by_name(headers: list[tuple[str, str]]) -> Mapping[str, str]:
    """Those that decide something may come once, others are joined as HTTP says."""
    if len(each := dict(headers)) == len(headers):
        return each
    merged: dict[str, str] = {}
    for name, value in headers:
        if name not in merged:
            merged[name] = value
        elif name in SINGLE_HEADERS:
            raise CallerError(CALLER_MALFORMED, f"The header {name} came twice")
        else:
            merged[name] += f", {value}"
    return merged


def body_length(fields: Mapping[str, str], version: str) -> int:
    """The length of the body, as far as the head tells it."""
    coding = fields.get("transfer-encoding")
    if coding is not None:
        if version == "1.0":
            raise CallerError(CALLER_MALFORMED, "HTTP/1.0 has no Transfer-Encoding")
        if coding.lower() != "chunked":
            raise CallerError(
                CALLER_TRANSFER_CODING, f"Transfer-Encoding {coding[:40]!r} is not supported; use chunked"
            )
    length = fields.get("content-length", "")
    # The parser has read it: digits, and not more than 64 bits.
    return int(length) if length.isdigit() else 0
