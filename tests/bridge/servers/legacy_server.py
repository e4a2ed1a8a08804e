"""A server of the handshake era on `mcp` 1.x, which has never heard of another; runs in its environment.

legacy_server.py NAME MARKS stdio
legacy_server.py NAME MARKS http      prints its port
"""

import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakSet

import anyio
import mcp.server.lowlevel.server as lowlevel
import mcp.types as t
from features import LEVELS, RESOURCE_NOT_FOUND, Features, Json, RefusedError
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.shared.exceptions import McpError
from serve_http import serve_app

NAME, MARKS, TRANSPORT = sys.argv[1:4]
FEATURES = Features(NAME, Path(MARKS))
SERVER: Server[Any] = Server(NAME, version="1.0", instructions="a server of the handshake era")
LEGACY_RESOURCE_NOT_FOUND = -32002

# By session: what it was told with logging/setLevel, and which resources it follows.
levels: "WeakKeyDictionary[ServerSession, str]" = WeakKeyDictionary()
followed: "WeakKeyDictionary[ServerSession, set[str]]" = WeakKeyDictionary()
sessions: "WeakSet[ServerSession]" = WeakSet()


class RememberedSession(ServerSession):
    """A change is told to every session; the SDK keeps no list of them."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        sessions.add(self)


lowlevel.ServerSession = RememberedSession  # type: ignore[misc]


class LegacyTurn:
    """Server-to-client requests go out while the call stays open, through the SDK's own functions."""

    is_modern = False

    def __init__(self) -> None:
        context = SERVER.request_context
        self._id = context.request_id
        self._meta = context.meta
        self.session: ServerSession = context.session

    async def ask_all(self, questions: dict[str, Json]) -> dict[str, Json]:
        answers: dict[str, Json] = {}

        async def ask(key: str, question: Json) -> None:
            answers[key] = await self._ask(question["method"], question["params"])

        async with anyio.create_task_group() as asking:
            for key, question in questions.items():
                asking.start_soon(ask, key, question)
        return answers

    async def _ask(self, method: str, params: Json) -> Json:
        if method == "roots/list":
            # The SDK gives no way to tie it to the call: over HTTP it comes on the session's own GET stream.
            answer: Any = await self.session.list_roots()
        elif method == "sampling/createMessage":
            messages = [t.SamplingMessage.model_validate(message) for message in params["messages"]]
            answer = await self.session.create_message(
                messages, max_tokens=params["maxTokens"], related_request_id=self._id
            )
        elif params["mode"] == "url":
            answer = await self.session.elicit_url(
                params["message"], params["url"], str(uuid4()), related_request_id=self._id
            )
        else:
            answer = await self.session.elicit_form(
                params["message"], params["requestedSchema"], related_request_id=self._id
            )
        return answer.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def progress(self, done: float, total: float, message: str) -> None:
        token = self._meta.progressToken if self._meta else None
        if token is not None:
            await self.session.send_progress_notification(token, done, total, message, str(self._id))

    async def log(self, level: str, data: Any) -> None:
        if LEVELS.index(level) >= LEVELS.index(levels.get(self.session, "debug")):
            await self.session.send_log_message(level, data, NAME, self._id)  # type: ignore[arg-type]

    async def changed(self, kind: str) -> None:
        for session in list(sessions):
            tell = {
                "tools": session.send_tool_list_changed,
                "prompts": session.send_prompt_list_changed,
                "resources": session.send_resource_list_changed,
            }[kind]
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # a session that has ended
                await tell()

    async def updated(self, uri: str) -> None:
        for session, uris in list(followed.items()):
            if uri in uris:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await session.send_resource_updated(uri)  # type: ignore[arg-type]


def handle(request: Any, result: Any, answer: Any) -> None:
    """`answer(turn, params)` gives plain JSON."""

    async def handler(message: Any) -> t.ServerResult:
        try:
            found = await answer(LegacyTurn(), message.params)
        except RefusedError as refusal:
            code = LEGACY_RESOURCE_NOT_FOUND if refusal.code == RESOURCE_NOT_FOUND else int(refusal.code)
            raise McpError(t.ErrorData(code=code, message=str(refusal), data=refusal.data)) from None
        return t.ServerResult(result.model_validate(found))

    SERVER.request_handlers[request] = handler


async def set_level(turn: LegacyTurn, params: Any) -> Json:
    levels[turn.session] = params.level
    return {}


async def follow(turn: LegacyTurn, params: Any) -> Json:
    followed.setdefault(turn.session, set()).add(str(params.uri))
    return {}


async def leave(turn: LegacyTurn, params: Any) -> Json:
    followed.get(turn.session, set()).discard(str(params.uri))
    return {}


async def listed(found: Json) -> Json:
    return found


async def complete(turn: LegacyTurn, params: Any) -> Json:
    return FEATURES.complete(params.ref.model_dump(mode="json"), params.argument.model_dump())


def build() -> None:
    handle(t.ListToolsRequest, t.ListToolsResult, lambda _, p: listed(FEATURES.list_tools(is_modern=False)))
    handle(t.ListPromptsRequest, t.ListPromptsResult, lambda _, p: listed(FEATURES.list_prompts()))
    handle(t.ListResourcesRequest, t.ListResourcesResult, lambda _, p: listed(FEATURES.list_resources()))
    handle(
        t.ListResourceTemplatesRequest,
        t.ListResourceTemplatesResult,
        lambda _, p: listed(FEATURES.list_templates()),
    )
    handle(
        t.CallToolRequest,
        t.CallToolResult,
        lambda turn, p: FEATURES.call_tool(turn, p.name, p.arguments or {}),
    )
    handle(
        t.GetPromptRequest,
        t.GetPromptResult,
        lambda turn, p: FEATURES.get_prompt(turn, p.name, p.arguments or {}),
    )
    handle(
        t.ReadResourceRequest, t.ReadResourceResult, lambda turn, p: FEATURES.read_resource(turn, str(p.uri))
    )
    handle(t.CompleteRequest, t.CompleteResult, complete)
    handle(t.SetLevelRequest, t.EmptyResult, set_level)
    handle(t.SubscribeRequest, t.EmptyResult, follow)
    handle(t.UnsubscribeRequest, t.EmptyResult, leave)


def options() -> Any:
    made = SERVER.create_initialization_options(NotificationOptions(True, True, True))
    assert made.capabilities.resources is not None
    made.capabilities.resources.subscribe = True  # the SDK never sets it, whatever handlers there are
    return made


async def run_stdio() -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        await SERVER.run(incoming, outgoing, options())


def run_http() -> None:
    from mcp.server.fastmcp.server import StreamableHTTPASGIApp
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Route

    SERVER.create_initialization_options = lambda *_, **__: made  # type: ignore[method-assign]
    manager = StreamableHTTPSessionManager(app=SERVER)
    route = Route("/mcp", endpoint=StreamableHTTPASGIApp(manager))
    serve_app(Starlette(routes=[route], lifespan=lambda _: manager.run()))


warnings.simplefilter("ignore")
build()
made = options()
if TRANSPORT == "stdio":
    anyio.run(run_stdio)
else:
    run_http()
