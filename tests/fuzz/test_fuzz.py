"""The fuzzer of what reads strangers' bytes, in short (see scripts/fuzz), and what once broke something."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fuzz.campaign import fault_in, run
from fuzz.target import Target, findings
from fuzz.targets import TARGETS

INPUTS = 600
SEED = 20261115
KEPT = [
    pytest.param(target, path, id=f"{name}-{path.name}")
    for name, target in TARGETS.items()
    for path in findings(target)
]


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_no_input_crashes_hangs_or_is_read_in_two_ways(target: Target) -> None:
    summary = run(target, INPUTS, SEED)
    assert summary.is_clean, str(summary)


@pytest.mark.parametrize(("target", "path"), KEPT)
def test_what_once_broke_it_does_so_no_more(target: Target, path: Path) -> None:
    for chance in range(20):
        assert fault_in(target, path.read_bytes(), Random(chance)) is None


@pytest.mark.parametrize("name", ["http_server", "http_client", "sse", "journal", "conversation"])
def test_many_inputs_are_good_enough_to_be_read(name: str) -> None:
    """A generator that only makes nonsense tests nothing but the first check."""
    target, random = TARGETS[name], Random(SEED)
    outcomes = [repr(target.run([target.generated(random)])) for _ in range(300)]
    assert len(set(outcomes)) > 100, "most inputs lead to the same"


class Faulty:
    """A reader with three faults."""

    name = "faulty"
    share = 1
    hang_cpu_s = 0.02
    is_cut = True
    words = (b"crash", b"cut", b"hang")
    seeds = (b"nothing",)

    def run(self, pieces: Sequence[bytes]) -> Any:
        if b"crash" in b"".join(pieces):
            raise KeyError
        while b"hang" in b"".join(pieces):
            pass
        return sum(b"cut" in piece for piece in pieces)

    def generated(self, random: Random) -> bytes:
        return random.choice((b"x", b"cut"))


def test_the_fuzzer_finds_crashes_hangs_and_differences() -> None:
    kinds = {
        finding.kind.partition(" in ")[0]: finding.data for finding in run(Faulty(), 3_000, SEED).findings
    }
    assert kinds == {"KeyError": b"crash", "hang": b"hang", "packets make a difference": b"cut"}
