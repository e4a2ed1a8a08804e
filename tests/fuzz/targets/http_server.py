"""What a client sends: `edge.http.request_reader`."""

from collections.abc import Sequence
from random import Random
from typing import Any

from callgate.edge.http.byte_budget import ByteBudget, UnreadAnswers
from callgate.edge.http.message import BegunOwner, HttpRequest, Responder
from callgate.edge.http.request_reader import RequestReader
from callgate.edge.http.service import Service
from callgate.model.errors import CallgateError
from fuzz.targets.http_words import WORDS, body, head, mostly_honest

_MAX_BODY_BYTES = 2_000
_HONEST_METHODS = (b"GET", b"POST", b"POST", b"DELETE")
_METHODS = (b"HEAD", b"OPTIONS", b"CONNECT", b"PRI", b"X", b"")
_TARGETS = (
    b"/mcp",
    b"/mcp",
    b"/healthz?a=b",
    b"http://evil/mcp",
    b"*",
    b"/\xff",
    b"/a b",
    b"",
    b"/" + b"x" * 400,
)
_VERSIONS = (b"HTTP/1.1",) * 8 + (b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1", b"")


class _NoneIsBegun:
    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> None:
        return None


_NONE_IS_BEGUN = _NoneIsBegun()


async def _not_answered(request: HttpRequest, responder: Responder) -> None:
    """What was read is all that is looked at."""


class HttpServerTarget:
    name = "http_server"
    share = 24
    hang_cpu_s = 2.0
    is_cut = True
    words = WORDS
    seeds = (
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello" * 2,
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" * 2,
        b"POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        b"CONNECT evil:80 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    )

    def run(self, pieces: Sequence[bytes]) -> Any:
        """The requests, and the code of the error that ended it."""
        taken: list[Any] = []

        def take(request: HttpRequest) -> None:
            # A head that came again carries the first one's length, which nobody reads any more.
            headers = [header for header in request.headers if header[0] != "content-length"]
            taken.append((request.method, request.target, headers, request.body, request.wants_close))

        service = Service(
            _not_answered,
            lambda error, request, responder: None,
            lambda request: None,
            _MAX_BODY_BYTES,
            ByteBudget(100_000),
            UnreadAnswers(0),
            lambda request: _NONE_IS_BEGUN,
        )
        reader = RequestReader(service, take, lambda: None, lambda: 0.0)
        try:
            for piece in pieces:
                if (known := reader.known_request(piece)) is not None:
                    take(known)
                else:
                    reader.feed(piece)
        except CallgateError as error:
            return taken, error.code
        finally:
            reader.close()
        return taken, None

    def generated(self, random: Random) -> bytes:
        made = b""
        for _ in range(random.randint(1, 3)):
            choices = ((_HONEST_METHODS, _METHODS), (_TARGETS[:3], _TARGETS), ((b"HTTP/1.1",), _VERSIONS))
            first = b" ".join(mostly_honest(random, *choice) for choice in choices)
            framing, text = body(random)
            made += head(first, random, b"Host: localhost\r\n" + framing) + text
        return made
