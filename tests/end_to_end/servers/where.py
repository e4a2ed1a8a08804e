"""A server with one tool, `where`: in which folder it runs, under which pid, and what it can make there."""

import json
import os
import sys
from pathlib import Path
from typing import Any

MARK = Path("made-by-where")


def told() -> dict[str, Any]:
    try:
        MARK.write_text("x")
        MARK.unlink()
        can_write = True
    except OSError:
        can_write = False
    return {"folder": str(Path.cwd()), "pid": os.getpid(), "can_write": can_write, "args": sys.argv[1:]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            info = {"name": "where", "version": "1"}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": "where", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": json.dumps(told())}]}
        case _:
            return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params", {}))
        body = (
            {"result": result}
            if result is not None
            else {"error": {"code": -32601, "message": "no such method"}}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"]} | body), flush=True)
