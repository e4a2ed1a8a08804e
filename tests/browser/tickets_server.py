"""A small MCP server over stdio, for the page to show: tools with every state of annotations, and a stderr.

Raw JSON-RPC of the legacy era, without any library: it starts at once.
"""

import json
import sys
from typing import Any

TEXT = {"type": "string"}
TICKETS = [
    {"id": "T-1041", "title": "Checkout total is off by one cent", "state": "open", "owner": "mara"},
    {"id": "T-1042", "title": "Export hangs for large carts", "state": "open", "owner": "jonas"},
    {"id": "T-1043", "title": "Typo in the shipping mail", "state": "closed", "owner": "mara"},
]


def tool(name: str, about: str, annotations: dict[str, bool] | None, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    offered = {"name": name, "description": about, "inputSchema": schema}
    return offered if annotations is None else offered | {"annotations": annotations}


TOOLS = [
    tool(
        "search_tickets", "Finds tickets by words of their title.",
        {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}, text=TEXT,
    ),
    tool(
        "close_ticket", "Closes a ticket for good.",
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        ticket=TEXT,
    ),
    tool(
        "add_note", "Adds a note to a ticket.",
        {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}, ticket=TEXT, note=TEXT,
    ),
    tool("summarize", "Says nothing about what it does to the world.", None, ticket=TEXT),
]  # fmt: skip


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "search_tickets":
        words = arguments.get("text", "").lower()
        found = [ticket for ticket in TICKETS if words in ticket["title"].lower()]
        return {"content": [{"type": "text", "text": json.dumps({"tickets": found})}]}
    if name == "summarize" and arguments.get("ticket") not in {ticket["id"] for ticket in TICKETS}:
        said = f"There is no ticket {arguments.get('ticket')}"
        return {"content": [{"type": "text", "text": said}], "isError": True}
    print(f"{name} {json.dumps(arguments)}", file=sys.stderr, flush=True)
    return {"content": [{"type": "text", "text": f"{name}: done"}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tickets", "version": "1.4.2"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    return {} if method == "ping" else None


def main() -> None:
    print("tickets 1.4.2 is ready, 3 tickets", file=sys.stderr, flush=True)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params") or {})
        body = (
            {"error": {"code": -32601, "message": "Method not found"}}
            if result is None
            else {"result": result}
        )
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
