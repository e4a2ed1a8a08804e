"""What all connections of a listener share: who answers, who judges, and the limits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from callgate.edge.http.byte_budget import ByteBudget, UnreadAnswers
from callgate.edge.http.message import Beginner, HttpRequest, Responder
from callgate.model.errors import CallgateError

Handler = Callable[[HttpRequest, Responder], Awaitable[None]]
Refuser = Callable[[CallgateError, HttpRequest, Responder], None]  # the request as far as it was read


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

    def drop_body(self, request: HttpRequest) -> None:
        """It is done with: nothing of its body stays."""
        request.body, request.decoded = b"", None
        if request.budget_bytes:
            self.bodies.give_back(request.budget_bytes)
            request.budget_bytes = 0
