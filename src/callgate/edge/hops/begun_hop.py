"""A request that is passed on without the connection's task (`edge.http.http1`, rule 5)."""

from collections.abc import Callable

import msgspec

from callgate.edge.hops.passed_message import deliver, is_elsewhere, passed_back
from callgate.edge.http.message import Begun, BegunOwner, Headers, HttpRequest, Responder
from callgate.edge.http.service import Handler
from callgate.edge.visit import Visit
from callgate.model.errors import UpstreamError
from callgate.ports.answerer import Answerer
from callgate.ports.peers import PassedAnswer, PassedHead, Peers


class PassedOnHead(msgspec.Struct, eq=False):
    """Requests with one head of a session that another replica has. Implements `http.message.Beginner`."""

    answerer: Answerer
    peers: Peers
    visit: Visit
    handshake_id: str
    home: str
    head: PassedHead
    handler: Handler
    tell_lost: Callable[[Visit, Responder], None]

    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> Begun | None:
        if self.answerer.find_session(self.handshake_id, self.visit.principal) is not None:
            return None  # it was adopted meanwhile
        begun = BegunHop(responder, owner, of=self, request=request)
        begun.call = self.peers.begin(self.home, self.head, request.body, begun)
        if begun.call is None:
            return None
        responder.cancel_on_disconnect = True  # the hang-up closes the hop, and means the same there
        return begun


class BegunHop(Begun, eq=False, kw_only=True):
    """Implements `ports.peers.PassedReceiver`."""

    of: PassedOnHead
    request: HttpRequest
    answer: PassedAnswer | None = None

    def answered(self, status: int, headers: Headers, body: bytes) -> None:
        if self.is_over:
            return
        if status == 403 or is_elsewhere(status, headers):
            self._look_at_it()  # nothing was done with it there
            return
        self.is_over, self.call = True, None
        self.responder.send(status, passed_back(headers), body)
        self.owner.finish()

    def answers(self, answer: PassedAnswer) -> None:
        if not self.is_over:
            self.answer = answer
            self.owner.hand_over(self._go_on)

    def not_sent(self) -> None:
        if not self.is_over:
            self._look_at_it()

    def lost(self) -> None:
        if not self.is_over:
            self.is_over, self.call = True, None
            self.of.tell_lost(self._visit(self.request), self.responder)
            self.owner.finish()

    def _look_at_it(self) -> None:
        self.call = None
        self.responder.cancel_on_disconnect = False
        self.owner.hand_over(self.of.handler)

    def _visit(self, request: HttpRequest) -> Visit:
        visit = self.of.visit
        return Visit(request, visit.headers, visit.principal, visit.target)

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        answer = self.answer
        if self.is_over or answer is None:
            return
        self.is_over = True
        request.body = b""  # it is there; the answer may take hours
        try:
            await deliver(answer, responder)
        except UpstreamError:
            self.of.tell_lost(self._visit(request), responder)
