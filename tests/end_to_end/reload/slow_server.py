"""A stdio MCP server with one tool, named by its argument. The answer names the process. A call with `until`
is answered when that file is there, another one at once."""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

_TOOLS = [{"name": sys.argv[1], "inputSchema": {"type": "object"}}]


def say(rpc_id: Any, result: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": rpc_id, "result": result}) + "\n")
    sys.stdout.flush()


def call(rpc_id: Any, until: str | None) -> None:
    while until and not Path(until).exists():
        time.sleep(0.02)
    say(rpc_id, {"content": [{"type": "text", "text": str(os.getpid())}]})


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    match message["method"]:
        case "initialize":
            told = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
            say(message["id"], told | {"serverInfo": {"name": "slow", "version": "1"}})
        case "tools/list":
            say(message["id"], {"tools": _TOOLS})
        case "tools/call":
            until = message["params"].get("arguments", {}).get("until")
            threading.Thread(target=call, args=(message["id"], until), daemon=True).start()
        case _:
            error = {"code": -32601, "message": "Method not found"}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}) + "\n")
            sys.stdout.flush()
