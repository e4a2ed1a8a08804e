"""Answers every request with its own params, like a small MCP server; ends at the end of stdin."""

import json
import sys

for line in sys.stdin.buffer:
    request = json.loads(line)
    if "id" in request:
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": request.get("params", {})}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
