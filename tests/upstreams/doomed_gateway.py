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

from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.openers import OwnChildOpener

SERVERS = Path(__file__).parent / "servers"


def command_of(program: str, *args: str) -> ChildCommand:
    return ChildCommand("doomed", sys.executable, ("-I", "-S", str(SERVERS / program), *args))


async def start(warden: Warden, program: str, *args: str) -> tuple[ChildTransport, Heard]:
    heard = Heard()
    child = ChildTransport(command_of(program, *args), heard, warden=warden)
    await child.start()
    return child, heard


async def own_and_spare(warden: Warden) -> list[int | None]:
    opener = OwnChildOpener(command_of("stubborn.py"), warden)
    opener.spare.take()  # a client before this one: a spare is kept from the second on
    opened = await opener(Heard(), None)
    await opened.transport.start()
    while opener.spare.pid is None:
        await asyncio.sleep(0.01)
    assert isinstance(opened.transport, ChildTransport)
    return [opened.transport.pid, opener.spare.pid]


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
    pids = [hanger.pid, stubborn.pid, launcher.pid, *await own_and_spare(warden)]
    pids += json.loads(await heard.frame()) + json.loads(await launched.frame())
    await launched.frame(1)
    print(json.dumps({"warden": warden.pid, "children": pids}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    (uvloop.run if sys.argv[1] == "uvloop" else asyncio.run)(main(sys.argv[2:]))
