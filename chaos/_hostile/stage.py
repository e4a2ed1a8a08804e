"""One scenario on a gateway of its own, beside an honest client: what it cost, and what did not hold."""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _gateway import running_gateway

from _hostile.meter import Meter
from _hostile.scenario import Scenario, Scene

_HERE = Path(__file__).parent
TOKEN = "a-token-of-an-honest-client-7f3a9c"
# A scenario ends by itself; this is for one that does not.
_DEADLINE_S = 180.0


@dataclass
class Result:
    scenario: Scenario
    cpu_s: float
    memory_mib: float
    longest_ms: float
    p99_ms: float
    broken: list[str]  # what did not hold, bounds included

    @property
    def held(self) -> bool:
        return not self.broken


class _Neighbour:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def told(self) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        return json.loads(await self._process.stdout.readline() or b"{}")


@asynccontextmanager
async def program(path: Path, *arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A script of ours and the first line it prints. Ended at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(path), *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield process, (await process.stdout.readline()).decode().strip()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def run(scenario: Scenario, *, is_short: bool, with_times: bool = True) -> Result:
    """`with_times`: whether CPU and waiting count. They do not where the machine is shared."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _, echo = await stack.enter_async_context(program(_HERE.parent / "_upstream.py"))
        token = TOKEN if scenario.has_token else None
        extra, served = await stack.enter_async_context(scenario.upstream(folder, 0.1 if is_short else 1.0))
        gateway = await stack.enter_async_context(
            running_gateway(folder, echo, extra=extra, token=token, descriptors=scenario.descriptors)
        )
        process, ready = await stack.enter_async_context(
            program(_HERE / "neighbour.py", str(gateway.port), TOKEN)
        )
        if ready != "ready":
            raise AssertionError(f"no neighbour: {ready!r}")
        # What the first row and the first reader of the record load belongs to no attack.
        await gateway.ask("SELECT count(*) FROM rpc_events")
        scene = Scene(gateway, folder, is_short, served)
        meter = Meter(gateway.process.pid)
        meter.start()
        try:
            async with asyncio.timeout(_DEADLINE_S):
                await scenario.attack(scene)
        except TimeoutError:
            scene.broken.append(f"not done after {_DEADLINE_S:g} s")
        told = await _Neighbour(process).told()
        if gateway.process.returncode is not None:
            scene.broken.append(f"the gateway ended with {gateway.process.returncode}")
            return Result(scenario, 0, 0, 0, 0, scene.broken)
        cpu_s, memory_mib = meter.stop()
        result = Result(
            scenario, cpu_s, memory_mib, told.get("longest_ms", 0), told.get("p99_ms", 0), scene.broken
        )
        if not told or told["failures"]:
            result.broken.append(f"an honest client failed: {told.get('failures', 'it ended')}")
        log = (folder / "stderr.log").read_text()
        if "Traceback" in log:
            result.broken.append(f"a traceback in the log: {log[log.index('Traceback') :][-600:]}")
    times = (result.cpu_s, result.longest_ms) if with_times else (0.0, 0.0)
    result.broken += scenario.bound.broken_by(times[0], result.memory_mib, times[1])
    return result
