"""A small MCP server over stdio with content of every kind, some of it hostile: Markdown, sound, pictures,
links, resources, templates and prompts. Raw JSON-RPC of the legacy era, so that it starts at once.
"""

import base64
import json
import struct
import sys
from typing import Any

# What must never be fetched, run or opened. Nobody answers at this name.
ELSEWHERE = "https://elsewhere.invalid"
HOSTILE = f"""# Report <script>window.hacked = 1</script>

**Bold** words, a [good link]({ELSEWHERE}/page), a [bad link](javascript:window.hacked=2),
a [data link](data:text/html,<script>window.hacked=3</script>), and <{ELSEWHERE}/auto>.

![a pixel]({ELSEWHERE}/pixel.png)

<img src="{ELSEWHERE}/img.png" onerror="window.hacked=4">
<iframe src="{ELSEWHERE}/frame"></iframe>
<style>body {{ display: none }}</style>
<a href="javascript:window.hacked=5" onclick="window.hacked=6">raw link</a>
<form action="{ELSEWHERE}/form"><input autofocus onfocus="window.hacked=7"></form>

- one
- two with `code`

```python
print("<b>not bold</b>")
```

| name | amount |
|---|---:|
| a | 1.5 |
| b | 20.25 |
"""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def silence(seconds: float = 0.5, rate: int = 8_000) -> str:
    """A WAV file, as base64."""
    samples = b"\x80" * int(seconds * rate)
    head = struct.pack(
        "<4sI4s4sIHHIIHH", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, 1, rate, rate, 1, 8
    )
    return base64.b64encode(head + struct.pack("<4sI", b"data", len(samples)) + samples).decode()


TEXT = {"type": "string"}
READS = {"readOnlyHint": True}


def tool(name: str, about: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": about, "inputSchema": schema, "annotations": READS}


TOOLS = [
    tool("report", f"Writes a **report**.\n\n- [how]({ELSEWHERE}/how)\n- <b>raw</b>"),
    tool("speak", "Says nothing for half a second."),
    tool("files", "Rows with files in them, and a link to one."),
    tool("stock", "How many there are; more with each day.", day={"type": "integer"}),
    tool("echo", "Says it again, line by line.", text=TEXT),
]
NOTE = "notes://today"
RESOURCES = [
    {"uri": NOTE, "name": "today", "title": "Notes of today", "mimeType": "text/markdown"},
    {"uri": "notes://logo", "name": "logo", "mimeType": "image/png", "description": "A picture"},
]
TEMPLATES = [{"uriTemplate": "notes://{day}/{topic}", "name": "note", "description": "The note of a day"}]
PROMPTS = [
    {
        "name": "review",
        "description": "Asks for a **review**.",
        "arguments": [{"name": "topic", "description": "Of what", "required": True}, {"name": "tone"}],
    }
]


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "report":
        return said(text(HOSTILE))
    if name == "speak":
        return said({"type": "audio", "data": silence(), "mimeType": "audio/wav"})
    if name == "files":
        rows = [
            {"name": "logo.png", "content": PIXEL, "price": 9.5},
            {"name": "x", "content": None, "price": 120},
        ]
        link = {"type": "resource_link", "uri": NOTE, "name": "today", "mimeType": "text/markdown"}
        return said(text(json.dumps(rows)), {"type": "image", "data": PIXEL, "mimeType": "image/png"}, link)
    if name == "stock":
        day = int(arguments.get("day", 1))
        rows = [
            {"sku": sku, "left": count * (day if sku == "bolt" else 1)}
            for sku, count in STOCK
            if day > 1 or sku != "gear"
        ]
        return said(text(json.dumps(rows)))
    return said(text(arguments.get("text", "")))


STOCK = (("nut", 5), ("bolt", 7), ("gear", 1))


def read(uri: str) -> dict[str, Any]:
    if uri == "notes://logo":
        return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}]}
    words = HOSTILE if uri == NOTE else f"# Note of {uri}"
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": words}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "content", "version": "0.9"},
        }
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "resources/read":
        return read(params["uri"])
    if method == "prompts/get":
        words = f"Review {params['arguments']['topic']}, {params['arguments'].get('tone', 'kindly')}."
        return {"description": "A review", "messages": [{"role": "user", "content": text(words)}]}
    lists: dict[str, dict[str, Any]] = {
        "tools/list": {"tools": TOOLS},
        "resources/list": {"resources": RESOURCES},
        "resources/templates/list": {"resourceTemplates": TEMPLATES},
        "prompts/list": {"prompts": PROMPTS},
        "ping": {},
    }
    return lists.get(method)


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params") or {})
        body = (
            {"result": result}
            if result is not None
            else {"error": {"code": -32601, "message": "Method not found"}}
        )
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
