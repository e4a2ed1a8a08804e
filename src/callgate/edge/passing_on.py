"""Requests that belong to another replica are passed on to it, whole and once; its answer streams back.

Owns what goes along and what comes back, and what becomes of a session whose home is gone. How another
replica is reached is `ports.Peers`' affair. Without replicas none of this is made.
"""

from collections.abc import Callable
from contextlib import aclosing
from functools import lru_cache

import msgspec

from callgate.edge.http.http1 import Handler
from callgate.edge.http.message import Begun, BegunOwner, Headers, HttpRequest, Responder
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
from callgate.ports.answerer import SharedAnswerer
from callgate.ports.homes import Homes
from callgate.ports.peers import (
    HOP_HEADER,
    NOBODY,
    HomeGoneError,
    PassedAnswer,
    PassedCall,
    PassedHead,
    PassedRequest,
    Peers,
)
from callgate.wire import http_rules
from callgate.wire.json_rpc import Message, decode

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
_HOME_HEADER = "callgate-home"
# A home may be gone, and so may be the one that adopted the session; more in a row is somebody's mistake.
_MAX_TRIES = 3
_RETRY_AFTER: Headers = (("retry-after", "2"),)
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


class PassingOn:
    def __init__(
        self,
        homes: Homes,
        peers: Peers | None,
        answerer: SharedAnswerer,
        legacy: LegacyHttp,
        refuse: Callable[[Visit, Responder, RefusedVisitError], None],
    ) -> None:
        """`peers`: None where replicas cannot reach one another: nothing is passed on then. `refuse`: tells a
        client what its request was refused for."""
        self._homes = homes
        self._peers = peers
        self._answerer = answerer
        self._legacy = legacy
        self._refuse = refuse

    def decide(self, visit: Visit, handler: Handler) -> "PassedOnHead | None":
        """Who may begin to pass on requests with the head of this visit. None: they are looked at one by one.
        `handler`: who does that."""
        handshake_id = visit.headers.get(http_rules.SESSION_HEADER)
        if handshake_id is None or self._peers is None or visit.request.hop is not None:
            return None
        if self._answerer.find_session(handshake_id, visit.principal) is not None:
            return None
        home = self._homes.home_of(handshake_id, visit.principal)
        if home is None or home == self._homes.gateway:
            return None
        head = passed_request(visit.request).head
        return PassedOnHead(
            self._answerer, self._peers, visit, handshake_id, home, head, handler, self.tell_lost
        )

    def tell_lost(self, visit: Visit, responder: Responder) -> None:
        self._refuse(visit, responder, self._refused(replica_lost(), visit))

    async def session(self, visit: Visit, responder: Responder) -> bool:
        """A request of a handshake session. True: it was answered. Raises RefusedVisitError."""
        handshake_id = visit.headers.get(http_rules.SESSION_HEADER)
        if handshake_id is None or self._peers is None:
            return False
        if self._answerer.find_session(handshake_id, visit.principal) is not None:
            return False
        home = self._homes.home_of(handshake_id, visit.principal)
        if home is None:
            return False  # forged, or somebody else's: refused as any unknown one
        if home == self._homes.gateway:
            home = await self._homes.moved_to(handshake_id)
            if home is None:
                return False
            if visit.request.hop is not None:  # the sender is to ask there: one hop, never two
                error = CallerError(CALLER_UNKNOWN_SESSION, "Session not found", hint="Send initialize again")
                raise RefusedVisitError(error, extra=((_HOME_HEADER, home),))
        _check_first_hop(visit)
        try:
            return await self._reach(self._peers, handshake_id, home, visit, responder)
        except UpstreamError as error:
            raise self._refused(error, visit) from error

    async def _reach(
        self, peers: Peers, handshake_id: str, home: str, visit: Visit, responder: Responder
    ) -> bool:
        request = passed_request(visit.request)
        for _ in range(_MAX_TRIES):
            try:
                responder.cancel_on_disconnect = True  # the hang-up closes the hop, and means the same there
                answer = await peers.pass_on(home, request)
            except HomeGoneError:
                found = await self._homes.adopt(handshake_id, visit.principal, home)
                if found is None:
                    return False
                if isinstance(found, str):
                    home = found
                    continue
                if self._answerer.find_session(handshake_id, visit.principal) is None:
                    session = self._answerer.adopt(found, handshake_id, visit.principal)
                    self._legacy.take_over(session)
                responder.cancel_on_disconnect = False
                return False
            except UpstreamError as error:
                # Somebody else may know that it is gone, and have adopted the session.
                is_unsent = error.code is UPSTREAM_REPLICA_UNREACHABLE
                moved = await self._homes.moved_to(handshake_id) if is_unsent else None
                if moved is None or moved == home:
                    raise
                home = moved
                continue
            if answer.status == 404 and any(name == _HOME_HEADER for name, _ in answer.headers):
                await answer.pieces().aclose()
                moved = await self._homes.moved_to(handshake_id)
                if moved is not None:
                    home = moved
                    continue
                return False
            request = visit.request.body = b""  # it is there; the answer may take hours
            await _deliver(answer, responder)
            return True
        raise replica_unreachable()

    async def modern(self, visit: Visit, responder: Responder, arrival: Arrival, message: Message) -> bool:
        """A request of a modern client. True: it was answered. Raises RefusedVisitError."""
        try:
            home = await self._answerer.home_of(arrival)
            if home is None or visit.request.hop is not None or self._peers is None:
                # Who sent it knew of a home that is gone, or of none: what we have is all there is.
                return False
            request = passed_request(visit.request)
            for _ in range(_MAX_TRIES):
                try:
                    responder.cancel_on_disconnect = True
                    answer = await self._peers.pass_on(home, request, is_held=self._answerer.is_held(arrival))
                except HomeGoneError:
                    home = await self._answerer.after_loss(arrival, home)
                    if home is None:
                        return False
                    continue
                request = visit.request.body = b""
                await _deliver(answer, responder)
                return True
            raise replica_unreachable()
        except UpstreamError as error:
            raise self._refused(error, visit, message) from error

    def _refused(
        self, error: UpstreamError, visit: Visit, message: Message | None = None
    ) -> RefusedVisitError:
        extra = _RETRY_AFTER if error.code is UPSTREAM_REPLICA_UNREACHABLE else ()
        read = decode(visit.request.body) if message is None and visit.request.body else message
        return RefusedVisitError(error, read, extra)


