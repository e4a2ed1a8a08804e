"""An MCP server whose every word is hostile to a terminal: name, version, tools, results, errors, progress.

hostile_server.py [--dies]      with --dies it says hostile last words on stderr and ends at once
"""

import io
import json
import sys
from typing import Any

from hostile_text import HOSTILE

TOOLS = [
    {"name": name, "description": HOSTILE, "inputSchema": {"type": "object"}}
    for name in ("talk", "break", "refuse", f"named-{HOSTILE}")
]


def say(message: dict[str, Any]) -> None:
    # As bytes of UTF-8, not as \u…: what a terminal would act on must be on the wire.
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def called(params: dict[str, Any]) -> dict[str, Any]:
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        progress = {"progressToken": token, "progress": 1, "total": 2, "message": f"progress {HOSTILE}"}
        say({"method": "notifications/progress", "params": progress})
    if params["name"] == "refuse":
        return {
            "error": {"code": -32000, "message": f"refused {HOSTILE}", "data": {"hint": f"hint {HOSTILE}"}}
        }
    content = [{"type": "text", "text": f"said {HOSTILE}"}]
    return {"result": {"content": content, "isError": params["name"] == "break"}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": f"server {HOSTILE}", "version": f"1.0 {HOSTILE}"},
            }
        }
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return called(params)
    return {"error": {"code": -32601, "message": f"no such method {HOSTILE}"}}


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(encoding="utf-8")
    if "--dies" in sys.argv:
        sys.exit(f"last words {HOSTILE}")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            say({"id": message["id"], **answer(message["method"], message.get("params") or {})})


if __name__ == "__main__":
    main()
