"""The one listener: accepts connections, applies the gate, and sends each request to its room.

/mcp, /servers/<name>/mcp    MCP, through the gate
everything else              the mounted app, through the gate; it says which of its paths need no token
"""

import asyncio
import logging
import os
import re
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from callgate.edge.asgi_mount import AppElsewhere, AsgiMount
from callgate.edge.connections import AcceptedConnection, Connections
from callgate.edge.gate import (
    HOW_TO_SEND_ONE,
    Gate,
    GateRules,
    MissingTokenError,
    WrongTokenError,
    admit,
    check_site,
    check_target,
    identify,
)
from callgate.edge.http.byte_budget import ByteBudget, UnreadAnswers
from callgate.edge.http.listening import BACKLOG, cannot_listen, stop_accepting
from callgate.edge.http.message import Beginner, HttpRequest, Responder
from callgate.edge.http.service import Service
from callgate.edge.mcp_http import McpHttp
from callgate.edge.refusals import Refusals
from callgate.edge.token_guesses import TokenGuesses
from callgate.edge.visit import Visit
from callgate.model.error_codes import REFUSED_TOO_MANY_GUESSES
from callgate.model.errors import CallgateError, RefusedError, unknown_server
from callgate.model.identity import Principal
from callgate.ports.answerer import Answerer
from callgate.ports.event_sink import EventSink
from callgate.ports.http_app import MountedApp
from callgate.ports.peers import Lead
from callgate.wire.problem_of import bug_problem, problem_of

_log = logging.getLogger(__name__)

_SERVER_PATH = re.compile(r"/servers/([^/]+)/mcp")
# How often connections are looked at.
_SWEEP_S = 5.0
# How many of the largest bodies there may be at a time. Reading one as JSON and passing it on takes two or
# three times its size, so that 8 of 16 MiB are some 400 MB in the worst moment.
_LARGEST_BODIES = 8
# Answers that slow clients have not read yet. Eight of the largest that a server may send.
_MAX_UNREAD_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    max_body_bytes: int
    max_connections: int


