"""A plain HTTP client that shows the bytes: what a library would tidy up is what we want to see."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Self

MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "old", "version": "2"},
}
JSON_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[Any]:
        """The messages of an SSE body."""
        lines = self.body.decode().splitlines()
        return [
            json.loads(line.removeprefix("data: "))
            for line in lines
            if line.startswith("data: ") and line != "data: "
        ]


class HttpProbe:
    """One keep-alive connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hang_up()

    async def hang_up(self) -> None:
        assert self._writer is not None
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)

    def abort(self) -> None:
        """Hang up without flushing."""
        assert self._writer is not None
        self._writer.transport.abort()

    async def send(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)
        await self._writer.drain()

    async def request(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        await self.send_request(method, path, headers, body)
        return await self.answer(head_only=method == "HEAD")

    async def send_request(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> None:
        sent = {"host": f"localhost:{self._port}", "content-length": str(len(body))} | (headers or {})
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        await self.send(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)

    async def answer(self, head_only: bool = False) -> Answer:
        assert self._reader is not None
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while chunk := await self.read_chunk():
                body += chunk
        elif not head_only:
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(first.split()[1]), headers, body)

    async def read_until(self, end: bytes) -> bytes:
        assert self._reader is not None
        return await self._reader.readuntil(end)

    async def read_chunk(self) -> bytes:
        """The next chunk of a streamed answer; b"" is the last one."""
        assert self._reader is not None
        size = int((await self._reader.readline()).strip(), 16)
        chunk = await self._reader.readexactly(size)
        await self._reader.readexactly(2)
        return chunk

    async def post_message(self, message: Any, session: str | None = None) -> Answer:
        headers = dict(JSON_HEADERS) if session is None else JSON_HEADERS | {"mcp-session-id": session}
        return await self.request("POST", "/mcp", headers, json.dumps(message).encode())

    async def rest(self) -> bytes:
        """Everything until the other side hangs up."""
        assert self._reader is not None
        return await self._reader.read()

    async def modern(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Answer:
        await self.send_modern(method, params, **headers)
        return await self.answer()

    async def send_modern(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> None:
        sent = JSON_HEADERS | {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        params = {"_meta": MODERN_META, **(params or {})}
        if "name" in params:
            sent["mcp-name"] = params["name"]
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        await self.send_request("POST", "/mcp", sent, json.dumps(body).encode())

    async def legacy(
        self,
        method: str,
        params: Any = None,
        rpc_id: int | None = 1,
        session: str | None = None,
        **headers: str,
    ) -> Answer:
        await self.send_legacy(method, params, rpc_id, session, **headers)
        return await self.answer()

    async def send_legacy(
        self,
        method: str,
        params: Any = None,
        rpc_id: int | None = 1,
        session: str | None = None,
        **headers: str,
    ) -> None:
        sent = dict(JSON_HEADERS)
        if session is not None:
            sent["mcp-session-id"] = session
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if rpc_id is not None:
            body["id"] = rpc_id
        if params is not None:
            body["params"] = params
        await self.send_request("POST", "/mcp", sent, json.dumps(body).encode())

    async def initialize(self, **headers: str) -> str:
        """Shakes hands; returns the session's id."""
        answer = await self.legacy("initialize", INITIALIZE, rpc_id=1, **headers)
        assert answer.status == 200, answer
        return answer.headers["mcp-session-id"]


async def is_refused(port: int) -> bool:
    """Nobody listens there (any more)."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionError:  # refused, or reset while it closes
        return True
    writer.close()
    return False
