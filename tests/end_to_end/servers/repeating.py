"""An MCP server that repeats what it was given: its variables, its arguments, and the headers of a request.

    repeating.py [--http] [--fail] [ARGUMENT …]

The tool `repeat` does it in each way at once. Its argument `wants` names what: a variable, the place of an
argument ("0"), a header ("x-api-key"). The client names them, and gets the values.
"""

import base64
import html
import json
import os
import sys
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, quote_plus

FLAGS = [arg for arg in sys.argv[1:] if arg in ("--http", "--fail")]
ARGS = [arg for arg in sys.argv[1:] if arg not in FLAGS]
GIVEN = {**os.environ, **{str(at): arg for at, arg in enumerate(ARGS)}}
FIRST = os.environ.get("FIRST", "")
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": json.dumps,
    "json in json": lambda text: json.dumps({"deep": json.dumps({"a": text})}, ensure_ascii=False),
    "url": quote,
    "form": quote_plus,
    "html": html.escape,
    "repr": repr,
    "bytes": lambda text: repr(text.encode()),
    "between": lambda text: f"x={text};",
}
ENCODINGS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 behind another": lambda text: base64.b64encode(f"u:{text}!".encode()).decode(),
    "base64 of addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
}

Tell = Callable[[dict[str, Any]], None]


def values(wants: list[str], headers: Mapping[str, str]) -> list[str]:
    given = {**GIVEN, **{name.lower(): value for name, value in headers.items()}}
    return [given[name] for name in wants]


def spelled(text: str) -> dict[str, str]:
    ways = SPELLINGS | (ENCODINGS if len(text) >= 8 else {})
    return {name: way(text) for name, way in ways.items()}


def definitions() -> list[dict[str, Any]]:
    listed = [
        {
            "name": "repeat",
            "description": f"Repeats {FIRST}",
            "inputSchema": {"type": "object", "properties": {"wants": {"description": f"as {FIRST}"}}},
        }
    ]
    if FIRST:
        listed.append({"name": f"about_{FIRST}", "inputSchema": {"type": "object"}})
    return listed


def answer(message: dict[str, Any], headers: Mapping[str, str], tell: Tell) -> dict[str, Any]:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            told = {"name": "repeating", "version": f"1 {FIRST}"}
            capabilities = {"tools": {}, "logging": {}}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": told}
        case "tools/list":
            return {"tools": definitions()}
        case "tools/call":
            return call(params, headers, tell)
        case _:
            raise ValueError(" ".join(values(list(params.get("wants", [])), headers)))


def call(params: dict[str, Any], headers: Mapping[str, str], tell: Tell) -> dict[str, Any]:
    arguments = params.get("arguments") or {}
    found = values(arguments.get("wants", []), headers)
    for text in found:
        print(f"started with {text}", file=sys.stderr, flush=True)
    if arguments.get("fails"):
        raise ValueError(f"refused: {' '.join(found)}")
    token = (params.get("_meta") or {}).get("progressToken")
    for number, text in enumerate(found):
        if token is not None:
            about = {"progressToken": token, "progress": number + 1, "message": f"at {text}"}
            tell({"method": "notifications/progress", "params": about})
        tell({"method": "notifications/message", "params": {"level": "error", "data": {"a": [text]}}})
    parts = [{"type": "text", "text": form} for text in found for form in spelled(text).values()]
    numbers = [int(text) for text in found if text.isdecimal()]
    keys = dict.fromkeys(found, 1)
    return {"content": parts, "structuredContent": {"n": numbers, "keys": keys}, "isError": False}


def handle(message: dict[str, Any], headers: Mapping[str, str], tell: Tell) -> None:
    head = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        tell(head | {"result": answer(message, headers, tell)})
    except ValueError as problem:
        tell(head | {"error": {"code": -32000, "message": str(problem), "data": {"why": str(problem)}}})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any, **__: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(405, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        told: list[bytes] = []
        if "id" not in message:
            self.answer(202, b"")
            return
        if (message.get("params") or {}).get("name") == "refuse":
            said = "; ".join(f"{name}: {value}" for name, value in self.headers.items())
            self.answer(403, f"these headers are wrong: {said}".encode(), "text/plain")
            return

        def tell(frame: dict[str, Any]) -> None:
            told.append(b"data: " + json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n\n")

        handle(message, dict(self.headers.items()), tell)
        self.answer(200, b"".join(told), "text/event-stream")

    def answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def run_stdio() -> None:
    def tell(frame: dict[str, Any]) -> None:
        print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            handle(message, {}, tell)


def main() -> None:
    if "--fail" in FLAGS:
        sys.exit(f"cannot start with {' '.join([*ARGS, FIRST])}")
    if "--http" in FLAGS:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    else:
        run_stdio()


if __name__ == "__main__":
    main()
