"""One measurement: mcpload against a target, every reply verified, and what it cost the target."""

import json
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from _processes import FOLDER, Cores, cpu_s, wait_until_idle
from _targets import Target

_WARM_UP_S = 0.5


@dataclass(frozen=True, slots=True)
class Sample:
    rps: float
    cpu_us: float
    p50_ms: float
    p99_ms: float


def measure(target: Target, connections: int, seconds: float, cores: Cores) -> Sample:
    """Raises RuntimeError when a single reply was missing or wrong."""
    command = [str(FOLDER / "mcpload"), "-c", str(connections), "-d", str(seconds), "-w", str(_WARM_UP_S)]
    command += ["-t", target.tool]
    for arguments in target.arguments:
        command += ["-a", arguments]
    if target.expected is not None:
        command += ["-e", target.expected]
    load = cores.on_load([*command, target.url])
    with subprocess.Popen(load, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            before = cpu_s(target.pid)
            out, errors = process.communicate(timeout=seconds + 60)
        finally:
            process.kill()
    if process.returncode != 0:
        raise RuntimeError(f"{target.name}, {connections} connections: {out}{said}{errors}")
    wait_until_idle(target.pid, target.quiet_s)
    result = json.loads(out)
    cost_us = (cpu_s(target.pid) - before) / result["ok"] * 1e6
    return Sample(result["rps"], cost_us, result["p50_us"] / 1000, result["p99_us"] / 1000)


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
