"""A program that we start does not learn what we know."""

import asyncio
import os
import sys
from pathlib import Path

from end_to_end.gateway_process import CALLGATE, running_gateway

CURIOUS = Path(__file__).parent / "servers" / "curious.py"
DEADLINE_S = 30.0  # only against a hang
# Root may look at every process. Without its capabilities it is an account like any other.
ORDINARY = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


async def test_a_child_cannot_read_the_environment_of_the_gateway(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    server = f"command = {sys.executable!r}\nargs = [{str(CURIOUS)!r}, {str(seen)!r}]"
    (tmp_path / "callgate.toml").write_text(f"version = 1\n[mcpServers.curious]\n{server}\n")
    async with (
        asyncio.timeout(DEADLINE_S),
        running_gateway(tmp_path, command=[*ORDINARY, *CALLGATE], SHOP_PASSWORD="s3cret-4711"),
    ):
        while not seen.exists():
            await asyncio.sleep(0.01)
    assert seen.read_bytes() == b"denied: Permission denied"
