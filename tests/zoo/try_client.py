"""One client: its driver against server-everything directly, twice, then on every way through one gateway.

Behind the gateway stands a second server, so that /mcp is a mixture. `callgate stdio` joins that gateway.
"""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.compare import Comparison, compare
from zoo.install import CLIENTS, Installed
from zoo.manifest import HERE, Client, Json
from zoo.results import Result
from zoo.stand import QUIET, Stand, gateway_before, stdio_command
from zoo.try_server import as_json

WAYS = ("/mcp", "/servers/x/mcp", "stdio")
DRIVER_TIMEOUT_S = 150.0  # a hang detector: some of them import for ten seconds
# So that it can be seen that what was started for a client ends after it.
SHORT_PATIENCE = ("child_grace_s = 1.0", "child_idle_s = 10.0")
GRACE_S = 60.0  # for a gateway to end what a client that is gone had to itself
SCRUB = (r"127\.0\.0\.1:\d+", r"localhost:\d+", r"0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Driver:
    client: Client
    installed: Installed
    home: Path

    async def run(self, target: Json, prefix: str, silent: Sequence[bool]) -> list[dict[str, Any]]:
        """What it saw on each connection. `silent`: of each whether it declares nothing."""
        jobs = [
            {"target": target, "prefix": prefix, "silent": each, "options": self.client.options}
            for each in silent
        ]
        if self.client.go or self.client.rust:
            return [(await self._run(job, 1))[0] for job in jobs]
        return await self._run(jobs, len(jobs))

    async def _run(self, jobs: Any, count: int) -> list[dict[str, Any]]:
        path = f"{self.installed.bin}:{os.environ['PATH']}"
        environment = {"PATH": path, "HOME": str(self.home), **QUIET, "LANG": "C.UTF-8"}
        if self.client.npm and self.client.driver.endswith(".py"):
            environment["PYTHONPATH"] = str(HERE.parent)  # it runs in our own environment
        process = await asyncio.create_subprocess_exec(
            *self._command(), json.dumps(jobs), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment, cwd=self.home,
            limit=64 * 1024 * 1024,
        )  # fmt: skip
        try:
            said, wrong = await asyncio.wait_for(process.communicate(), DRIVER_TIMEOUT_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            return [{"connection": {"raised": f"not done after {DRIVER_TIMEOUT_S:.0f} s"}}] * count
        lines = [line for line in said.decode(errors="replace").splitlines() if line.startswith('{"seen"')]
        if len(lines) >= count:
            return [json.loads(line)["seen"] for line in lines[-count:]]
        words = " ".join(wrong.decode(errors="replace").split())
        problem = f"the driver ended with {process.returncode}: {words[-400:]}"
        return [{"connection": {"raised": problem}}] * count

    def _command(self) -> list[str]:
        client = self.client
        if client.go or client.rust:
            return [str(self.installed.bin / client.driver)]
        driver = str(CLIENTS / client.driver)
        if driver.endswith(".mjs"):
            # A module finds its packages from where it lies.
            for name in ("driving.mjs", client.driver):
                shutil.copy(CLIENTS / name, self.installed.folder)
            return ["node", str(self.installed.folder / client.driver)]
        return [sys.executable if client.npm else str(self.installed.bin / "python"), driver]


async def try_client(
    client: Client,
    installed: Installed,
    everything: Stand,
    other: Stand,
    ways: tuple[str, ...] = WAYS,
    *,
    is_steady: bool = False,
) -> Result:
    """`is_steady`: as of `try_server`."""
    result = Result(client.name, client.version)
    everything.make_anew()
    other.make_anew()
    home = everything.folder / "home"
    driver = Driver(client, installed, home)
    direct = {"command": everything.command, "env": everything.environment, "cwd": str(everything.work)}
    first = await _pass(driver, direct, "")
    if "connection" in first:
        everything.kill()
        result.problem = f"does not work directly: {first['connection']['raised']}"
        return result
    second = first if is_steady else await _pass(driver, direct, "")
    everything.kill()
    result.calls = len(first)
    found: dict[str, Comparison] = {}
    config = everything.config(other, server=SHORT_PATIENCE)
    state = everything.folder / "gateway"
    async with gateway_before(config, state, everything.said) as gateway:
        standing = len(everything.processes() | other.processes())
        for way in ways:
            if way in client.skip:
                continue
            name = everything.server.name
            url = f"/servers/{name}/mcp" if way == "/servers/x/mcp" else "/mcp"
            target: Json = {"url": gateway.announced["url"] + url}
            if way == "stdio":
                command, environment = stdio_command(config, state)
                target = {"command": command, "env": environment, "cwd": str(state)}
            prefix = "" if way == "/servers/x/mcp" else f"{name}__"
            seen = _unprefixed(await _pass(driver, target, prefix), prefix, other.server.name)
            found[way] = compare(first, second, seen, SCRUB)
        stays = await _stays(standing, everything, other)
    left = [*stays, *await everything.left_behind(), *await other.left_behind()]
    for way, comparison in found.items():
        result.ways[way] = as_json(comparison, left)
    return result


async def _pass(driver: Driver, target: Json, prefix: str) -> dict[str, Any]:
    """First without declaring anything, under the same name: what it then sees must not depend on that."""
    if not driver.client.silent:
        return (await driver.run(target, prefix, [False]))[0]
    quiet, seen = await driver.run(target, prefix, [True, False])
    return {f"{step}, nothing declared": value for step, value in quiet.items()} | seen


async def _stays(standing: int, *stands: Stand) -> list[str]:
    """What is there beside the servers' shared processes when the client is gone for a while."""

    def count() -> int:
        return len(set().union(*(stand.processes() for stand in stands)))

    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            while count() > standing:
                await asyncio.sleep(0.1)
    more = count() - standing
    return [f"{more} processes of a client that is gone"] if more > 0 else []


def _unprefixed(seen: dict[str, Any], prefix: str, other: str) -> dict[str, Any]:
    """As it would be without the server's name, and without the other server's tools."""
    if not prefix:
        return seen
    kept = {step: _without(value, other) for step, value in seen.items()}
    return json.loads(json.dumps(kept, ensure_ascii=False).replace(prefix, ""))


def _without(value: Any, other: str) -> Any:
    """Some clients make Python names of all names."""
    if isinstance(value, list):
        return [each for each in value if f"{other}__" not in json.dumps(each).replace("-", "_")]
    return value