class PassedOnHead(msgspec.Struct, eq=False):
    """Requests with one head of a session that another replica has. Implements `http.message.Beginner`."""

    answerer: SharedAnswerer
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
        begun = BegunHop(self, request, responder, owner)
        begun.call = self.peers.begin(self.home, self.head, request.body, begun)
        if begun.call is None:
            return None
        responder.cancel_on_disconnect = True  # the hang-up closes the hop, and means the same there
        return begun


class BegunHop(msgspec.Struct, eq=False):
    """Implements `http.message.Begun` and `ports.peers.PassedReceiver`."""

    of: PassedOnHead
    request: HttpRequest
    responder: Responder
    owner: BegunOwner
    call: PassedCall | None = None
    answer: PassedAnswer | None = None
    is_over: bool = False

    def abort(self) -> None:
        if not self.is_over:
            self.is_over = True
            if self.call is not None:
                self.call.cancel()
            self.owner.finish()

    def answered(self, status: int, headers: Headers, body: bytes) -> None:
        if self.is_over:
            return
        if status == 403 or (status == 404 and any(name == _HOME_HEADER for name, _ in headers)):
            self._look_at_it()  # nothing was done with it there
            return
        self.is_over, self.call = True, None
        self.responder.send(status, _passed_back(headers), body)
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
            await _deliver(answer, responder)
        except UpstreamError:
            self.of.tell_lost(self._visit(request), responder)


def _check_first_hop(visit: Visit) -> None:
    if visit.request.hop is not None:
        error = RefusedError(
            REFUSED_HOP,
            "This request between replicas is refused: its session belongs to a third one",
            hint="Nothing: the sender finds out by itself",
        )
        raise RefusedVisitError(error)


async def _deliver(answer: PassedAnswer, responder: Responder) -> None:
    try:
        await _pass_back(answer, responder)
    except UpstreamError as error:
        if not responder.started:
            raise replica_lost() from error
        # The client has a part of it: that it breaks off is all that can still be told.


async def _pass_back(answer: PassedAnswer, responder: Responder) -> None:
    headers = _passed_back(tuple(answer.headers))
    length = next((value for name, value in answer.headers if name == "content-length"), "")
    async with aclosing(answer.pieces()) as pieces:
        if length.isdigit() and int(length) <= _WHOLE_BYTES:
            body = b"".join([piece async for piece in pieces])
            responder.send(answer.status, headers, body)
            return
        responder.start_stream(answer.status, headers)
        async for piece in pieces:
            await responder.stream(piece)
        responder.end_stream()


@lru_cache(maxsize=256)  # nearly all answers begin with one of a few heads
def _passed_back(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name in _PASSED_BACK)
