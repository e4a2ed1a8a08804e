"""A stdio MCP server that remembers: its tool says how often it was called in this process. The tool's
name is `count`, or the argument."""

import json
import sys

_TOOLS = [{"name": sys.argv[1] if len(sys.argv) > 1 else "count", "inputSchema": {"type": "object"}}]
_CAPABILITIES = {"tools": {}}
count = 0
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result: object = None
    match message["method"]:
        case "initialize":
            result = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": _CAPABILITIES,
                "serverInfo": {"name": "counting", "version": "1"},
            }
        case "tools/list":
            result = {"tools": _TOOLS}
        case "tools/call":
            count += 1
            result = {"content": [{"type": "text", "text": str(count)}]}
        case method:
            error = {"code": -32601, "message": f"Method not found: {method}"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
            continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
