"""What of a request goes along to another replica or worker, and what of its answer comes back."""

from collections.abc import Sequence
from contextlib import aclosing
from functools import lru_cache

from callgate.edge.http.message import Headers, HttpRequest, Responder
from callgate.model.errors import UpstreamError, replica_lost
from callgate.ports.peers import HOP_HEADER, NOBODY, PassedAnswer, PassedRequest

# Credentials are the client's and stay here. The rest belongs to its connection, or was judged at the gate.
_NOT_PASSED_ON = frozenset(
    {
        "authorization", "cookie", "proxy-authorization", HOP_HEADER,
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "host", "content-length", "expect", "origin",
    }
)  # fmt: skip
_PASSED_BACK = frozenset(
    {"content-type", "mcp-session-id", "cache-control", "x-accel-buffering", "allow", "retry-after"}
)
# Which replica has the session instead: only between replicas.
HOME_HEADER = "callgate-home"
# Shorter ones go back in one piece.
_WHOLE_BYTES = 64 * 1024


def passed_request(request: HttpRequest) -> PassedRequest:
    """As both ends of a hop see it."""
    headers = [
        (name, value)
        for name, value in request.headers
        if name not in _NOT_PASSED_ON and not name.startswith("sec-fetch-")
    ]
    principal = request.principal or NOBODY
    return PassedRequest(request.method, request.target, headers, request.body, principal, request.peer)


@lru_cache(maxsize=256)  # nearly all answers begin with one of a few heads
def passed_back(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name in _PASSED_BACK)


def is_elsewhere(status: int, headers: Sequence[tuple[str, str]]) -> bool:
    """Whether another replica said that the session is with a third one."""
    return status == 404 and any(name == HOME_HEADER for name, _ in headers)


async def deliver(answer: PassedAnswer, responder: Responder) -> None:
    """Raises UpstreamError."""
    try:
        await pass_back(answer, passed_back(tuple(answer.headers)), responder)
    except UpstreamError as error:
        if not responder.started:
            raise replica_lost() from error
        # The client has a part of it: that it breaks off is all that can still be told.


async def pass_back(
    answer: PassedAnswer, headers: Headers, responder: Responder, whole_bytes: int = _WHOLE_BYTES
) -> None:
    """`whole_bytes`: shorter ones go back in one piece. Raises UpstreamError."""
    length = next((value for name, value in answer.headers if name == "content-length"), "")
    async with aclosing(answer.pieces()) as pieces:
        if answer.status in (204, 304) or (length.isdigit() and int(length) <= whole_bytes):
            responder.send(answer.status, headers, b"".join([piece async for piece in pieces]))
            return
        responder.start_stream(answer.status, headers)
        if not responder.head_only:
            async for piece in pieces:
                await responder.stream(piece)
        responder.end_stream()
