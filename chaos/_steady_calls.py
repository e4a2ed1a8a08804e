"""Calls of several tools at a steady rate, over HTTP and over a pipe: which were answered, and how fast."""

import asyncio
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from _gateway import command
from _http import read_message, request

_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "steady", "version": "1"},
}
_EVERY_S = 0.005
_MAX_LINE_BYTES = 1024 * 1024


class Talk(Protocol):
    async def begin(self) -> None: ...

    async def ask(self, number: int, method: str, params: Mapping[str, Any]) -> bytes: ...

    async def end(self) -> None: ...


class HttpTalk:
    def __init__(self, port: int) -> None:
        self._port = port
        self._headers = dict(_HEADERS)

    async def begin(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        _, headers, _ = await self._post(message(0, "initialize", _HELLO))
        self._headers["Mcp-Session-Id"] = headers["mcp-session-id"]
        await self._post(message(None, "notifications/initialized", {}))

    async def ask(self, number: int, method: str, params: Mapping[str, Any]) -> bytes:
        return (await self._post(message(number, method, params)))[2]

    async def end(self) -> None:
        self._writer.close()

    async def _post(self, body: bytes) -> tuple[str, dict[str, str], bytes]:
        self._writer.write(request("POST", "/mcp", body, self._headers))
        return await read_message(self._reader)


class PipeTalk:
    """A program that speaks stdio: `callgate stdio`, which joins the gateway of that state folder."""

    def __init__(self, state: Path) -> None:
        self._state = state

    async def begin(self) -> None:
        program, environment = command(self._state, "stdio")
        self._process = await asyncio.create_subprocess_exec(
            *program, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment,
            cwd=self._state, limit=_MAX_LINE_BYTES,
        )  # fmt: skip
        await self.ask(0, "initialize", _HELLO)
        self._write(message(None, "notifications/initialized", {}))

    async def ask(self, number: int, method: str, params: Mapping[str, Any]) -> bytes:
        self._write(message(number, method, params))
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            if json.loads(line).get("id") == number:
                return line
        raise AssertionError("the pipe was closed")

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")


class SteadyCalls:
    def __init__(self, first_id: int, tools: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """`tools`: public names, each with its arguments."""
        self._ids = itertools.count(first_id)
        self._tools = tools
        self._due: asyncio.Queue[int] = asyncio.Queue()
        self.answered: list[int] = []
        self.failed: list[str] = []
        self.waits_ms: list[float] = []

    async def run(self, talks: Sequence[Talk], rate: float, seconds: float) -> None:
        clients = [asyncio.create_task(self._call(talk)) for talk in talks]
        begun, made = time.monotonic(), 0
        while time.monotonic() < begun + seconds:
            due = int((time.monotonic() - begun) * rate)
            for _ in range(due - made):
                self._due.put_nowait(next(self._ids))
            made = max(made, due)
            await asyncio.sleep(_EVERY_S)
        await self._due.join()
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    async def _call(self, talk: Talk) -> None:
        while True:
            number = await self._due.get()
            name, arguments = self._tools[number % len(self._tools)]
            begun = time.perf_counter()
            try:
                told = await talk.ask(number, "tools/call", {"name": name, "arguments": arguments})
                answer = json.loads(told)
                if "result" not in answer or answer["result"].get("isError"):
                    self.failed.append(f"{name}: {told[:300]!r}")
                self.answered.append(number)
            except Exception as problem:  # noqa: BLE001 - whatever it is, the call failed
                self.failed.append(f"{name}: {problem!r}")
            self.waits_ms.append((time.perf_counter() - begun) * 1000)
            self._due.task_done()


def message(number: int | None, method: str, params: Mapping[str, Any]) -> bytes:
    named = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(named if number is None else named | {"id": number}).encode()
