"""Raw connections of a hostile client, and the few honest messages that an attack begins with."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

ECHO = "/servers/echo/mcp"
HURT = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
# What an attacker gets when the gateway hangs up on it.
_PATIENCE_S = 20.0
_LIMIT_BYTES = 64 * 1024 * 1024
_JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "attacker", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


class Door(Protocol):
    """Where to attack: a gateway, or what is known of one."""

    @property
    def port(self) -> int: ...

    @property
    def credentials(self) -> dict[str, str]: ...


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The message; of a stream the last one."""
        if self.headers.get("content-type") == "text/event-stream":
            events = [line[6:] for line in self.body.split(b"\n") if line.startswith(b"data: ")]
            return json.loads(events[-1])
        return json.loads(self.body)


class Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> bool:
        """False when the other side hung up."""
        try:
            self.writer.write(data)
            await asyncio.wait_for(self.writer.drain(), _PATIENCE_S)
        except (TimeoutError, *HURT):
            return False
        return not self.writer.is_closing()

    async def send_pieces(self, data: bytes, chance: Random) -> None:
        """Cut at a few random places, each piece a packet of its own."""
        cuts = sorted(chance.sample(range(1, len(data)), 5))
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if not await self.send(data[start:end]):
                return
            await asyncio.sleep(0.003)  # so that the kernel does not join them again

    async def answer(self) -> Answer | None:
        """None when there is none: hung up, or nothing for a long time."""
        try:
            return await asyncio.wait_for(self._answer(), _PATIENCE_S)
        except (TimeoutError, ValueError, *HURT):
            return None

    async def _answer(self) -> Answer:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        status = int(first.split()[1])
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            pieces: list[bytes] = []
            while size := int((await self.reader.readline()).strip() or b"0", 16):
                pieces.append((await self.reader.readexactly(size + 2))[:-2])
            await self.reader.readexactly(2)
            body = b"".join(pieces)
        elif status >= 200:
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(status, headers, body)

    async def answers(self) -> list[Answer]:
        """All until the gateway hangs up."""
        found: list[Answer] = []
        while (answer := await self.answer()) is not None:
            found.append(answer)
        return found

    def hang_up(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def wire(gateway: Door) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port, limit=_LIMIT_BYTES)
    one = Wire(reader, writer)
    try:
        yield one
    finally:
        one.hang_up()
        with suppress(*HURT):
            await writer.wait_closed()


def head(method: str, path: str, headers: dict[str, str]) -> bytes:
    spelled = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{spelled}\r\n".encode("latin-1")


def post(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    return head("POST", path, _JSON | headers | {"Content-Length": str(len(body))}) + body


def chunked_head(path: str, headers: dict[str, str]) -> bytes:
    return head("POST", path, _JSON | headers | {"Transfer-Encoding": "chunked"})


def message(method: str, params: Any = None, rpc_id: Any = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params or {}}).encode()


def call(tool: str, arguments: Any, rpc_id: Any = 1) -> bytes:
    return message("tools/call", {"name": tool, "arguments": arguments}, rpc_id)


async def initialize(
    one: Wire, gateway: Door, path: str = ECHO, revision: str = "2025-06-18"
) -> dict[str, str]:
    """The headers that all further requests of this session need."""
    told = {"clientInfo": {"name": "attacker", "version": "1"}, "protocolVersion": revision}
    hello = message("initialize", told | {"capabilities": {}}, 0)
    await one.send(post(path, hello, gateway.credentials))
    opened = await one.answer()
    if opened is None or "mcp-session-id" not in opened.headers:
        raise AssertionError(f"no session for an attacker: {opened}")
    headers = gateway.credentials | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    await one.send(post(path, b'{"jsonrpc":"2.0","method":"notifications/initialized"}', headers))
    await one.answer()
    return headers


async def ask(gateway: Door, body: bytes, path: str = ECHO) -> Answer | None:
    """One legacy request on a session of its own; its answer."""
    async with wire(gateway) as one:
        headers = await initialize(one, gateway, path)
        await one.send(post(path, body, headers))
        return await one.answer()


async def ask_modern(gateway: Door, path: str, tool: str, arguments: Any, **more: Any) -> Answer | None:
    """One call of 2026-07-28."""
    params = {"name": tool, "arguments": arguments, "_meta": _MODERN_META, **more}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    async with wire(gateway) as one:
        await one.send(post(path, message("tools/call", params), gateway.credentials | headers))
        return await one.answer()
