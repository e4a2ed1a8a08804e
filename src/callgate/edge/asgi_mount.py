"""Runs an ASGI application behind our own HTTP layer: REST, health, the web page. Among workers, one does."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from callgate.edge.hops.passed_message import pass_back, passed_request
from callgate.edge.http.message import HttpRequest, Responder
from callgate.model.errors import UpstreamError
from callgate.model.identity import Principal
from callgate.ports.http_app import HttpApp, Message
from callgate.ports.peers import Lead
from callgate.wire.problem_of import problem_of

# Shorter answers of another worker go back in one piece.
_WHOLE_BYTES = 1024 * 1024
# They belong to the connection between the two workers.
_NOT_PASSED_BACK = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


class AsgiMount:
    def __init__(self, app: HttpApp) -> None:
        self._app = app

    async def handle(self, request: HttpRequest, responder: Responder, principal: Principal | None) -> None:
        responder.cancel_on_disconnect = True
        path, query = request.path, request.target.partition("?")[2]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers],
            "client": (request.peer, 0) if request.peer else None,
            "server": None,
            "state": {"principal": principal},
        }
        answer = _Answer(request.body, responder)
        request.body = b""
        await self._app(scope, answer.receive, answer.send)


class _Answer:
    """ASGI's two callables for one request. A body in one piece is sent whole, with its length."""

    def __init__(self, body: bytes, responder: Responder) -> None:
        self._body: bytes | None = body
        self._responder = responder
        self._status = 500
        self._headers: tuple[tuple[str, str], ...] = ()

    async def receive(self) -> Message:
        # A second call waits for the client to leave; our task is cancelled then, so there is nothing to say.
        if self._body is None:
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = tuple(
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in message.get("headers", ())
                if name.lower() != b"content-length"  # the responder writes the one that is true
            )
            return
        body: bytes = message.get("body", b"")
        more: bool = message.get("more_body", False)
        if not self._responder.streaming and not more:
            self._responder.send(self._status, self._headers, body)
            return
        if not self._responder.streaming:
            self._responder.start_stream(self._status, self._headers)
        await self._responder.stream(body)
        if not more:
            self._responder.end_stream()


@dataclass(frozen=True, slots=True)
class AppElsewhere:
    """Requests to the mounted app that another worker answers: the one that has the record's store."""

    here: AsgiMount
    lead: Lead
    is_local: Callable[[str], bool]  # of a path, whether every worker answers it by itself

    async def handle(self, request: HttpRequest, responder: Responder, principal: Principal | None) -> None:
        if self.is_local(unquote(request.path)):
            await self.here.handle(request, responder, principal)
            return
        responder.cancel_on_disconnect = True
        request.principal = principal
        passed, request.body = passed_request(request), b""
        if request.method == "HEAD":  # the other end of the hop reads no head without its body
            passed = replace(passed, method="GET")
        try:
            answer = await self.lead.pass_on(passed)
            headers = tuple((name, value) for name, value in answer.headers if name not in _NOT_PASSED_BACK)
            await pass_back(answer, headers, responder, _WHOLE_BYTES)
        except UpstreamError as error:
            if responder.started:
                return  # the client has a part of it: that it breaks off is all that can still be told
            responder.send_problem(problem_of(error), retry_after_s=2)
