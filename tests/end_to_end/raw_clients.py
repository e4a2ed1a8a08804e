"""MCP clients of both eras over HTTP that send what they are told and show every frame as it came."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

from edge.http_probe import INITIALIZE, JSON_HEADERS, MODERN_META
from waiting import until

# Only against a hang; nothing is asserted about it.
DEADLINE_S = 45.0

Raw = bytes | dict[str, Any] | None


def raw(value: Raw) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value or {}).encode()


class Answering:
    """One HTTP answer as it comes: a JSON body is one frame, a stream as many as there are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}

    async def read_head(self) -> None:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.headers.get("content-type") != "text/event-stream":
            yield await self._reader.readexactly(int(self.headers.get("content-length", "0")))
            return
        buffer = b""
        while True:
            size = int((await self._reader.readline()).strip() or b"0", 16)
            buffer += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
            while b"\n\n" in buffer:
                event, _, buffer = buffer.partition(b"\n\n")
                data = [line[6:] for line in event.split(b"\n") if line.startswith(b"data: ")]
                if any(data):
                    yield b"\n".join(data)
            if size == 0:
                return

    async def next(self) -> dict[str, Any]:
        """The next frame; the stream may be read on."""
        async with asyncio.timeout(DEADLINE_S):
            if not hasattr(self, "_frames"):
                self._frames = aiter(self)
            return json.loads(await anext(self._frames))

    async def until_method(self, method: str) -> dict[str, Any]:
        while (frame := await self.next()).get("method") != method:
            pass
        return frame

    async def all(self) -> list[bytes]:
        async with asyncio.timeout(DEADLINE_S):
            frames = [frame async for frame in self]
        await self.hang_up()
        return frames

    async def rest(self) -> bytes:
        """All bytes until the other side hangs up, as they came."""
        async with asyncio.timeout(DEADLINE_S):
            return await self._reader.read()

    async def hang_up(self) -> None:
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)


class _Client:
    def __init__(self, port: int, path: str) -> None:
        self.port = port
        self.path = path
        self.open: list[Answering] = []

    async def http(self, method: str, headers: dict[str, str], body: bytes = b"") -> Answering:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=64 * 1024 * 1024)
        sent = {"host": f"localhost:{self.port}", "content-length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        writer.write(f"{method} {self.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        await writer.drain()
        answering = Answering(reader, writer)
        self.open.append(answering)
        return answering

    async def send(self, method: str, params: Raw = None, rpc_id: bytes = b"1") -> Answering:
        raise NotImplementedError

    async def frames(self, method: str, params: Raw = None, rpc_id: bytes = b"1") -> list[bytes]:
        """All that came back for one request, the response last."""
        answering = await self.send(method, params, rpc_id)
        async with asyncio.timeout(DEADLINE_S):
            await answering.read_head()
        return await answering.all()

    async def request(self, method: str, params: Raw = None, rpc_id: bytes = b"1") -> dict[str, Any]:
        return json.loads((await self.frames(method, params, rpc_id))[-1])

    async def call(self, tool: str, arguments: Any = None, rpc_id: bytes = b"1") -> dict[str, Any]:
        return await self.request("tools/call", {"name": tool, "arguments": arguments or {}}, rpc_id)

    async def play(self, tool: str, *steps: dict[str, Any], rpc_id: bytes = b"1") -> dict[str, Any]:
        return await self.call(tool, {"steps": list(steps)}, rpc_id)

    async def names(self, method: str = "tools/list", member: str = "tools", key: str = "name") -> list[str]:
        return [entry[key] for entry in (await self.request(method))["result"][member]]

    async def until_names(self, is_so: Callable[[list[str]], bool], *listed: str) -> list[str]:
        """`listed`: what `names` takes."""

        async def shown() -> tuple[list[str]] | None:
            names = await self.names(*listed)
            return (names,) if is_so(names) else None  # an empty list may be what is waited for

        found = await until(shown)
        assert found is not None
        return found[0]

    async def names_of(self, *servers: str) -> list[str]:
        """Once all of them are in the list, which waits for a slow server only for a moment."""
        return await self.until_names(lambda names: {name.partition("__")[0] for name in names} == {*servers})

    async def hang_up(self) -> None:
        for answering in self.open:
            await answering.hang_up()


class LegacyClient(_Client):
    def __init__(
        self,
        port: int,
        path: str,
        capabilities: dict[str, Any] | None = None,
        info: dict[str, Any] | None = None,
        revision: str = "2025-11-25",
        token: str | None = None,
    ) -> None:
        super().__init__(port, path)
        self._token = token
        self.hello = INITIALIZE | {"capabilities": capabilities or {}, "protocolVersion": revision}
        if info is not None:
            self.hello["clientInfo"] = info
        self.session = ""
        self.introduced: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        answering = await self.send("initialize", self.hello)
        async with asyncio.timeout(DEADLINE_S):
            await answering.read_head()
        self.introduced = json.loads((await answering.all())[0])
        assert "mcp-session-id" in answering.headers, self.introduced
        self.session = answering.headers["mcp-session-id"]
        await self.notify("notifications/initialized")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hang_up()

    @property
    def headers(self) -> dict[str, str]:
        session = {"mcp-session-id": self.session} if self.session else {}
        token = {"authorization": f"Bearer {self._token}"} if self._token else {}
        return JSON_HEADERS | session | token

    async def post(self, body: bytes) -> Answering:
        return await self.http("POST", self.headers, body)

    async def send(self, method: str, params: Raw = None, rpc_id: bytes = b"1") -> Answering:
        body = b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}'
        return await self.post(body % (rpc_id, json.dumps(method).encode(), raw(params)))

    async def notify(self, method: str, params: Raw = None) -> None:
        body = b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (json.dumps(method).encode(), raw(params))
        answering = await self.post(body)
        await answering.read_head()
        assert answering.status == 202
        await answering.hang_up()

    async def respond(self, question: dict[str, Any], result: Raw) -> None:
        body = b'{"jsonrpc":"2.0","id":%b,"result":%b}'
        answering = await self.post(body % (json.dumps(question["id"]).encode(), raw(result)))
        await answering.read_head()
        assert answering.status == 202
        await answering.hang_up()

    async def listen(self) -> Answering:
        """The GET stream, open."""
        answering = await self.http("GET", self.headers | {"accept": "text/event-stream"})
        await answering.read_head()
        assert answering.status == 200
        return answering

    async def end(self) -> None:
        answering = await self.http("DELETE", self.headers)
        await answering.read_head()
        await answering.hang_up()


class ModernClient(_Client):
    def __init__(
        self, port: int, path: str, capabilities: dict[str, Any] | None = None, token: str | None = None
    ) -> None:
        super().__init__(port, path)
        self._token = {"authorization": f"Bearer {token}"} if token else {}
        self._meta = MODERN_META | {"io.modelcontextprotocol/clientCapabilities": capabilities or {}}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hang_up()

    async def send(self, method: str, params: Raw = None, rpc_id: bytes = b"1") -> Answering:
        """Raw params are sent as they are, and must have their `_meta`."""
        if not isinstance(params, bytes):
            params = dict(params or {})
            params["_meta"] = self._meta | params.get("_meta", {})
        said = json.loads(raw(params))
        headers = JSON_HEADERS | {"mcp-protocol-version": "2026-07-28", "mcp-method": method} | self._token
        name = said.get("uri") if method == "resources/read" else said.get("name")
        if name is not None:
            headers["mcp-name"] = name
        body = b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}'
        return await self.http("POST", headers, body % (rpc_id, json.dumps(method).encode(), raw(params)))
