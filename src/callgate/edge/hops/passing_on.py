"""Requests that belong to another replica are passed on to it, whole and once; its answer streams back.

Owns whose a request is, and what becomes of a session whose home is gone. Requests with a head that came
before are passed on without the connection's task (`edge.http.http1`, rule 5). What goes along and what comes
back is `passed_message`; how another replica is reached is `ports.Peers`' affair. Without replicas none of
this is made.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from callgate.edge.hops.passed_message import (
    HOME_HEADER,
    deliver,
    is_elsewhere,
    passed_back,
    passed_request,
)
from callgate.edge.http.message import Begun, BegunOwner, Headers, HttpRequest, Responder
from callgate.edge.http.service import Handler
from callgate.edge.legacy_http import LegacyHttp
from callgate.edge.visit import RefusedVisitError, Visit
from callgate.model.error_codes import CALLER_UNKNOWN_SESSION, REFUSED_HOP, UPSTREAM_REPLICA_UNREACHABLE
from callgate.model.errors import (
    CallerError,
    RefusedError,
    UpstreamError,
    replica_lost,
    replica_unreachable,
)
from callgate.model.exchange import Arrival
from callgate.ports.answerer import Answerer, SharedSessions
from callgate.ports.homes import Homes
from callgate.ports.peers import HomeGoneError, PassedAnswer, PassedHead, Peers
from callgate.wire import http_rules
from callgate.wire.json_rpc import Message, decode

# A home may be gone, and so may be the one that adopted the session; more in a row is somebody's mistake.
_MAX_TRIES = 3
_RETRY_AFTER: Headers = (("retry-after", "2"),)
# With a home: it is gone, it could not be asked, or (None) it said that another one has the session.
_Problem = HomeGoneError | UpstreamError | None
# The next one to ask after that; None: the request is served here. Raises what nothing can be done about.
_FindNext = Callable[[str, _Problem], Awaitable[str | None]]


class PassingOn(msgspec.Struct, frozen=True):
    homes: Homes
    peers: Peers | None  # None where replicas cannot reach one another: nothing is passed on then
    answerer: Answerer
    sessions: SharedSessions
    legacy: LegacyHttp
    refuse: Callable[[Visit, Responder, RefusedVisitError], None]  # tells a client why

    def decide(self, visit: Visit, handler: Handler) -> "PassedOnHead | None":
        """Who may begin to pass on requests with the head of this visit. None: they are looked at one by one.
        `handler`: who does that."""
        named = self._named_home(visit)
        if named is None or self.peers is None or visit.request.hop is not None:
            return None
        handshake_id, home = named
        if home == self.homes.gateway:
            return None
        head = passed_request(visit.request).head
        return PassedOnHead(self, self.peers, visit, handshake_id, home, head, handler)

    def tell_lost(self, visit: Visit, responder: Responder) -> None:
        self.refuse(visit, responder, self._refused(replica_lost(), visit))

    async def session(self, visit: Visit, responder: Responder) -> bool:
        """A request of a handshake session. True: it was answered. Raises RefusedVisitError."""
        named = self._named_home(visit)
        if named is None or self.peers is None:
            return False
        handshake_id, home = named
        if home == self.homes.gateway:
            moved = await self.homes.moved_to(handshake_id)
            if moved is None:
                return False
            home = moved
            if visit.request.hop is not None:  # the sender is to ask there: one hop, never two
                error = CallerError(CALLER_UNKNOWN_SESSION, "Session not found", hint="Send initialize again")
                raise RefusedVisitError(error, extra=((HOME_HEADER, home),))
        if visit.request.hop is not None:
            error = RefusedError(
                REFUSED_HOP,
                "This request between replicas is refused: its session belongs to a third one",
                hint="Nothing: the sender finds out by itself",
            )
            raise RefusedVisitError(error)
        find_next = partial(self._next_home, handshake_id, visit, responder)
        try:
            return await self._reach(self.peers, home, visit, responder, find_next)
        except UpstreamError as error:
            raise self._refused(error, visit) from error

    def _named_home(self, visit: Visit) -> tuple[str, str] | None:
        """The handshake that this request names, and the replica that had it first. None: it names none, one
        that is here, or one that is forged or somebody else's, which is refused as any unknown one."""
        handshake_id = visit.headers.get(http_rules.SESSION_HEADER)
        if handshake_id is None or self.answerer.find_session(handshake_id, visit.principal) is not None:
            return None
        home = self.homes.home_of(handshake_id, visit.principal)
        return None if home is None else (handshake_id, home)

    async def _next_home(
        self, handshake_id: str, visit: Visit, responder: Responder, gone: str, problem: _Problem
    ) -> str | None:
        if isinstance(problem, HomeGoneError):
            found = await self.homes.adopt(handshake_id, visit.principal, gone)
            if found is None or isinstance(found, str):
                return found
            if self.answerer.find_session(handshake_id, visit.principal) is None:
                self.legacy.take_over(self.sessions.adopt(found, handshake_id, visit.principal))
            responder.cancel_on_disconnect = False
            return None
        # Somebody else may know that it is gone, and have adopted the session.
        may_be_moved = problem is None or problem.code is UPSTREAM_REPLICA_UNREACHABLE
        moved = await self.homes.moved_to(handshake_id) if may_be_moved else None
        if problem is not None and moved in (None, gone):
            raise problem
        return moved

    async def modern(self, visit: Visit, responder: Responder, arrival: Arrival, message: Message) -> bool:
        """A request of a modern client. True: it was answered. Raises RefusedVisitError."""

        async def find_next(gone: str, problem: _Problem) -> str | None:
            if isinstance(problem, UpstreamError):
                raise problem
            return await self.sessions.after_loss(arrival, gone)

        try:
            home = await self.sessions.home_of(arrival)
            if home is None or visit.request.hop is not None or self.peers is None:
                # Who sent it knew of a home that is gone, or of none: what we have is all there is.
                return False
            is_held = self.sessions.is_held(arrival)
            return await self._reach(self.peers, home, visit, responder, find_next, is_held)
        except UpstreamError as error:
            raise self._refused(error, visit, message) from error

    async def _reach(
        self,
        peers: Peers,
        home: str,
        visit: Visit,
        responder: Responder,
        find_next: _FindNext,
        is_held: bool = False,
    ) -> bool:
        """Passes it on. False: it is to be served here. Raises UpstreamError."""
        request = passed_request(visit.request)
        for _ in range(_MAX_TRIES):
            responder.cancel_on_disconnect = True  # the hang-up closes the hop, and means the same there
            try:
                answer = await peers.pass_on(home, request, is_held=is_held)
            except (HomeGoneError, UpstreamError) as problem:
                found = await find_next(home, problem)
            else:
                if not is_elsewhere(answer.status, answer.headers):
                    request = visit.request.body = b""  # it is there; the answer may take hours
                    await deliver(answer, responder)
                    return True
                await answer.pieces().aclose()
                found = await find_next(home, None)
            if found is None:
                return False
            home = found
        raise replica_unreachable()

    def _refused(
        self, error: UpstreamError, visit: Visit, message: Message | None = None
    ) -> RefusedVisitError:
        extra = _RETRY_AFTER if error.code is UPSTREAM_REPLICA_UNREACHABLE else ()
        read = decode(visit.request.body) if message is None and visit.request.body else message
        return RefusedVisitError(error, read, extra)