class Listener:
    def __init__(
        self,
        answerer: Answerer,
        app: MountedApp,
        rules: GateRules,
        limits: ListenerLimits,
        sink: EventSink,
        *,
        mcp: McpHttp | None = None,
    ) -> None:
        """`mcp`: that of another listener, whose sessions are served here too."""
        self.made_of = (answerer, app, rules, limits, sink)
        self._answerer = answerer
        self._refusals = Refusals(sink, answerer.server_of)
        self.mcp = mcp or McpHttp(answerer, self._refusals)
        self._app: AsgiMount | AppElsewhere = AsgiMount(app.serve)
        self._is_open = app.is_open
        self.gate = Gate(rules)
        self.gate.on_use.append(self._turn_out)
        self.service = Service(
            handler=self.handle,
            refuser=self.refuse,
            judge=self.judge,
            max_body_bytes=limits.max_body_bytes,
            bodies=ByteBudget(_LARGEST_BODIES * limits.max_body_bytes),
            unread=UnreadAnswers(_MAX_UNREAD_BYTES),
            decide=self.decide,
        )
        self._guesses = TokenGuesses(time.monotonic)
        self.connections = Connections(limits.max_connections)
        self._servers: list[asyncio.Server] = []
        self._sweep: asyncio.TimerHandle | None = None

    async def start(self, host: str, port: int) -> int:
        """Listens; returns the port (which matters when 0 was asked for). Raises SetupError."""
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(self.accept, host, port, backlog=BACKLOG, reuse_address=True)
        except (OSError, OverflowError) as problem:
            raise cannot_listen(host, port, problem) from problem
        self._begin(server)
        return int(server.sockets[0].getsockname()[1])

    async def start_on(self, listening: Sequence[socket.socket]) -> None:
        """On sockets that listen already: several processes may serve one address."""
        loop = asyncio.get_running_loop()
        for sock in listening:
            of_kind = loop.create_unix_server if sock.family == socket.AF_UNIX else loop.create_server
            self._begin(await of_kind(self.accept, sock=sock, backlog=BACKLOG))

    async def start_at(self, path: Path) -> None:
        """On a Unix socket, for this user's processes only."""
        loop = asyncio.get_running_loop()
        self._begin(await loop.create_unix_server(self.accept, str(path), backlog=BACKLOG))
        os.chmod(path, 0o600)  # noqa: PTH101 - of a socket: there is nothing to wait for

    def _begin(self, server: asyncio.Server) -> None:
        self._servers.append(server)
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(_SWEEP_S, self._look)

    def pass_app_on(self, lead: Lead, is_local: Callable[[str], bool]) -> None:
        """What is not MCP is another worker's to answer, except for some paths."""
        assert isinstance(self._app, AsgiMount), "once"
        self._app = AppElsewhere(self._app, lead, is_local)

    def leave(self) -> None:
        """We serve on for a while, but each connection ends with its next answer."""
        self.connections.leave()

    async def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        self.leave()
        for server in self._servers:
            await stop_accepting(server, self.accept)
        self.mcp.close()
        await self.connections.hear_newest()
        await asyncio.sleep(0)  # requests that have reached us but were not read yet
        await self.connections.close()
        for server in self._servers:
            await server.wait_closed()

    def _turn_out(self) -> None:
        """Connections of those whom the gate would not let in any more, and with them what they stream."""
        for connection in self.connections.all():
            request = connection.last_request
            if request is not None and not self._still_admits(request):
                connection.abort()

    def use_limits(self, limits: ListenerLimits) -> None:
        """Of connections, from now on; the largest body is that of connections to come."""
        self.connections.limit = limits.max_connections
        self.service.max_body_bytes = limits.max_body_bytes
        self.service.bodies.limit_bytes = _LARGEST_BODIES * limits.max_body_bytes

    def _still_admits(self, request: HttpRequest) -> bool:
        """What is open to everybody stays."""
        return request.principal is None or self.gate.still_admits(request.fields, request.principal)

    # ---- connections

    def accept(self) -> AcceptedConnection:
        return AcceptedConnection(self.service, self.connections)

    def _look(self) -> None:
        # First, so that a connection that cannot be dropped does not end the sweeping.
        self._sweep = asyncio.get_running_loop().call_later(_SWEEP_S, self._look)
        if self.gate.has_expired_one():
            self.gate.use(self.gate.rules)
        self.connections.drop_idle()

    # ---- requests

    def judge(self, request: HttpRequest) -> None:
        """The gate, at the end of the head: who is not let in does not get rid of a body here."""
        fields = request.fields
        if request.target[:1] != "/":
            check_target(request.target, fields)
        # Files and health are open to everybody, and so is what is sent to them.
        is_open = not mcp_endpoint(request.path)[0] and self._is_open(unquote(request.path))
        try:
            if is_open:
                check_site(self.gate.rules, fields)
                request.ignores_body = True
                request.principal = identify(self.gate.rules, fields, time.time())
            else:
                request.principal = admit(self.gate.rules, fields, time.time())
        except MissingTokenError as error:
            request.has_wrong_token = isinstance(error, WrongTokenError)
            if not is_open:
                raise

    def decide(self, request: HttpRequest) -> Beginner | None:
        """Who may begin answers to requests with this head, which the gate let in."""
        is_mcp, target = mcp_endpoint(request.path)
        if not is_mcp or (target is not None and not self._answerer.has_server(target)):
            return None
        assert request.principal is not None, "the gate lets nobody in without"
        return self.mcp.decide(Visit(request, request.fields, request.principal, target), self.handle)

    async def handle(self, request: HttpRequest, responder: Responder) -> None:
        is_mcp, target = mcp_endpoint(request.path)
        principal = request.principal
        try:
            if request.has_wrong_token:
                await self._slow_down(request, responder)
            if request.refusal is not None:
                self.refuse(request.refusal, request, responder)
            elif not is_mcp:
                await self._app.handle(request, responder, principal)
            elif target is not None and not self._answerer.has_server(target):
                error = unknown_server(target, self._answerer.server_names())
                self.refuse(error, request, responder, principal)
            else:
                assert principal is not None, "the gate lets nobody in without"
                await self.mcp.handle(Visit(request, request.fields, principal, target), responder)
        except CallgateError as error:
            self.refuse(error, request, responder)
        except asyncio.CancelledError:
            raise
        except Exception:  # noqa: BLE001 - the border where a bug of ours becomes an answer
            _log.exception("%s %s failed", request.method, request.path)
            if not responder.started:
                responder.send_problem(bug_problem())

    def refuse(
        self,
        error: CallgateError,
        request: HttpRequest,
        responder: Responder,
        principal: Principal | None = None,
    ) -> None:
        """A request that could not be read, that the gate does not let in, or for nobody (`principal`)."""
        if not responder.started:
            responder.send_problem(problem_of(error))
        if mcp_endpoint(request.path)[0]:  # what is refused elsewhere is no message of the protocol
            self._refusals.at_the_door(request, error, principal)

    async def _slow_down(self, request: HttpRequest, responder: Responder) -> None:
        """Whoever guesses tokens waits for each answer, also where none is needed."""
        delay_s = self._guesses.guessed(request.peer)
        if delay_s is None:
            request.is_cut = True  # it costs a connection
            raise RefusedError(
                REFUSED_TOO_MANY_GUESSES,
                "The bearer token is not valid, and this address has sent many others that were not valid",
                hint=HOW_TO_SEND_ONE,
            )
        if delay_s:
            responder.cancel_on_disconnect = True
            try:
                await asyncio.sleep(delay_s)
            finally:
                self._guesses.waited(request.peer)


@lru_cache(maxsize=1024)
def mcp_endpoint(path: str) -> tuple[bool, str | None]:
    """Whether it is an MCP endpoint, and that of which server: None at /mcp."""
    match = _SERVER_PATH.fullmatch(path)
    return path == "/mcp" or match is not None, None if match is None else match[1]
