"""A terminal that nobody sits at: a program runs on it, and everything written to it is kept."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from end_to_end.forked import ForkedProcess
from end_to_end.gateway_process import CALLGATE

Process = subprocess.Popen[bytes] | ForkedProcess

_PATIENCE_S = 120.0  # a hang detector


@dataclass(frozen=True, slots=True)
class Shown:
    exit_code: int
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.replace("\r\n", "\n").split("\n")


def run_on_terminal(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    *,
    width: int = 200,
    until: str | None = None,
    answers: Mapping[str, str] | None = None,
) -> Shown:
    """Until it ends, or (`until`) until that was shown: then it is interrupted. `answers`: the lines that are
    typed once their question is shown."""
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    # rich asks stdin, stdout and stderr in turn how wide they are
    process = _started(list(command), {"TERM": "xterm", **environment}, folder, terminal)
    os.close(terminal)
    try:
        told = _read(reader, process, until, dict(answers or {}))
        return Shown(process.wait(_PATIENCE_S), told.decode())
    finally:
        process.kill()
        process.wait()
        os.close(reader)


def _started(command: list[str], environment: dict[str, str], folder: Path, terminal: int) -> Process:
    if command[: len(CALLGATE)] == CALLGATE:
        return ForkedProcess(command[len(CALLGATE) :], environment, folder, [terminal] * 3)
    return subprocess.Popen(  # in a session of its own: it must not ask at the terminal of who runs the tests
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment, cwd=folder,
        start_new_session=True,
    )  # fmt: skip


def _read(reader: int, process: Process, until: str | None, answers: dict[str, str]) -> bytes:
    told, ends_at = b"", time.monotonic() + _PATIENCE_S
    while select.select([reader], [], [], max(0.0, ends_at - time.monotonic()))[0]:
        try:
            piece = os.read(reader, 65536)
        except OSError:  # Linux says it so when nobody has the terminal open any more
            return told
        if not piece:
            return told
        told += piece
        for question in [one for one in answers if one.encode() in told]:
            os.write(reader, f"{answers.pop(question)}\n".encode())
        if until is not None and until.encode() in told:
            process.send_signal(signal.SIGINT)
            until = None
    raise AssertionError(f"it neither ended nor showed {until!r}: {told!r}")
