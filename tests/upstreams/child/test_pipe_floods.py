"""A stdio server that writes as fast as it can, and the others that share the loop with it."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import pytest
from upstreams.heard import DEADLINE_S, Heard

from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand

FLOOD = Path(__file__).parents[1] / "servers" / "wide_flood.py"
BLOCKS, FRAMES_EACH, FRAME_BYTES = 32, 1024, 1020


@pytest.mark.parametrize("pipe", ["narrow", "wide"])
async def test_a_flood_gets_one_read_in_each_turn_of_the_loop(pipe: str, heard: Heard) -> None:
    """uvloop would read the same pipe up to 32 times before it looks at another."""
    command = ChildCommand("files", sys.executable, ("-I", "-S", str(FLOOD), str(BLOCKS), pipe))
    child = ChildTransport(command, heard)
    loop = asyncio.get_running_loop()
    by_turn: Counter[int] = Counter()
    turn = 0

    def tick() -> None:
        nonlocal turn
        turn += 1
        ticking[0] = loop.call_soon(tick)

    def received(frame: bytes) -> None:
        by_turn[turn] += len(frame)

    heard.when_received = received
    ticking = [loop.call_soon(tick)]
    await child.start()
    async with asyncio.timeout(DEADLINE_S):
        await heard.frame(BLOCKS * FRAMES_EACH - 1)
    ticking[0].cancel()
    await child.close()
    assert by_turn.total() == BLOCKS * FRAMES_EACH * FRAME_BYTES, "and nothing is lost by waiting"
    assert max(by_turn.values()) <= 512 * 1024
