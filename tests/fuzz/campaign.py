"""A campaign: inputs for one target. No crash, no hang, bounded memory, and packets make no difference."""

import hashlib
import resource
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fuzz.mutate import Mutator, pieces_of
from fuzz.target import CORPUS, Target, findings

_MEMORY_MIB = 64.0  # how much a campaign may grow by, after its first inputs
_WARM_UP = 2_000
_MOST_FINDINGS = 10


class HangError(BaseException):
    """Not an Exception: nothing on the way may take it for one of its own."""


@dataclass(frozen=True, slots=True)
class Finding:
    kind: str  # the same kind: the same fault, most likely
    data: bytes

    def __str__(self) -> str:
        shown = self.data if len(self.data) <= 400 else self.data[:400] + b" ..."
        return f"{self.kind} <- {shown!r}"


@dataclass
class Summary:
    target: str
    inputs: int = 0
    findings: list[Finding] = field(default_factory=list)
    grown_mib: float = 0.0
    elapsed_s: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not self.findings and self.grown_mib <= _MEMORY_MIB

    def __str__(self) -> str:
        rate = self.inputs / self.elapsed_s if self.elapsed_s else 0
        head = (
            f"{self.target:12} {self.inputs:>9,} inputs, {len(self.findings)} findings,"
            f" {self.grown_mib:.0f} MiB grown (limit {_MEMORY_MIB:g}), {self.elapsed_s:.0f} s, {rate:,.0f}/s"
        )
        return "\n".join([head, *(f"  {finding}" for finding in self.findings)])


def _hang(signum: int, frame: object) -> None:
    raise HangError


def _outcome(target: Target, pieces: Sequence[bytes]) -> tuple[str | None, Any]:
    """Why it is a finding, or what came of it."""
    signal.setitimer(signal.ITIMER_PROF, target.hang_cpu_s)
    try:
        return None, target.run(pieces)
    except HangError:
        return "hang", None
    except Exception as error:  # noqa: BLE001 - what is not typed is what we look for
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        where = f"{at.tb_frame.f_code.co_filename.rpartition('/')[2]}:{at.tb_lineno}" if at else "?"
        return f"{type(error).__name__} in {where}", None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def fault_in(target: Target, data: bytes, random: Random) -> str | None:
    """What is wrong with this input, if anything."""
    fault, whole = _outcome(target, [data])
    if fault is None and target.is_cut:
        fault, cut = _outcome(target, pieces_of(data, random))
        if fault is None and cut != whole:
            return "packets make a difference"
    return fault


def smaller(target: Target, finding: Finding, random: Random) -> Finding:
    """The same fault with as few bytes as cutting finds."""
    data, size = finding.data, max(1, len(finding.data) // 2)
    while size:
        start = 0
        while start < len(data):
            shorter = data[:start] + data[start + size :]
            if any(fault_in(target, shorter, random) == finding.kind for _ in range(5)):
                data = shorter
            else:
                start += size
        size //= 2
    return Finding(finding.kind, data)


def run(target: Target, inputs: int, seed: int, report: Callable[[str], None] = lambda line: None) -> Summary:
    random = Random(f"{target.name} {seed}")
    seeds = [*target.seeds, *(path.read_bytes() for path in findings(target))]
    mutator = Mutator(seeds, target.words, random)
    summary = Summary(target.name)
    before = signal.signal(signal.SIGPROF, _hang)
    begun, start_mib = time.monotonic(), _peak_mib()
    try:
        while summary.inputs < inputs and len(summary.findings) < _MOST_FINDINGS:
            summary.inputs += 1
            data = target.generated(random) if random.random() < 0.4 else mutator.mutated()
            fault = fault_in(target, data, random)
            if fault is not None and fault not in {finding.kind for finding in summary.findings}:
                summary.findings.append(smaller(target, Finding(fault, data), random))
                report(str(summary.findings[-1]))
            if summary.inputs == _WARM_UP:
                start_mib = _peak_mib()
    finally:
        signal.signal(signal.SIGPROF, before)
    summary.elapsed_s = time.monotonic() - begun
    summary.grown_mib = _peak_mib() - start_mib
    return summary


def keep(summary: Summary) -> None:
    """Findings become files of the corpus, which the tests replay."""
    folder = CORPUS / summary.target
    for finding in summary.findings:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(finding.data).hexdigest()[:16]).write_bytes(finding.data)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
