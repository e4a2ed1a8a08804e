"""A gateway that starts children and waits to be killed: `doomed_gateway.py <asyncio|uvloop> [instruction…]`.

lose-warden        its warden is killed after the first child
release <pid>      a group is announced and withdrawn again
Prints one JSON object with every process it answers for.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))

from upstreams.heard import Heard

from callgate.upstreams.child import ChildTransport
from callgate.upstreams.child_command import ChildCommand
from callgate.upstreams.warden import Warden

SERVERS = Path(__file__).parent / "servers"


async def start(warden: Warden, program: str, *args: str) -> tuple[ChildTransport, Heard]:
    heard = Heard()
    command = ChildCommand("doomed", sys.executable, ("-I", "-S", str(SERVERS / program), *args))
    child = ChildTransport(command, heard, warden=warden)
    await child.start()
    return child, heard


async def main(instructions: list[str]) -> None:
    warden = Warden()
    hanger, _ = await start(warden, "hanger.py")
    if "lose-warden" in instructions:
        assert warden.pid is not None
        os.kill(warden.pid, signal.SIGKILL)
        os.waitid(os.P_PID, warden.pid, os.WEXITED | os.WNOWAIT)  # from here on a write fails
    if "release" in instructions:
        spared = int(instructions[instructions.index("release") + 1])
        warden.watch(spared)
        warden.release(spared)
    stubborn, heard = await start(warden, "stubborn.py", "grandchild")
    launcher, launched = await start(warden, "launcher.py", "wait", "stubborn.py")
    pids = [hanger.pid, stubborn.pid, launcher.pid]
    pids += json.loads(await heard.frame()) + json.loads(await launched.frame())
    await launched.frame(1)
    print(json.dumps({"warden": warden.pid, "children": pids}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    (uvloop.run if sys.argv[1] == "uvloop" else asyncio.run)(main(sys.argv[2:]))
