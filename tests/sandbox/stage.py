"""What a hostile program is let loose on: a home, our state, a process that stands for the gateway."""

import asyncio
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upstreams.heard import DEADLINE_S, Heard

from callgate.sandbox.confine import Sandbox
from callgate.sandbox.reach import Guarded
from callgate.sandbox.syscall_numbers import MACHINES
from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand

HERE = Path(__file__).parent


@dataclass
class Stage:
    folder: Path
    told: dict[str, Any]

    @property
    def guarded(self) -> Guarded:
        state, home, code = (self.folder / name for name in ("state", "home", "code"))
        return Guarded(state, home, (self.folder / "file" / "callgate.toml",), (code,))

    def sandbox(self, **more: Any) -> Sandbox:
        settings: dict[str, Any] = {"writes": (self.folder / "work",), "network": False}
        return Sandbox(self.folder / "state" / "sandbox" / "files", self.guarded, **settings | more)

    async def run(self, program: list[str], sandbox: Sandbox | None, **told: Any) -> Any:
        """What the program says on its one line."""
        heard = Heard()
        command = ChildCommand(
            "files", program[0], (*program[1:], json.dumps(self.told | told)), sandbox=sandbox
        )
        child = ChildTransport(command, heard)
        await child.start()
        try:
            async with asyncio.timeout(DEADLINE_S):
                return json.loads(await heard.frame())
        finally:
            await child.close()


@contextmanager
def hostile_stage(folder: Path) -> Iterator[Stage]:
    texts = {
        "home/.ssh/id_ed25519": "a private key",
        "state/state.key": "a key of ours",
        "file/callgate.toml": "version = 1",
        "code/inner/callgate.py": "code of ours",
        "outside/theirs": "theirs",
        "outside/spare": "theirs",
        "work/readme": "hello",
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with ExitStack() as stack:
        # Inheritable on purpose: an exec that closes nothing would hand it to the program.
        inheritable = os.open(folder / "home/.ssh/id_ed25519", os.O_RDONLY)
        stack.callback(os.close, inheritable)
        os.set_inheritable(inheritable, True)
        victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"TOKEN": "secret"},
        )
        stack.callback(victim.communicate)
        assert victim.stdout is not None
        victim.stdout.readline()
        maps = Path(f"/proc/{victim.pid}/maps").read_text()
        ip4, ip6 = (
            _listeners(stack, *place) for place in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
        )
        named = folder / "gateway.sock"
        abstract = f"callgate-test-{victim.pid}"
        for address in (str(named), f"\0{abstract}"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen(16)
        datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        datagrams.bind(str(folder / "datagrams.sock"))
        tmp, shm = (
            stack.enter_context(tempfile.NamedTemporaryFile(dir=place)) for place in ("/tmp", "/dev/shm")
        )
        yield Stage(
            folder,
            {
                "home": str(folder / "home"),
                "secret": str(folder / "home/.ssh/id_ed25519"),
                "state_key": str(folder / "state/state.key"),
                "file": str(folder / "file/callgate.toml"),
                "outside": str(folder / "outside"),
                "work": str(folder / "work"),
                "pid": victim.pid,
                "address": int(maps.partition("-")[0], 16),
                "numbers": dict(MACHINES[platform.machine()].numbers),
                "ip4": ip4,
                "ip6": ip6,
                "socket": str(named),
                "datagrams": str(folder / "datagrams.sock"),
                "abstract": abstract,
                "tmp": tmp.name,
                "shm": shm.name,
            },
        )


def _listeners(stack: ExitStack, family: int, host: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in ("SOCK_STREAM", "SOCK_DGRAM"):
        sock = stack.enter_context(socket.socket(family, getattr(socket, kind)))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as workers do
        sock.bind((host, 0))
        if kind == "SOCK_STREAM":
            sock.listen(16)
        found[kind] = [host, sock.getsockname()[1]]
    return found
