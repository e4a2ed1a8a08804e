"""The reference upstream of the conformance runs, on the low-level `Server` of the official SDK (mcp 2.3).

Serves both protocol eras (2025-11-25 handshake, 2026-07-28 stateless) with every fixture the official
suite (@modelcontextprotocol/conformance 0.1.16 and 0.2.0-alpha.12) looks for.

    python refserver.py http  --port 3901      Streamable HTTP at /mcp
    python refserver.py stdio                  stdio
    python refserver.py sse   --port 3901      legacy HTTP+SSE at /sse + /messages/
    … --era modern | legacy                    as a server that speaks that one only
"""

import argparse
import json
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as t
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from refserver_era import ERAS, one_era_app, run_streams
from refserver_shapes import MODERN, PNG, STR, elicit, fresh, res, text
from refserver_tools import InputNeededError, bus, call_tool, inputs, list_tools, remember_legacy

# Logging, sampling and roots are deprecated in 2026-07-28 but still tested on 2025-11-25.
warnings.simplefilter("ignore")

Handler = Callable[[Any, Any], Awaitable[dict[str, Any]]]

RESOURCES = {
    "test://static-text": ("text/plain", "text", "This is the content of the static text resource."),
    "test://static-binary": ("image/png", "blob", PNG),
    "test://watched-resource": ("text/plain", "text", "Watched resource content"),
}


async def list_resources(ctx: Any, params: Any) -> dict[str, Any]:
    return {
        "resources": [
            {"uri": u, "name": u.split("//")[1], "mimeType": m} for u, (m, _, _) in RESOURCES.items()
        ],
        **fresh(ctx),
    }


