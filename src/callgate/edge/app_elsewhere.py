"""Requests to the mounted app that another worker answers: the one that has the record's store.

Owns what goes along and what comes back. Its answer streams back as it comes, and a client that hangs up
hangs up there too. Counterpart: `hop_listener` of that worker.
"""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol
from urllib.parse import unquote

from callgate.edge.http.message import HttpRequest, Responder
from callgate.edge.passing_on import passed_request
from callgate.model.errors import UpstreamError
from callgate.model.identity import Principal
from callgate.ports.peers import Lead, PassedAnswer
from callgate.wire.problem_of import PROBLEM_TYPE, problem_of

# They belong to the connection between the two workers.
_NOT_PASSED_BACK = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
# Shorter ones go back in one piece.
_WHOLE_BYTES = 1024 * 1024


class AppHere(Protocol):
    async def handle(
        self, request: HttpRequest, responder: Responder, principal: Principal | None
    ) -> None: ...


class AppElsewhere:
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
            await _pass_back(await self._lead.pass_on(passed), responder)
        except UpstreamError as error:
            if responder.started:
                return  # the client has a part of it: that it breaks off is all that can still be told
            status, body = problem_of(error)
            responder.send(status, (("content-type", PROBLEM_TYPE), ("retry-after", "2")), body)


async def _pass_back(answer: PassedAnswer, responder: Responder) -> None:
    headers = tuple((name, value) for name, value in answer.headers if name not in _NOT_PASSED_BACK)
    length = next((value for name, value in answer.headers if name == "content-length"), "")
    async with aclosing(answer.pieces()) as pieces:
        if answer.status in (204, 304) or (length.isdigit() and int(length) <= _WHOLE_BYTES):
            responder.send(answer.status, headers, b"".join([piece async for piece in pieces]))
            return
        responder.start_stream(answer.status, headers)
        if not responder.head_only:
            async for piece in pieces:
                await responder.stream(piece)
        responder.end_stream()
