"""Short forms of `scripts/chaos hostile`: answers, memory and neighbours count here, time does not."""

import subprocess
import sys
from pathlib import Path

import pytest

CHAOS = Path(__file__).parent.parent.parent / "chaos"


def run(trial: str, *arguments: str) -> str:
    command = [sys.executable, str(CHAOS / f"{trial}.py"), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("group", ["clients", "messages", "stdio", "http", "databases"])
def test_an_attack_stays_within_its_bounds(group: str) -> None:
    assert "all held" in run("hostile", group, "--short", "--without-times")


def test_a_bound_that_is_exceeded_fails_the_run() -> None:
    """The suite can fail: nothing is allowed here, not even what a fine gateway uses."""
    command = [
        sys.executable,
        str(CHAOS / "hostile.py"),
        "http",
        "--only",
        "answers twice on",
        "--allow",
        "0",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 1
    assert "a neighbour waited" in ran.stdout


def test_a_short_soak_loses_nothing_and_keeps_its_memory() -> None:
    told = run(
        "soak", "--minutes", "0.1", "--phase-s", "1", "--rate", "200", "--hostile", "5", "--without-times"
    )
    assert "attacks" in told
