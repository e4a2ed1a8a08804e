"""Clients of both eras that call again and again while replicas come and go: two of SDKs, two raw ones.

The Python SDK 1.x (`py1`) does not recover from a 404, so it shows whether its session went on.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Self

from bridge.driver_process import ServerRefusedError
from bridge.matrix_stage import MatrixStage
from bridge.seat import CLIENTS, Seat
from bridge.upstream_servers import UPSTREAMS
from end_to_end.raw_clients import LegacyClient, ModernClient
from waiting import until

from replicas.fleet import Fleet

NEXT = (sys.executable, str(Path(__file__).with_name("next_version.py")))
NEXT_VERSION = "99.0.0"
SERVER = "legacy-stdio"
_PAUSE_S = 0.02  # so that the machine has time for what is tried


class Load:
    def __init__(self, stage: MatrixStage, fleet: Fleet) -> None:
        self._stage = stage
        self._raw = (fleet.client(), fleet.modern())
        self._seats: list[Seat] = []
        self.callers: list[asyncio.Task[None]] = []
        self.answered = 0
        self.failed: list[str] = []

    async def __aenter__(self) -> Self:
        for name in ("py1", "py2-auto"):
            seats = await self._stage.seats_of_own(CLIENTS[name], "http", [UPSTREAMS[SERVER]])
            self._seats += seats
        calls: list[Callable[[], Awaitable[str]]] = [partial(_said, seat) for seat in self._seats]
        for client in self._raw:
            await client.__aenter__()
            calls.append(partial(_answered, client))
        self.callers = [asyncio.create_task(self._call_again_and_again(call)) for call in calls]
        await self.more()
        return self

    async def __aexit__(self, *_: object) -> None:
        for caller in self.callers:
            caller.cancel()
        await asyncio.wait(self.callers)
        for client in self._raw:
            await client.__aexit__()
        for seat in self._seats:
            await seat.do("close")

    async def more(self) -> None:
        """Waits for some more answers."""
        wanted = self.answered + 5 * len(self.callers)
        await until(lambda: self.answered >= wanted)

    async def _call_again_and_again(self, call: Callable[[], Awaitable[str]]) -> None:
        while True:
            problem = await call()
            self.answered += 1
            self.failed += [problem] if problem else []
            await asyncio.sleep(_PAUSE_S)


async def _said(seat: Seat) -> str:
    """What was wrong with it."""
    try:
        assert await seat.said("echo", text="still there") == "still there"
    except (ServerRefusedError, AssertionError, TimeoutError) as problem:
        return f"{seat.client.name}: {problem!r} {getattr(problem, 'data', '')}"
    return ""


async def _answered(client: LegacyClient | ModernClient) -> str:
    params = {"name": f"{SERVER}__echo", "arguments": {"text": "x"}}
    answering = await client.send("tools/call", params)
    await answering.read_head()
    frames = await answering.all()
    is_good = answering.status == 200 and frames and b'"result"' in frames[-1]
    return "" if is_good else f"{answering.status} {answering.headers} {frames}"
