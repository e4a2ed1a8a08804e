"""Requests that belong to another replica are passed on to it, whole and once; its answer streams back.

Owns what goes along and what comes back, and what becomes of a session whose home is gone. How another
replica is reached is `ports.Peers`' affair. Without replicas none of this is made.
"""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol
from urllib.parse import unquote

from callgate.edge.http.message import Headers, HttpRequest, Responder
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
from callgate.model.identity import Principal
from callgate.ports.answerer import SharedAnswerer
from callgate.ports.homes import Homes
from callgate.ports.peers import HOP_HEADER, HomeGoneError, Lead, PassedAnswer, PassedRequest, Peers
from callgate.wire import http_rules
from callgate.wire.json_rpc import Message, decode
from callgate.wire.problem_of import PROBLEM_TYPE, problem_of

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
_WHOLE_BYTES, _WHOLE_APP_BYTES = 64 * 1024, 1024 * 1024
# They belong to the connection between the two workers.
_NOT_PASSED_BACK = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


def passed_request(request: HttpRequest) -> PassedRequest:
    """As both ends of a hop see it."""
    headers = [
        (name, value)
        for name, value in request.headers
        if name not in _NOT_PASSED_ON and not name.startswith("sec-fetch-")
    ]
    return PassedRequest(
        request.method, request.target, headers, request.body, request.principal, request.peer
    )


class PassingOn:
    def __init__(
        self, homes: Homes, peers: Peers | None, answerer: SharedAnswerer, legacy: LegacyHttp
    ) -> None:
        """`peers`: None where replicas cannot reach one another: nothing is passed on then."""
        self._homes = homes
        self._peers = peers
        self._answerer = answerer
        self._legacy = legacy

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
                    answer = await self._peers.pass_on(home, request)
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
    headers = tuple((name, value) for name, value in answer.headers if name in _PASSED_BACK)
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


# ---- what is not MCP, among workers


class AppHere(Protocol):
    async def handle(
        self, request: HttpRequest, responder: Responder, principal: Principal | None
    ) -> None: ...


class AppElsewhere:
    """Requests to the mounted app that another worker answers: the one that has the record's store."""

    def __init__(self, here: AppHere, lead: Lead, is_local: Callable[[str], bool]) -> None:
        """`is_local`: of a path, whether every worker answers it by itself."""
        self._here = here
        self._lead = lead
        self._is_local = is_local

    async def handle(self, request: HttpRequest, responder: Responder, principal: Principal | None) -> None:
        if self._is_local(unquote(request.path)):
            await self._here.handle(request, responder, principal)
            return
        responder.cancel_on_disconnect = True
        request.principal = principal
        passed, request.body = passed_request(request), b""
        if request.method == "HEAD":  # the other end of the hop reads no head without its body
            passed = replace(passed, method="GET")
        try:
            await _pass_app_back(await self._lead.pass_on(passed), responder)
        except UpstreamError as error:
            if responder.started:
                return  # the client has a part of it: that it breaks off is all that can still be told
            status, body = problem_of(error)
            responder.send(status, (("content-type", PROBLEM_TYPE), ("retry-after", "2")), body)


async def _pass_app_back(answer: PassedAnswer, responder: Responder) -> None:
    headers = tuple((name, value) for name, value in answer.headers if name not in _NOT_PASSED_BACK)
    length = next((value for name, value in answer.headers if name == "content-length"), "")
    async with aclosing(answer.pieces()) as pieces:
        if answer.status in (204, 304) or (length.isdigit() and int(length) <= _WHOLE_APP_BYTES):
            responder.send(answer.status, headers, b"".join([piece async for piece in pieces]))
            return
        responder.start_stream(answer.status, headers)
        if not responder.head_only:
            async for piece in pieces:
                await responder.stream(piece)
        responder.end_stream()
