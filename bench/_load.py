"""Measurements: mcpload against a target, every reply verified, and what it cost the target."""

import json
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from _processes import FOLDER, Cores, cpu_s, wait_until_idle
from _targets import Target

_WARM_UP_S = 0.5
_RESUME_S = 0.2  # after a pause the gateway connects to its servers again


@dataclass(frozen=True, slots=True)
class Sample:
    rps: float
    cpu_us: float
    p50_ms: float
    p99_ms: float


def measure(
    target: Target, connections: int, seconds: float, cores: Cores, rate: float | None = None
) -> Sample:
    """`rate`: calls a second; None: as many as it answers. Raises RuntimeError when a single reply was
    missing or wrong."""
    options = ["-w", str(_WARM_UP_S), *(["-r", f"{rate:.0f}"] if rate is not None else [])]
    load = cores.on_load(_mcpload(target, connections, seconds, *options))
    with subprocess.Popen(load, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            before = cpu_s(target.pid)
            out, errors = process.communicate(timeout=seconds + 60)
        finally:
            process.kill()
    after = cpu_s(target.pid)
    if process.returncode != 0:
        raise RuntimeError(f"{target.name}, {connections} connections: {out}{said}{errors}")
    wait_until_idle(target.pid, target.quiet_s)
    result = json.loads(out)
    # What follows the last reply, such as storing what was recorded, is done for the warm-up too.
    late = cpu_s(target.pid) - after
    cost_us = ((after - before) / result["ok"] + late / result["ok_all"]) * 1e6
    return Sample(result["rps"], cost_us, result["p50_us"] / 1000, result["p99_us"] / 1000)


def _mcpload(target: Target, connections: int, seconds: float, *options: str) -> list[str]:
    command = [str(FOLDER / "mcpload"), "-c", str(connections), "-d", str(seconds), "-t", target.tool]
    command += [*options, *(["-M"] if target.is_modern else [])]
    for arguments in target.arguments:
        command += ["-a", arguments]
    if target.expected is not None:
        command += ["-e", target.expected]
    return [*command, target.url]


@dataclass(slots=True)
class PacedLoad:
    """One mcpload whose connections stay open, and their calls in flight, between measurements."""

    target: Target
    connections: int
    process: subprocess.Popen[str]
    listed: int  # tools

    def warm_up(self) -> None:
        """Until every connection has had two answers."""
        while self._told(_nothing)["ok_all"] < 2 * self.connections:
            self._go()
        wait_until_idle(self.target.pid, self.target.quiet_s)

    def run(self, measuring: Callable[[], None]) -> int:
        """How many calls were answered since `measuring`; ends when the target has nothing left to do."""
        self._go()
        answered = int(self._told(measuring)["ok"])
        wait_until_idle(self.target.pid, self.target.quiet_s)
        return answered

    def cpu_us(self) -> float:
        """What a call costs the target."""
        before: list[float] = []
        answered = self.run(lambda: before.append(cpu_s(self.target.pid)))
        return (cpu_s(self.target.pid) - before[0]) / answered * 1e6

    def _go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def _told(self, measuring: Callable[[], None]) -> dict[str, Any]:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        measuring()
        line = self.process.stdout.readline()
        result = json.loads(line) if line else {"err": 1}
        if result["err"]:
            self.process.kill()
            raise RuntimeError(f"{self.target.name}: {line}{said}{self.process.stderr.read()}")
        return result


def _nothing() -> None:
    pass


@contextmanager
def paced(target: Target, connections: int, seconds: float, cores: Cores) -> Iterator[PacedLoad]:
    """All connections have one session, which lists its tools first; then it is warm."""
    options = ["-p", "-s", "-l", "-w", str(_RESUME_S)]
    load = cores.on_load(_mcpload(target, connections, seconds, *options))
    pipe = subprocess.PIPE
    with subprocess.Popen(load, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            if not said.startswith("{"):
                raise RuntimeError(f"{target.name}: {said}{process.stderr.read()}")
            paced_load = PacedLoad(target, connections, process, len(json.loads(said)["result"]["tools"]))
            paced_load.warm_up()
            yield paced_load
        finally:
            process.kill()


def median_of(samples: Sequence[Sample]) -> Sample:
    return Sample(
        statistics.median(sample.rps for sample in samples),
        statistics.median(sample.cpu_us for sample in samples),
        statistics.median(sample.p50_ms for sample in samples),
        statistics.median(sample.p99_ms for sample in samples),
    )


def mean_of(first: Sample, second: Sample) -> Sample:
    return Sample(
        (first.rps + second.rps) / 2,
        (first.cpu_us + second.cpu_us) / 2,
        (first.p50_ms + second.p50_ms) / 2,
        (first.p99_ms + second.p99_ms) / 2,
    )
