"""A server of both eras, over stdio, which writes three steps of progress and the answer in one piece."""

import json
import sys
from typing import Any

ABOUT = {"capabilities": {"tools": {}}, "serverInfo": {"name": "one piece", "version": "1"}}


def messages(method: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The last one is the result."""
    if method == "initialize":
        return [ABOUT | {"protocolVersion": params["protocolVersion"]}]
    if method == "server/discover":
        return [ABOUT | {"resultType": "complete", "supportedVersions": ["2026-07-28"]}]
    told = {"progressToken": params["_meta"]["progressToken"], "total": 3}
    steps = [told | {"progress": number, "message": f"step {number}"} for number in (1, 2, 3)]
    return [*steps, {"resultType": "complete", "content": [{"type": "text", "text": "counted"}]}]


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    *steps, result = messages(request["method"], request["params"])
    said = [{"jsonrpc": "2.0", "method": "notifications/progress", "params": step} for step in steps]
    said.append({"jsonrpc": "2.0", "id": request["id"], "result": result})
    sys.stdout.write("".join(json.dumps(each) + "\n" for each in said))
    sys.stdout.flush()
