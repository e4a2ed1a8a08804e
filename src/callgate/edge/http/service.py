"""What all connections of a listener share: who answers, who judges, and the limits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from callgate.edge.http.byte_budget import ByteBudget, UnreadAnswers
from callgate.edge.http.message import Beginner, HttpRequest, Responder
from callgate.edge.http.request_reader import RequestReader
from callgate.model.errors import CallgateError

Handler = Callable[[HttpRequest, Responder], Awaitable[None]]
Refuser = Callable[[CallgateError, HttpRequest, Responder], None]  # the request as far as it was read
_Reader = TypeVar("_Reader", bound=RequestReader)


@dataclass(slots=True)
class Service:
    """Limits may change: connections that come later have them."""

    handler: Handler
    refuser: Refuser
    judge: Callable[[HttpRequest], None]  # the gate; raises CallgateError
    max_body_bytes: int
    bodies: ByteBudget
    unread: UnreadAnswers
    # Who may begin answers to requests with the same head as this one; None: they are all the task's.
    decide: Callable[[HttpRequest], Beginner | None] = lambda request: None

    def reader(
        self,
        kind: type[_Reader],
        take: Callable[[HttpRequest], None],
        ask_for_body: Callable[[], None],
        now: Callable[[], float],
    ) -> _Reader:
        """What reads the requests of one connection."""
        return kind(take, self.judge, self.decide, ask_for_body, self.max_body_bytes, self.bodies, now)
