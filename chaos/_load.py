"""Clients of a gateway: calls at a steady rate over HTTP, each with its own id, and which were answered."""

import asyncio
import itertools
import json
import time
from typing import Any

from _http import read_message, request

_CONNECTIONS = 32
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_PROTOCOL = "2025-06-18"
_EVERY_S = 0.005


class Load:
    """Ids are numbers from `first_id` on; `text` is what each call sends and gets back."""

    def __init__(
        self,
        url: str,
        first_id: int,
        text: str = "alpha order customer price " * 10,
        credentials: dict[str, str] | None = None,
    ) -> None:
        self._port = int(url.rpartition(":")[2].partition("/")[0])
        self._path = f"/{url.split('/', 3)[3]}"
        self._text = text
        self._headers = _HEADERS | (credentials or {})
        self._ids = itertools.count(first_id)
        self._due: asyncio.Queue[int] = asyncio.Queue()
        self.answered: list[int] = []  # the reply was here, whole
        self.waits_ms: list[float] = []

    async def run(self, rate: float, seconds: float) -> None:
        """For so long, or until the gateway is gone. Every call of it is answered at the end, or never."""
        clients = [asyncio.create_task(self._call()) for _ in range(_CONNECTIONS)]
        begun, made = time.monotonic(), 0
        while time.monotonic() < begun + seconds and not all(client.done() for client in clients):
            due = int((time.monotonic() - begun) * rate)
            for _ in range(due - made):
                self._due.put_nowait(next(self._ids))
            made = max(made, due)
            await asyncio.sleep(_EVERY_S)
        if not all(client.done() for client in clients):
            waiting = asyncio.create_task(self._due.join())
            await asyncio.wait([waiting, *clients], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        for client in clients:
            client.cancel()
        for ended in await asyncio.gather(*clients, return_exceptions=True):
            if isinstance(ended, AssertionError):
                raise ended

    async def _call(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            headers = self._headers | {"MCP-Protocol-Version": _PROTOCOL}
            told = {"clientInfo": {"name": "chaos", "version": "1"}, "protocolVersion": _PROTOCOL}
            hello = _message(0, "initialize", told | {"capabilities": {}})
            writer.write(request("POST", self._path, hello, self._headers))
            _, answered, _ = await read_message(reader)
            headers["Mcp-Session-Id"] = answered["mcp-session-id"]
            writer.write(request("POST", self._path, _message(None, "notifications/initialized"), headers))
            await read_message(reader)
            while True:
                number = await self._due.get()
                begun = time.perf_counter()
                called = _message(number, "tools/call", {"name": "echo", "arguments": {"text": self._text}})
                writer.write(request("POST", self._path, called, headers))
                first, _, body = await read_message(reader)
                if " 200 " not in first or self._text.encode() not in body:
                    raise AssertionError(f"an odd reply: {first} {body[:300]!r}")
                self.answered.append(number)
                self.waits_ms.append((time.perf_counter() - begun) * 1000)
                self._due.task_done()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the gateway was killed: this call was not answered
        finally:
            writer.close()


def _message(number: int | None, method: str, params: dict[str, Any] | None = None) -> bytes:
    named = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return json.dumps(named if number is None else named | {"id": number}).encode()
