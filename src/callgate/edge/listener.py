"""The one listener: accepts connections, applies the gate, and sends each request to its room.

/mcp, /servers/<name>/mcp    MCP, through the gate
everything else              the mounted app, through the gate; it says which of its paths need no token
"""

import asyncio
import logging
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from callgate.edge.asgi_mount import AsgiMount
from callgate.edge.gate import GateRules, admit, check_site, identify
from callgate.edge.http1 import HttpConnection
from callgate.edge.http_message import Headers, HttpRequest, Responder
from callgate.edge.mcp_http import McpHttp
from callgate.edge.refusals import Refusals
from callgate.edge.turned_away import TurnedAway
from callgate.edge.visit import Visit
from callgate.model.error_codes import (
    CALLER_MALFORMED,
    CALLER_TIMEOUT,
    CALLER_UNKNOWN_SERVER,
    REFUSED_OVERLOADED,
    SETUP_PORT,
)
from callgate.model.errors import CallerError, CallgateError, RefusedError, SetupError
from callgate.model.identity import Principal
from callgate.ports.answerer import Answerer
from callgate.ports.event_sink import EventSink
from callgate.ports.http_app import MountedApp
from callgate.wire.http_rules import SINGLE_HEADERS
from callgate.wire.problem_of import PROBLEM_TYPE, bug_problem, problem_of

_log = logging.getLogger(__name__)

_SERVER_PATH = re.compile(r"/servers/([^/]+)/mcp")
# How long an idle connection may stay, or a request may take to arrive: longer than common proxies keep
# theirs (60 s), short enough that a slow-writing attacker does not hold connections for free.
_IDLE_S = 75.0
_SWEEP_S = 5.0
# Proxies give up on an answer that is silent for a minute; this leaves room for two lost comments.
_SILENCE_S = 15.0
_BACKLOG = 1024
# When all places are taken: how long a connection may stay before its first request, and how often we look.
_UNASKED_S = 2.0
_MAKE_ROOM_EVERY_S = 1.0
# After this long a client may try again. A crowd of idle connections is gone by then.
_RETRY_AFTER_S = 3
# How long answers under way may take once we were told to stop.
_GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    max_body_bytes: int
    max_connections: int


