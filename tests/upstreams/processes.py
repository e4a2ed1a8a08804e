"""Looking at other processes through /proc."""

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from upstreams.heard import DEADLINE_S


def is_alive(pid: int) -> bool:
    """A zombie is dead: nobody but its parent can clear it away, and in a container that parent may not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def exists(pid: int) -> bool:
    """Zombies too: for our own children, which we must reap."""
    return Path(f"/proc/{pid}").exists()


def wait_gone(pids: Iterable[int]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while alive := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < deadline, f"still alive: {alive}"
        time.sleep(0.01)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not is_so():
            await asyncio.sleep(0.01)
