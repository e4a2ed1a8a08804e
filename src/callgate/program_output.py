"""What a program prints, for secrets that another program keeps: a password, a token.

Started without a shell, with ten seconds and 64 KiB. Its process group ends with it; what has left the group
is not waited for. Neither what it prints nor what it writes to stderr is in any error: both may hold a
secret. Must not know what the text is for.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

_LIMIT_S = 10.0
_MAX_BYTES = 64 * 1024  # tokens of identity providers have some kilobytes


class ProgramFailedError(Exception):
    """`what` completes a sentence that begins with the program."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def printed_line(command: Sequence[str]) -> str:
    """The one line that it prints. Raises ProgramFailedError."""
    try:
        said, code, is_late = _run(command)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not a command"
        raise ProgramFailedError(f"could not be started: {why}") from None
    if is_late:
        raise ProgramFailedError(f"did not end within {_LIMIT_S:g} s")
    line = said.decode("utf-8", "replace").strip("\r\n")
    if len(said) > _MAX_BYTES or not line or "\n" in line:
        raise ProgramFailedError("did not print one line with the secret")
    if code != 0:
        raise ProgramFailedError(f"ended with exit code {code}")
    return line


def _run(command: Sequence[str]) -> tuple[bytes, int, bool]:
    """What it printed, its exit code, and whether its time was over."""
    deadline = time.monotonic() + _LIMIT_S
    with subprocess.Popen(  # noqa: S603 - the operator's own command
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as program:
        try:
            assert program.stdout is not None
            said, is_late = _read(program.stdout.fileno(), deadline)
            if not is_late and len(said) <= _MAX_BYTES:  # it may close its output long before it ends
                program.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            said, is_late = b"", True
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
        return said, program.wait(), is_late


def _read(pipe: int, deadline: float) -> tuple[bytes, bool]:
    """Until its end, one byte too many, or the deadline: a program that left the group may hold it open."""
    said = b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        while len(said) <= _MAX_BYTES:
            if not waiting.select(max(0.0, deadline - time.monotonic())):
                return said, True
            piece = os.read(pipe, _MAX_BYTES + 1 - len(said))
            if not piece:
                break
            said += piece
    return said, False