class Listener:
    def __init__(
        self, answerer: Answerer, app: MountedApp, rules: GateRules, limits: ListenerLimits, sink: EventSink
    ) -> None:
        self._answerer = answerer
        self._refusals = Refusals(sink)
        self._mcp = McpHttp(answerer, self._refusals)
        self._app = AsgiMount(app.serve)
        self._is_open = app.is_open
        self._rules = rules
        self._limits = limits
        self._connections: set[_Connection] = set()
        self._turned_away = TurnedAway(_tell_full)
        self._made_room_at = 0.0
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def start(self, host: str, port: int) -> int:
        """Listens; returns the port (which matters when 0 was asked for). Raises SetupError."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: _Connection(self), host, port, backlog=_BACKLOG, reuse_address=True
            )
        except (OSError, OverflowError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            raise SetupError(
                SETUP_PORT,
                f"Cannot listen on {host}:{port}: {reason}",
                hint="Stop what listens there, or choose another port with --port (0 takes any free one)",
            ) from problem
        self._sweep = loop.call_later(_SWEEP_S, self._drop_idle)
        sockets: tuple[socket.socket, ...] = tuple(self._server.sockets)
        return int(sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        if self._server is not None:
            self._server.close()
        self._mcp.close()
        answering = [task for connection in list(self._connections) if (task := connection.shut_down())]
        if answering:
            _, late = await asyncio.wait(answering, timeout=_GRACE_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for connection in list(self._connections):
            connection.abort()  # whoever has not read its answer by now will not
        self._turned_away.close()
        if self._server is not None:
            await self._server.wait_closed()

    # ---- connections

    def add(self, connection: "_Connection") -> bool:
        """False: there is no place for it."""
        if len(self._connections) >= self._limits.max_connections:
            self._make_room()
            return False
        self._connections.add(connection)
        return True

    def turn_away(self, transport: asyncio.BaseTransport) -> None:
        self._turned_away.take(transport)

    def discard(self, connection: "_Connection") -> None:
        self._connections.discard(connection)

    @property
    def max_body_bytes(self) -> int:
        return self._limits.max_body_bytes

    def _make_room(self) -> None:
        """For those who come next: a connection that never asked anything costs an attacker nothing."""
        now = asyncio.get_running_loop().time()
        if now - self._made_room_at < _MAKE_ROOM_EVERY_S:
            return
        self._made_room_at = now
        for connection in list(self._connections):
            if not connection.has_asked and connection.waiting_since < now - _UNASKED_S:
                connection.abort()

    def _drop_idle(self) -> None:
        loop = asyncio.get_running_loop()
        # First, so that a connection that cannot be dropped does not end the sweeping.
        self._sweep = loop.call_later(_SWEEP_S, self._drop_idle)
        before = loop.time() - _IDLE_S
        for connection in list(self._connections):
            connection.drop_if_stuck(before)
            if connection.is_answering:
                connection.check_silence(loop.time() - _SILENCE_S)
            elif connection.waiting_since < before:
                connection.drop_idle()

    # ---- requests

    async def handle(self, request: HttpRequest, responder: Responder) -> None:
        try:
            await self._route(request, responder)
        except CallgateError as error:
            if not responder.started:
                send_problem(error, responder)
            if _is_mcp(request.path):
                self._refusals.at_the_door(request, error)
        except asyncio.CancelledError:
            raise
        except Exception:  # noqa: BLE001 - the border where a bug of ours becomes an answer
            _log.exception("%s %s failed", request.method, request.path)
            if not responder.started:
                status, body = bug_problem()
                responder.send(status, (("content-type", PROBLEM_TYPE),), body)

    def refuse(self, error: CallerError, request: HttpRequest, responder: Responder) -> None:
        """A request that could not be read."""
        send_problem(error, responder)
        if _is_mcp(request.path):
            self._refusals.at_the_door(request, error)

    async def _route(self, request: HttpRequest, responder: Responder) -> None:
        headers = _single(request.headers)
        path = request.path
        target: str | None = None
        if match := _SERVER_PATH.fullmatch(path):
            target = match[1]
        elif path != "/mcp":
            await self._app.handle(request, responder, self._admit_to_app(path, headers))
            return
        principal = admit(self._rules, headers)
        if target is not None and not self._answerer.has_server(target):
            error = CallerError(CALLER_UNKNOWN_SERVER, f"No server is called {target[:64]!r}")
            send_problem(error, responder)
            self._refusals.at_the_door(request, error, principal)
            return
        await self._mcp.handle(Visit(request, headers, principal, target), responder)

    def _admit_to_app(self, path: str, headers: Mapping[str, str]) -> Principal | None:
        if not self._is_open(unquote(path)):
            return admit(self._rules, headers)
        check_site(self._rules, headers)
        with suppress(RefusedError):
            return identify(self._rules, headers)
        return None


class _Connection(HttpConnection):
    """An HttpConnection that its listener knows of."""

    def __init__(self, listener: Listener) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(listener.handle, listener.refuse, listener.max_body_bytes, loop.time)
        self._listener = listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._listener.add(self):
            super().connection_made(transport)
        else:
            self._listener.turn_away(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._listener.discard(self)

    def drop_idle(self) -> None:
        if self.is_mid_request:
            self.refuse(CallerError(CALLER_TIMEOUT, f"The request did not arrive within {_IDLE_S:g} s"))
        else:
            self.close()


def _is_mcp(path: str) -> bool:
    """What is refused elsewhere is no message of the protocol, and not in its record."""
    return path == "/mcp" or _SERVER_PATH.fullmatch(path) is not None


def _single(headers: list[tuple[str, str]]) -> Mapping[str, str]:
    """Headers as a mapping: those that decide something may come once, others are joined as HTTP says."""
    if len(each := dict(headers)) == len(headers):
        return each
    merged: dict[str, str] = {}
    for name, value in headers:
        if name not in merged:
            merged[name] = value
        elif name in SINGLE_HEADERS:
            raise CallerError(CALLER_MALFORMED, f"The header {name} came twice")
        else:
            merged[name] += f", {value}"
    return merged


def send_problem(error: CallgateError, responder: Responder) -> None:
    status, body = problem_of(error)
    headers: Headers = (("content-type", PROBLEM_TYPE),)
    if status == 401:
        headers += (("www-authenticate", "Bearer"),)
    if status == 503:
        headers += (("retry-after", str(_RETRY_AFTER_S)),)
    responder.send(status, headers, body)


def _tell_full(responder: Responder) -> None:
    text = "All places for connections are taken"
    hint = f"Try again in {_RETRY_AFTER_S} s; the operator can raise [server] max_connections"
    send_problem(RefusedError(REFUSED_OVERLOADED, text, hint=hint), responder)
