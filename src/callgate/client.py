"""A client for any MCP server, with the same connection code the gateway uses.

    async with connect("stdio:python server.py") as server:
        result = await server.call_tool("add", {"a": 1, "b": 2}, timeout_s=5, on_progress=print)

The era is found out; both are spoken. Cancelling the task that awaits a call cancels it at the server. A call
ends exactly once: with its result, with `ServerFault` (the server's own error), or with `UpstreamError`
(time-out, exit, lost connection), whose `code` is one of docs/errors. See docs/client.md.
"""

import logging
import shlex
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

import callgate
from callgate.http_client.client import HttpClient
from callgate.model.envelope import Envelope, Era
from callgate.model.errors import UpstreamError
from callgate.model.offers import OfferKind
from callgate.model.reply import (
    Answer,
    Asking,
    Notice,
    Reply,
    RpcFault,
    Said,
    Undelivered,
    Unsolicited,
    Withdrawn,
)
from callgate.relay.rounds import ask_in_rounds
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.http.http_transport import HttpSettings
from callgate.upstreams.link.call import Call
from callgate.upstreams.link.handshake import Introduction
from callgate.upstreams.link.link import Link, LinkPlan
from callgate.upstreams.openers import child_opener, http_opener, sse_opener, unix_opener
from callgate.upstreams.transport import Opened, Opener, Receiver
from callgate.upstreams.unix_socket import UnixSocketTransport
from callgate.wire.eras.input_required import ROUND_TRIP_METHODS
from callgate.wire.eras.params import with_envelope
from callgate.wire.revisions import LEGACY_REVISIONS

__all__ = ["Server", "ServerFault", "UpstreamError", "connect"]

_log = logging.getLogger(__name__)

Json = dict[str, Any]
OnProgress = Callable[[Json], None]
OnNotice = Callable[[str, Json], None]
OnRequest = Callable[[str, Json], Json]

_DEFAULT_TIMEOUT_S = 30.0
# `on_request` may ask a person.
_ANSWER_TIMEOUT_S = 600.0
# A paginator that never ends must not hang a list.
_MAX_PAGES = 100


class ServerFault(Exception):  # noqa: N818 - it is the server's word, JSON-RPC calls it an error object
    """The server answered with a JSON-RPC error."""

    def __init__(self, fault: RpcFault) -> None:
        super().__init__(fault.message)
        self.code = fault.code
        self.message = fault.message
        self.data = None if fault.raw is None else msgspec.json.decode(fault.raw).get("data")