class PassedOnHead(msgspec.Struct, eq=False):
    """Requests with one head of a session that another replica has. Implements `http.message.Beginner`."""

    passing: PassingOn
    peers: Peers
    visit: Visit
    handshake_id: str
    home: str
    head: PassedHead
    handler: Handler

    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> Begun | None:
        if self.passing.answerer.find_session(self.handshake_id, self.visit.principal) is not None:
            return None  # it was adopted meanwhile
        begun = _BegunHop(responder, owner, of=self, request=request)
        begun.call = self.peers.begin(self.home, self.head, request.body, begun)
        if begun.call is None:
            return None
        responder.cancel_on_disconnect = True  # the hang-up closes the hop, and means the same there
        return begun


class _BegunHop(Begun, eq=False, kw_only=True):
    """Implements `ports.peers.PassedReceiver`."""

    of: PassedOnHead
    request: HttpRequest
    answer: PassedAnswer | None = None

    def answered(self, status: int, headers: Headers, body: bytes) -> None:
        if status == 403 or is_elsewhere(status, headers):
            self.not_sent()  # nothing was done with it there
        elif not self.is_over:
            self.is_over, self.call = True, None
            self.responder.send(status, passed_back(headers), body)
            self.owner.finish()

    def answers(self, answer: PassedAnswer) -> None:
        if not self.is_over:
            self.answer = answer
            self.owner.hand_over(self._go_on)

    def not_sent(self) -> None:
        if not self.is_over:
            self.call = None
            self.responder.cancel_on_disconnect = False
            self.owner.hand_over(self.of.handler)

    def lost(self) -> None:
        if not self.is_over:
            self.is_over, self.call = True, None
            self._tell_lost()
            self.owner.finish()

    def _tell_lost(self) -> None:
        visit = msgspec.structs.replace(self.of.visit, request=self.request)
        self.of.passing.tell_lost(visit, self.responder)

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        answer = self.answer
        if self.is_over or answer is None:
            return
        self.is_over = True
        request.body = b""  # it is there; the answer may take hours
        try:
            await deliver(answer, responder)
        except UpstreamError:
            self._tell_lost()
