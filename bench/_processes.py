"""Processes that a benchmark starts: pinned to a core, measured in /proc, stopped however it ends."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = Path(__file__).parent.parent / ".cache" / "bench"
_START_S = 30.0
_STOP_S = 10.0
IDLE_S = 0.3  # without work for so long, most programs have none left


class Cores:
    """The target alone on one core, load and upstream on the other; where there is one core, all on it."""

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self.pinned = len(cores) > 1 and shutil.which("taskset") is not None
        self.load, self.target = cores[0], cores[-1]

    def __str__(self) -> str:
        if not self.pinned:
            return "nothing pinned (one core, or no taskset)"
        return f"target on core {self.target}, load and upstream on core {self.load}"

    def on_load(self, command: Sequence[str]) -> list[str]:
        return self._on(self.load, command)

    def on_target(self, command: Sequence[str]) -> list[str]:
        return self._on(self.target, command)

    def stay_on_load(self) -> None:
        """This process, and what it starts without a word about cores, such as a database."""
        if self.pinned:
            os.sched_setaffinity(0, {self.load})

    def _on(self, core: int, command: Sequence[str]) -> list[str]:
        return ["taskset", "-c", str(core), *command] if self.pinned else list(command)


def end_on_sigterm() -> None:
    """So that what was started is stopped then too, as on Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(SystemExit(143)))


@contextmanager
def running(
    command: Sequence[str], log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process with its output on a pipe and its errors in `log`; at the end it and its group are gone."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=dict(os.environ) | dict(env or {}),
            cwd=cwd,
            text=True,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            print(f"{command[0]} had to be killed")
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")


def tree(pid: int) -> list[int]:
    pids = [pid]
    for parent in pids:  # grows while we walk
        with suppress(OSError):
            tasks = Path(f"/proc/{parent}/task").iterdir()
            pids += [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return pids


def set_niceness(pid: int, niceness: int) -> None:
    """Of a process, and of its session: where the kernel divides a core among sessions first (autogroup), a
    process's own niceness counts within its session only. Raises PermissionError."""
    os.setpriority(os.PRIO_PROCESS, pid, niceness)
    with suppress(FileNotFoundError, ProcessLookupError):
        Path(f"/proc/{pid}/autogroup").write_text(str(niceness))


def cpu_s(pid: int) -> float:
    """User and system time of the process and everything below it so far."""
    used_s = 0.0
    for member in tree(pid):
        with suppress(OSError):
            # What clock_getcpuclockid(3) gives for a process: its clock, finer than the ticks of /proc.
            used_s += time.clock_gettime((~member << 3) | 2)
    return used_s


def wait_until_idle(pid: int, quiet_s: float = IDLE_S, patience_s: float = 30.0) -> None:
    """A recorder goes on after the last reply: what it still does belongs to what it served."""
    until = time.monotonic() + patience_s
    before, since = cpu_s(pid), time.monotonic()
    while time.monotonic() < until and time.monotonic() - since < quiet_s:
        time.sleep(0.3)
        now = cpu_s(pid)
        if now - before > 0.01:
            since = time.monotonic()
        before = now


def memory_kb(pid: int) -> tuple[int, int]:
    """VmRSS and PSS."""
    resident = Path(f"/proc/{pid}/status").read_text()
    proportional = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return _kb(resident, "VmRSS"), _kb(proportional, "Pss")


def _kb(text: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    assert found is not None, name
    return int(found[1])
