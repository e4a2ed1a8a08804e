"""Callgate processes that cost no imports: each is a fork of `fork_server.py`, one for this test process.

What differs from `python -m callgate` is only how the interpreter begins and ends. Tests of that (what is
imported, how much memory is private, limits that were set before) start it themselves, with `CALLGATE`.
"""

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO

from waiting import DEADLINE_S

SERVER = Path(__file__).with_name("fork_server.py")
STANDS_FOR_FORK = Path(__file__).with_name("forked_command.py")


class _ForkServer:
    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(DEADLINE_S)
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind("")  # Linux chooses a name, which is no file
            listener.listen(64)
            self.address = listener.getsockname()[1:].decode()
            passed = (theirs.fileno(), listener.fileno())
            self._process = subprocess.Popen(
                [sys.executable, SERVER, *map(str, passed)], pass_fds=passed,
                env=machine_environment(), stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def close(self) -> None:
        self._control.close()  # which ends it, also when this process was killed
        self._process.wait()

    def start(self, order: bytes, descriptors: list[int]) -> int:
        with self._turn:
            socket.send_fds(self._control, [order], descriptors)
            return int(self._control.recv(20))


# Names the server of the test that started this program: one for both, and it has imported everything by now.
FORK_SERVER = "CALLGATE_FORK_SERVER"


def fork_server_address() -> str:
    return os.environ.get(FORK_SERVER) or _fork_server().address


@cache
def _fork_server() -> _ForkServer:
    server = _ForkServer()
    atexit.register(server.close)
    return server


def forked_callgate() -> list[str]:
    """Like `CALLGATE`, the beginning of a command line, for whoever starts it himself."""
    return [sys.executable, "-E", "-S", str(STANDS_FOR_FORK), fork_server_address()]


def machine_environment() -> dict[str, str]:
    """What every process of ours gets of this machine's environment. The person's keyring is not theirs."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return kept | {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}


class ForkedProcess:
    """One command, as `subprocess.Popen` would have it. Its descriptors are the caller's, who closes them."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, descriptors: list[int]
    ) -> None:
        self.returncode: int | None = None
        named = {"arguments": arguments, "environment": dict(environment), "folder": str(folder)}
        order = json.dumps(named).encode()
        if FORK_SERVER in os.environ:
            self._ended = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._ended.connect(f"\0{os.environ[FORK_SERVER]}")
            socket.send_fds(self._ended, [order], descriptors)
            self.pid = int(self._ended.recv(20))
            return
        self._ended, theirs = socket.socketpair()
        with theirs:
            self.pid = _fork_server().start(order, [*descriptors, theirs.fileno()])

    def fileno(self) -> int:
        """Readable when the process has ended."""
        return self._ended.fileno()

    def take_end(self) -> None:
        code = self._ended.recv(20)
        self._ended.close()
        assert code, "the fork server has ended"
        self.returncode = int(code)

    def wait(self, timeout_s: float = DEADLINE_S) -> int:
        if self.returncode is None:
            self._ended.settimeout(timeout_s)
            self.take_end()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Command:
    """One command, as `asyncio.subprocess.Process` would have it."""

    def __init__(self, process: ForkedProcess) -> None:
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._has_ended = asyncio.Event()
        self._loop.add_reader(process, self._end)
        self.pid = process.pid
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self.send_signal = process.send_signal
        self.kill = process.kill

    def _end(self) -> None:
        self._loop.remove_reader(self._process)
        self._process.take_end()
        self._has_ended.set()

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def wait(self) -> int:
        await self._has_ended.wait()
        assert self.returncode is not None
        return self.returncode

    async def communicate(self, stdin: bytes = b"") -> tuple[bytes, bytes]:
        """Of a command whose three streams are pipes."""
        assert self.stdin is not None
        assert self.stdout is not None
        assert self.stderr is not None

        async def feed(writer: asyncio.StreamWriter) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):  # it has ended without reading all of it
                writer.write(stdin)
                await writer.drain()
            writer.close()

        _, stdout, stderr, _ = await asyncio.gather(
            feed(self.stdin), self.stdout.read(), self.stderr.read(), self.wait()
        )
        return stdout, stderr


async def start_forked(
    *arguments: str,
    env: Mapping[str, str],
    cwd: Path,
    stdin: int | IO[bytes] | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
) -> Command:
    """`callgate` with these arguments; the rest is what `asyncio.create_subprocess_exec` takes."""
    theirs: list[int] = []
    ours: list[int | None] = []
    to_close: list[int] = []
    for number, wanted in enumerate((stdin, stdout, stderr)):
        mine = None
        if wanted is None:
            theirs.append(number)
        elif wanted == PIPE:
            read, write = os.pipe()
            mine, their = (write, read) if number == 0 else (read, write)
            theirs.append(their)
            to_close.append(their)
        elif wanted == DEVNULL:
            theirs.append(os.open(os.devnull, os.O_RDWR))
            to_close.append(theirs[-1])
        else:
            theirs.append(wanted if isinstance(wanted, int) else wanted.fileno())
        ours.append(mine)
    try:
        # The first one waits until the server has imported everything.
        process = await asyncio.to_thread(ForkedProcess, arguments, env, cwd, theirs)
    finally:
        for descriptor in to_close:
            os.close(descriptor)
    command = Command(process)
    if ours[0] is not None:
        command.stdin = await _writer(ours[0])
    command.stdout, command.stderr = [None if end is None else await _reader(end) for end in ours[1:]]
    return command


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    return reader


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(descriptor, "wb")
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
