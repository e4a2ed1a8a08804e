"""A hostile program in a sandbox, in Python and in Node: every way out is refused.

Each attempt is also made without a sandbox, where it must succeed: else its refusal would show nothing.
"""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sandbox.stage import HERE, hostile_stage

from callgate.sandbox.kernel import kernel_abilities

pytestmark = pytest.mark.skipif(bool(kernel_abilities().obstacle), reason=kernel_abilities().obstacle)

PYTHON = [sys.executable, "-I", "-S", str(HERE / "hostile.py")]
NODE = ["node", str(HERE / "hostile.mjs")]
# What fails without a sandbox too, as its user or this machine wills: here the sandbox's own answer counts.
REFUSED_ANYWAY = {
    "type into a terminal": "Operation not permitted",  # there is none
    "open a vsock": "Permission denied",
    "load a BPF program": "Operation not permitted",
    "watch performance": "Operation not permitted",
    "handle page faults": "Operation not permitted",
    "open a raw socket": "Permission denied",
    "open a packet socket": "Permission denied",
    "mount a folder over another": "Operation not permitted",
    "make a user namespace": "Operation not permitted",
    "make a namespace with clone": "Operation not permitted",
    "change the root": "Operation not permitted",
    "trace the gateway": "Operation not permitted",
    "read the gateway's memory": "Operation not permitted",
    "compare with the gateway": "Operation not permitted",
    "mark a file outside": "Operation not permitted",
    "change the flags of what it may read": "Operation not permitted",
    "make what it may read unchangeable": "Operation not permitted",
    "make an io_uring": "Function not implemented",
    "hold capabilities": "no capability is held",
    "read /etc/shadow": "Permission denied",
    "use inherited descriptors": "none but 0, 1 and 2",
    "call as an i386 program": "killed by signal 31",
}

OWNER_OF_A_PIPE = """
import fcntl, json, os, signal, sys
stage = json.loads(sys.argv[1])
reading, writing = os.pipe()
fcntl.fcntl(reading, fcntl.F_SETOWN, stage["listener"])
fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGUSR1)
fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(writing, b"x")
print("{}", flush=True)
"""


async def outcomes(folder: Path, program: list[str], **told: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    with hostile_stage(folder / "confined") as stage:
        confined = await stage.run(program, stage.sandbox(), **told)
        assert Path(stage.told["secret"]).read_text() == "a private key"
        assert (stage.folder / "outside/theirs").read_text() == "theirs"
        assert sorted(path.name for path in (stage.folder / "outside").iterdir()) == ["spare", "theirs"]
    with hostile_stage(folder / "free") as stage:
        return confined, await stage.run(program, None)


async def test_every_attempt_of_a_python_program_is_refused(tmp_path: Path) -> None:
    confined, free = await outcomes(tmp_path, PYTHON, again=True)
    again = confined.pop("again")
    assert len(confined) >= 50
    assert set(again) == set(confined)
    for name, what in (*confined.items(), *again.items()):
        assert what != "done", f"{name}: it worked"
        assert what == REFUSED_ANYWAY.get(name, what), name
    assert {name: what for name, what in free.items() if what != "done" and name not in REFUSED_ANYWAY} == {}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
async def test_every_attempt_of_a_node_program_is_refused(tmp_path: Path) -> None:
    confined, free = await outcomes(tmp_path, NODE)
    assert [name for name, what in confined.items() if what == "done"] == []
    assert {name: what for name, what in free.items() if what != "done" and name not in REFUSED_ANYWAY} == {}


async def test_a_program_with_a_network_has_tcp_and_udp_and_nothing_else(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        confined = await stage.run(PYTHON, stage.sandbox(network=True))
    allowed = {name for name, what in confined.items() if what == "done"}
    assert allowed == {
        "connect by TCP",
        "send by UDP",
        "connect by TCP over IPv6",
        "send by UDP over IPv6",
        "listen",
        "open a netlink socket",
    }, json.dumps(confined, indent=1)


@pytest.mark.skipif(bool(kernel_abilities().gaps), reason=kernel_abilities().gaps)
async def test_the_owner_of_a_pipe_that_is_another_process_gets_no_signal(tmp_path: Path) -> None:
    program = [sys.executable, "-I", "-S", "-c", OWNER_OF_A_PIPE]
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])  # so that one that comes is seen: it waits
    try:
        listener = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    with listener, hostile_stage(tmp_path) as stage:
        await stage.run(program, stage.sandbox(), listener=listener.pid)
        confined = waiting_signals(listener.pid)
        await stage.run(program, None, listener=listener.pid)
        assert (confined, waiting_signals(listener.pid)) == (0, 1 << (signal.SIGUSR1 - 1))


def waiting_signals(pid: int) -> int:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["ShdPnd"], 16)
