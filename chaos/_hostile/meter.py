"""What a gateway's process uses: CPU seconds and peak memory, read from /proc."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MIB = 1024 * 1024
_EVERY_S = 0.05
# A scenario's own servers run as children of the gateway: what they use is not the gateway's.
_THEIRS = b"_hostile"


class Meter:
    """From `start` to `stop`. The memory of our own workers (children) is sampled, the gateway's is its
    kernel's high-water mark: no peak is missed."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu_s = 0.0
        self._peak_mib = 0.0
        self._workers_mib = 0.0
        self._workers_before_mib = 0.0
        self._sampling: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._cpu_s, self._peak_mib = _cpu_s(self._pid), _status_mib(self._pid, "VmHWM")
        self._workers_before_mib = self._workers_mib = _workers_mib(self._pid)
        self._sampling = asyncio.create_task(self._sample())

    def stop(self) -> tuple[float, float]:
        """CPU seconds, and MiB that the peak grew by."""
        assert self._sampling is not None
        self._sampling.cancel()
        grown = _status_mib(self._pid, "VmHWM") - self._peak_mib
        workers = self._workers_mib - self._workers_before_mib
        return _cpu_s(self._pid) - self._cpu_s, grown + workers

    async def _sample(self) -> None:
        while True:
            self._workers_mib = max(self._workers_mib, _workers_mib(self._pid))
            await asyncio.sleep(_EVERY_S)


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / _MIB


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _status_mib(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _workers_mib(pid: int) -> float:
    """Of all its children that are ours. One that has its own command line is a fork that has not begun to
    run its program yet: its memory is the gateway's, seen twice."""
    found = 0.0
    with suppress(OSError):  # a process may end while we look at it
        itself = Path(f"/proc/{pid}/cmdline").read_bytes()
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                line = Path(f"/proc/{child}/cmdline").read_bytes()
                if line != itself and _THEIRS not in line:
                    found += resident_mib(child)
    return found