class Server:
    """A server one is connected with. Made by `connect`."""

    def __init__(self, link: Link, client: Envelope, timeout_s: float) -> None:
        self._link = link
        self._client = client
        self._timeout_s = timeout_s

    @property
    def state(self) -> str:
        """`starting`, `initializing`, `ready`, `backoff` or `closing`."""
        return self._link.state

    @property
    def era(self) -> str:
        return self._introduction.era.value

    @property
    def revision(self) -> str:
        return self._introduction.revision

    @property
    def capabilities(self) -> Json:
        return self._introduction.capabilities

    @property
    def server_info(self) -> tuple[str | None, str | None]:
        """Its name and version, as it says itself."""
        return self._introduction.server_name, self._introduction.server_version

    @property
    def _introduction(self) -> Introduction:
        assert self._link.introduction is not None, "connect() waits for it"
        return self._link.introduction

    async def call_tool(
        self,
        name: str,
        arguments: Json | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Json:
        """The tool's whole result; `isError` is the tool's own word and is not raised."""
        params = {"name": name, "arguments": arguments or {}}
        return await self.request("tools/call", params, timeout_s=timeout_s, on_progress=on_progress)

    async def list_tools(self) -> list[Json]:
        return await self._list(OfferKind.TOOL)

    async def list_prompts(self) -> list[Json]:
        return await self._list(OfferKind.PROMPT)

    async def list_resources(self) -> list[Json]:
        return await self._list(OfferKind.RESOURCE)

    async def list_resource_templates(self) -> list[Json]:
        return await self._list(OfferKind.TEMPLATE)

    async def get_prompt(self, name: str, arguments: dict[str, str] | None = None) -> Json:
        return await self.request("prompts/get", {"name": name, "arguments": arguments or {}})

    async def read_resource(self, uri: str) -> Json:
        return await self.request("resources/read", {"uri": uri})

    async def request(
        self,
        method: str,
        params: Json | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Json:
        """Any method, also one we do not know."""
        params = dict(params or {})
        if on_progress is not None:
            params["_meta"] = {**params.get("_meta", {}), "progressToken": 0}  # the connection puts its own
        raw = msgspec.json.encode(params)
        if self._introduction.era is Era.MODERN:
            raw = with_envelope(raw, self._client)
        named = params.get("name") if "name" in params else params.get("uri")
        name = named if isinstance(named, str) else None

        async def hear(said: Said) -> None:
            if isinstance(said, Notice) and on_progress and said.method == "notifications/progress":
                on_progress(msgspec.json.decode(said.params))
            elif isinstance(said, (Notice, Asking, Withdrawn)):
                self._link.unsolicited(said)

        def leg(params: bytes) -> Coroutine[Any, Any, Reply]:
            return self._link.ask(Call(name), method, params, hear, timeout_s or self._timeout_s)

        if self._introduction.era is Era.MODERN and method in ROUND_TRIP_METHODS:
            reply = await ask_in_rounds(leg, raw, self._client, _ANSWER_TIMEOUT_S, hear)
        else:
            reply = await leg(raw)
        if reply.fault is not None:
            raise ServerFault(reply.fault)
        return cast(Json, msgspec.json.decode(reply.result or b"{}"))

    async def notify(self, method: str, params: Json | None = None) -> None:
        self._link.tell(method, b"" if params is None else msgspec.json.encode(params))

    async def close(self) -> None:
        await self._link.close()

    async def _list(self, kind: OfferKind) -> list[Json]:
        found: list[Json] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self.request(kind.method, {} if cursor is None else {"cursor": cursor})
            found += page.get(kind.member, [])
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        return found


@asynccontextmanager
async def connect(
    target: str | socket.socket,
    *,
    timeout_s: float = _DEFAULT_TIMEOUT_S,
    headers: dict[str, str] | None = None,
    capabilities: Json | None = None,
    on_request: OnRequest | None = None,
    on_notice: OnNotice | None = None,
    client_name: str = "callgate-client",
) -> AsyncGenerator[Server]:
    """Connect to `stdio:<command>`, `http(s)://…`, `sse:http(s)://…` or `unix:<path>`, and close at the end.

    `on_request` answers the server's own questions (elicitation, sampling, roots) with a result; declare what
    it can answer in `capabilities`. Raises UpstreamError when the server cannot be reached.
    """
    info = msgspec.json.encode({"name": client_name, "version": callgate.__version__})
    declared = msgspec.json.encode(capabilities or {})
    client = Envelope(Era.LEGACY, LEGACY_REVISIONS[0], client_name, callgate.__version__, info, declared)
    http, warden = HttpClient(), Warden()

    def on_unsolicited(item: Unsolicited | Undelivered) -> None:
        _take_unsolicited(item, on_request, on_notice)

    plan = LinkPlan("the server", _opener(target, headers or {}, http, warden), None, client, timeout_s)
    link = Link(plan, on_unsolicited, lambda is_up: None)
    try:
        await link.until_ready(timeout_s)
        yield Server(link, client, timeout_s)
    finally:
        await link.close()
        await http.close()
        warden.close()


def _opener(target: str | socket.socket, headers: dict[str, str], http: HttpClient, warden: Warden) -> Opener:
    if isinstance(target, socket.socket):
        connected = target

        async def open_socket(receiver: Receiver, era: Era | None) -> Opened:
            return Opened(UnixSocketTransport(connected, receiver), era)

        return open_socket
    scheme, _, rest = target.partition(":")
    match scheme:
        case "stdio":
            command, *args = shlex.split(rest)
            return child_opener(ChildCommand("the server", command, tuple(args)), warden)
        case "http" | "https":
            return http_opener(HttpSettings("the server", target, tuple(headers.items())), http)
        case "sse":
            return sse_opener(HttpSettings("the server", rest, tuple(headers.items())), http)
        case "unix":
            return unix_opener(Path(rest))
        case _:
            raise ValueError("A target is stdio:<command>, http(s)://…, sse:http(s)://… or unix:<path>")


def _take_unsolicited(
    item: Unsolicited | Undelivered, on_request: OnRequest | None, on_notice: OnNotice | None
) -> None:
    if isinstance(item, (Withdrawn, Undelivered)):
        return  # it was answered on the spot
    params = cast(Json, msgspec.json.decode(item.params or b"{}"))
    if isinstance(item, Notice):
        if on_notice is not None:
            on_notice(item.method, params)
    elif on_request is None:
        item.respond(Answer(error=b'{"code":-32601,"message":"This client answers no questions"}'))
    else:
        try:
            answer = Answer(result=msgspec.json.encode(on_request(item.method, params)))
        except Exception:  # noqa: BLE001 - the caller's own function: the server must not wait for ever
            _log.exception("on_request failed for %s", item.method)
            answer = Answer(error=b'{"code":-32603,"message":"The client could not answer"}')
        item.respond(answer)
