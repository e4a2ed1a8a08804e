"""A head that a connection sends again and again, but for the length: read and judged once.

A client that keeps its connection repeats its head with every request. What was decided about the first one
holds for the others, and their answers may be begun without a task (`Beginner`).
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from callgate.edge.http.message import HttpRequest, Responder
from callgate.wire.framing.repeated_head import RepeatedHead, repeated_head

# With one of these the length is not all that says where a request ends, or what is to be done with it.
_FRAMING_FIELDS = frozenset({"transfer-encoding", "expect", "upgrade", "trailer"})


class Begun(Protocol):
    """An answer that was begun without the connection's task (`http1`, rule 5)."""

    def abort(self) -> None:
        """Its client is gone, or we are stopped: nobody waits for it any more."""
        ...


class BegunOwner(Protocol):
    """What such an answer needs of its connection."""

    def hand_over(self, handler: Callable[[HttpRequest, Responder], Awaitable[None]]) -> None:
        """The task is to go on with it."""
        ...

    def finish(self) -> None:
        """It is complete, or given up."""
        ...


class Beginner(Protocol):
    """Who may begin answers to the requests with one head."""

    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> Begun | None:
        """None: the task is to answer. Nothing is sent, and `owner` not called, before this has returned. It
        must not raise when something was begun: the task would do it again."""
        ...


class KnownHead:
    __slots__ = ("beginner", "first", "head")

    def __init__(self, head: RepeatedHead, first: HttpRequest, beginner: Beginner) -> None:
        """`first`: the request that came with it first."""
        self.head = head
        self.first = first
        self.beginner = beginner


def known_head(
    data: bytes, request: HttpRequest, max_body_bytes: int, decide: Callable[[HttpRequest], Beginner | None]
) -> KnownHead | None:
    """The head of the request that was just read from `data`; None, if it is not worth knowing.

    `decide`: who may begin answers to requests with this head, of bodies up to that length.
    """
    if request.method != "POST" or request.is_http_10 or request.wants_close or request.refusal is not None:
        return None
    if request.ignores_body or not _FRAMING_FIELDS.isdisjoint(request.fields):
        return None
    head = repeated_head(data, request.body_bytes, max_body_bytes)
    beginner = None if head is None else decide(request)
    return None if head is None or beginner is None else KnownHead(head, request, beginner)
