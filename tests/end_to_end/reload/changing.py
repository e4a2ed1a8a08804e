"""A running gateway whose file changes: written by a test, and read again at once."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from end_to_end.gateway_process import GatewayProcess, running_gateway

COUNTING = Path(__file__).parents[3] / "chaos" / "_counting_server.py"
SLOW = Path(__file__).parent / "slow_server.py"


@dataclass
class Changing:
    gateway: GatewayProcess
    file: Path

    async def write(self, text: str) -> dict[str, Any]:
        """Writes it, has it read, and returns what came of it."""
        self.file.write_text(f"version = 1\n{text}")
        return await self.reload()

    async def reload(self) -> dict[str, Any]:
        return await self.post("/api/v1/reload", {})

    async def post(self, path: str, body: Any, **headers: str) -> Any:
        url = self.gateway.announced["url"] + path
        return await asyncio.to_thread(post, url, json.dumps(body).encode(), headers)

    async def servers(self) -> dict[str, Any]:
        return {one["name"]: one for one in (await self.gateway.get("/api/v1/servers"))["servers"]}


def post(url: str, body: bytes, headers: dict[str, str]) -> Any:
    try:
        with urlopen(
            Request(url, body, {"Content-Type": "application/json", **headers}), timeout=60
        ) as answer:
            return json.load(answer)
    except HTTPError as problem:
        with problem:
            return json.load(problem)


@asynccontextmanager
async def changing_gateway(state: Path, text: str = "", *arguments: str) -> AsyncIterator[Changing]:
    file = state / "callgate.toml"
    file.write_text(f"version = 1\n{text}")
    async with running_gateway(state, "--port", "0", *arguments) as gateway:
        yield Changing(gateway, file)


def child(name: str, tool: str = "count", more: str = "", program: Path = COUNTING) -> str:
    arguments = json.dumps(["-I", "-S", str(program), tool])
    return f"[mcpServers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {arguments}\n{more}\n"
