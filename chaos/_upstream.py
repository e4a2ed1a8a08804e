"""An MCP server in our own event loop with one tool, `echo`: what is tried is the gateway, not this."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from _http import read_message, response

_TOOL = {"name": "echo", "description": "returns text", "inputSchema": {"type": "object"}}


@asynccontextmanager
async def echo_upstream() -> AsyncIterator[str]:
    """Its address."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            first, _, body = await read_message(reader)
            if not first.startswith("POST"):
                writer.write(response("405 Method Not Allowed", b""))
                continue
            try:
                message = json.loads(body)
            except (ValueError, RecursionError):
                writer.write(response("400 Bad Request", b""))
                continue
            if "id" not in message:
                writer.write(response("202 Accepted", b""))
                continue
            answered = {"jsonrpc": "2.0", "id": message["id"]} | _answer(message)
            writer.write(response("200 OK", json.dumps(answered).encode()))
    except (OSError, asyncio.IncompleteReadError):
        pass  # the gateway was killed
    finally:
        writer.close()


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params", {})
    match message["method"]:
        case "initialize":
            told = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
            return {"result": told | {"serverInfo": {"name": "echo", "version": "1"}}}
        case "tools/list":
            return {"result": {"tools": [_TOOL]}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": params["arguments"].get("text")}]}}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


async def _main() -> None:
    """As a process of its own: prints its address, serves until it is ended."""
    async with echo_upstream() as address:
        print(address, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
