"""One era only: what a server does that has never heard of the other one. The SDK always serves both.

Modern alone refuses `initialize` and names what it speaks (2026-07-28, basic/versioning); handshake alone
answers modern requests as mcp 1.x does: an unknown method over stdio, an unknown version header over HTTP.
"""

import json
from typing import Any

import mcp_types as t
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from refserver_shapes import MODERN

ERAS = ("both", "modern", "legacy")


async def run_streams(server: Server[Any], era: str, read: Any, write: Any, options: Any) -> None:
    if era == "legacy":
        async with server.lifespan(server) as state:
            await serve_loop(server, read, write, lifespan_state=state, init_options=options)
        return
    if era == "modern":
        server.middleware.append(_refuse_handshake)
    await server.run(read, write, options)


async def _refuse_handshake(ctx: Any, call_next: Any) -> Any:
    if ctx.method == "initialize":
        raise MCPError(t.UNSUPPORTED_PROTOCOL_VERSION, *_refusal((ctx.params or {}).get("protocolVersion")))
    return await call_next(ctx)


def _refusal(requested: Any) -> tuple[str, dict[str, Any]]:
    return f"This server speaks {MODERN}", {"supported": [MODERN], "requested": requested}


def one_era_app(app: Any, era: str) -> Any:
    """The ASGI application behind a door that only requests of the era pass."""

    async def door(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        version = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode()
        is_legacy = not version or version in HANDSHAKE_PROTOCOL_VERSIONS
        if era == "both" or is_legacy == (era == "legacy"):
            await app(scope, receive, send)
        elif era == "legacy":
            await _answer(send, 400, {"code": -32600, "message": f"Unsupported protocol version: {version}"})
        elif scope["method"] != "POST":
            await _answer(send, 405, None)
        else:
            message, data = _refusal(version or None)
            error = {"code": t.UNSUPPORTED_PROTOCOL_VERSION, "message": message, "data": data}
            await _answer(send, 400, error)

    return door


async def _answer(send: Any, status: int, error: dict[str, Any] | None) -> None:
    body = b"" if error is None else json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