async def list_templates(ctx: Any, params: Any) -> dict[str, Any]:
    return {
        "resourceTemplates": [
            {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
        ],
        **fresh(ctx),
    }


async def read_resource(ctx: Any, params: Any) -> dict[str, Any]:
    uri = str(params.uri)
    if uri in RESOURCES:
        mime, kind, body = RESOURCES[uri]
    elif uri.startswith("test://template/") and uri.endswith("/data"):
        i = uri[len("test://template/") : -len("/data")]
        mime, kind, body = (
            "application/json",
            "text",
            json.dumps({"id": i, "templateTest": True, "data": f"Data for ID: {i}"}),
        )
    else:
        code = t.INVALID_PARAMS if ctx.protocol_version == MODERN else -32002
        raise MCPError(code, "Resource not found", {"uri": uri})
    return {"contents": [{"uri": uri, "mimeType": mime, kind: body}], **fresh(ctx)}


def arg(n: str) -> dict[str, Any]:
    return {"name": n, "description": n, "required": True}


PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": [arg("arg1"), arg("arg2")],
    "test_prompt_with_embedded_resource": [arg("resourceUri")],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


async def list_prompts(ctx: Any, params: Any) -> dict[str, Any]:
    return {
        "prompts": [{"name": n, "description": n, "arguments": a} for n, a in PROMPTS.items()],
        **fresh(ctx),
    }


async def get_prompt(ctx: Any, params: Any) -> dict[str, Any]:
    a, n = params.arguments or {}, params.name
    if n == "test_simple_prompt":
        c = [text("This is a simple prompt for testing.")]
    elif n == "test_prompt_with_arguments":
        c = [text(f"Prompt with arguments: arg1='{a.get('arg1')}', arg2='{a.get('arg2')}'")]
    elif n == "test_prompt_with_embedded_resource":
        c = [
            res(a.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            text("Please process it."),
        ]
    elif n == "test_prompt_with_image":
        c = [{"type": "image", "data": PNG, "mimeType": "image/png"}, text("Please analyze the image above.")]
    elif n == "test_input_required_result_prompt":
        wanted = {"user_context": elicit("What context should the prompt use?", context=STR)}
        r = (await inputs(ctx, dict(ctx.params or {}), wanted))["user_context"]
        c = [text(f"Use the following context: {(r.get('content') or {}).get('context', '?')}")]
    else:
        raise MCPError(t.INVALID_PARAMS, f"Unknown prompt: {n}")
    return {"messages": [{"role": "user", "content": x} for x in c]}


async def empty(ctx: Any, params: Any) -> dict[str, Any]:
    return {}


async def complete(ctx: Any, params: Any) -> dict[str, Any]:
    return {"completion": {"values": [], "total": 0, "hasMore": False}}


def era(handler: Handler) -> Handler:
    """2026-07-28 results must carry `resultType`; the SDK only fills it for typed results."""

    async def f(ctx: Any, params: Any) -> dict[str, Any]:
        try:
            r = await handler(ctx, params)
        except InputNeededError as needed:
            return needed.result
        return {"resultType": "complete", **r} if ctx.protocol_version == MODERN else r

    return f


HANDLERS = {
    "on_list_tools": era(list_tools),
    "on_call_tool": era(call_tool),
    "on_list_resources": era(list_resources),
    "on_list_resource_templates": era(list_templates),
    "on_read_resource": era(read_resource),
    "on_subscribe_resource": empty,
    "on_unsubscribe_resource": empty,
    "on_list_prompts": era(list_prompts),
    "on_get_prompt": era(get_prompt),
    "on_completion": era(complete),
    "on_set_logging_level": empty,
    "on_subscriptions_listen": ListenHandler(bus),
}


def build(**instead: Any) -> Server:
    """`instead` takes the place of handlers: tests/bridge serves its own features beside these."""
    about = {"version": "1.0.0", "instructions": "conformance reference upstream"}
    server = Server("refserver", **about, **{**HANDLERS, **instead})
    server.middleware.append(remember_legacy)
    return server


class Events(EventStore):
    """In-memory event store so that SSE resumability (Last-Event-ID) is exercised."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: t.JSONRPCMessage | None) -> str:
        self.log.append((stream_id, message))
        return str(len(self.log))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        i = int(last_event_id)
        if not 1 <= i <= len(self.log):
            return None
        sid = self.log[i - 1][0]
        for n, (s, m) in enumerate(self.log[i:], i + 1):
            if s == sid and m is not None:
                await send_callback(EventMessage(m, str(n)))
        return sid


def main() -> None:
    serve(build(), parser().parse_args())


def parser() -> argparse.ArgumentParser:
    ap = argparse.ArgumentParser()
    ap.add_argument("transport", choices=["http", "stdio", "sse"])
    ap.add_argument("--port", type=int, default=3901)
    ap.add_argument(
        "--json", action="store_true", help="answer with application/json instead of SSE where possible"
    )
    ap.add_argument("--era", choices=ERAS, default="both")
    return ap


def serve(srv: Server, o: argparse.Namespace) -> None:
    """With port 0 it takes a free one and prints it."""
    opts = srv.create_initialization_options(NotificationOptions(True, True, True))
    if o.transport == "stdio":
        from mcp.server.stdio import stdio_server

        async def run() -> None:
            async with stdio_server() as (r, w):
                await run_streams(srv, o.era, r, w, opts)

        anyio.run(run)
        return
    import socket

    import uvicorn

    srv.create_initialization_options = lambda *_, **__: opts  # over HTTP the SDK would leave listChanged out
    if o.transport == "http":
        app: Any = srv.streamable_http_app(event_store=Events(), retry_interval=100, json_response=o.json)
    else:
        from mcp.server.sse import SseServerTransport
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import Response
        from starlette.routing import Mount, Route

        sse = SseServerTransport("/messages/")

        async def handle(request: Request) -> Response:
            async with sse.connect_sse(request.scope, request.receive, request._send) as (r, w):
                await srv.run(r, w, opts)
            return Response()

        app = Starlette(routes=[Route("/sse", handle), Mount("/messages/", app=sse.handle_post_message)])
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", o.port))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(one_era_app(app, o.era), log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main()
