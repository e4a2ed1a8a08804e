"""A client of one SDK as a child process, and its links: what a test tells it, and what comes back."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CLIENTS = HERE / "clients"
DEADLINE_S = 30.0  # only against a hang; nothing is asserted about it
Json = dict[str, Any]


class ServerRefusedError(Exception):
    """What the client got instead of a result: the server's own error, or 0 and the SDK's words."""

    def __init__(self, error: Json) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class DriverProcess:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._orders = count(1)
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            waiting = self._waiting.pop(said["id"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result(said)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError("the client's process has ended"))

    async def order(self, link: str, what: str, **more: Any) -> Any:
        order_id = next(self._orders)
        answer = self._waiting[order_id] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        line = {"id": order_id, "link": link, "do": what, **more}
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        async with asyncio.timeout(DEADLINE_S):
            said = await answer
        if "error" in said:
            raise ServerRefusedError(said["error"])
        return said["result"]

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), DEADLINE_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._reading


@asynccontextmanager
async def running_driver(*command: str, packages: Path | None = None) -> AsyncIterator[DriverProcess]:
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    if packages is not None:
        environment["PYTHONPATH"] = str(packages)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment,
        limit=16 * 1024 * 1024,
    )  # fmt: skip
    driver = DriverProcess(process)
    try:
        yield driver
    finally:
        await driver.end()


def sdk1_python() -> list[str]:
    """`-S`: nothing of our own environment, above all not its other `mcp`."""
    return [sys.executable, "-S", str(CLIENTS / "sdk1_driver.py")]


def sdk2_python() -> list[str]:
    return [sys.executable, str(CLIENTS / "sdk2_driver.py")]


def typescript(node: Path, modules: Path, sdk: str) -> list[str]:
    return [str(node), str(CLIENTS / "driver.mjs"), str(modules.parent), sdk]
