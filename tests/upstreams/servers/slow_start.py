"""slow_start.py STARTS GATE: notes its start, and reads its stdin only once the file GATE is there.

Then an MCP server of the handshake era: `initialize`, and every other request is answered with its own pid.
A tool call with `{"die": true}` ends it.
"""

import json
import os
import sys
import time
from pathlib import Path

starts, gate = Path(sys.argv[1]), Path(sys.argv[2])
with starts.open("a") as log:
    log.write(f"{os.getpid()}\n")
print("downloading 12 packages", file=sys.stderr, flush=True)
while not gate.exists():
    time.sleep(0.01)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer: dict[str, object]
    if message["method"] == "initialize":
        info = {"name": "slow", "version": "1"}
        answer = {
            "result": {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {},
                "serverInfo": info,
            }
        }
    elif message["method"] == "server/discover":
        answer = {"error": {"code": -32601, "message": "Method not found"}}
    else:
        if (message.get("params") or {}).get("die"):
            os._exit(3)
        answer = {"result": {"pid": os.getpid()}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
