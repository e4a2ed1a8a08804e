"""Trials of `scripts/chaos`, run as they are there, but with gateways that are forks."""

import os
import subprocess
import sys
from pathlib import Path

from end_to_end.forked import FORK_SERVER, fork_server_address

_TESTS = Path(__file__).parents[1]
_CHAOS = _TESTS.parent / "chaos"


def run_trial(trial: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(_CHAOS / f"{trial}.py"), *arguments],
        env={**os.environ, FORK_SERVER: fork_server_address(), "PYTHONPATH": str(_TESTS)},
        capture_output=True,
        text=True,
        timeout=290,
    )


def run(trial: str, *arguments: str) -> str:
    """What it said. It fails here as it does there."""
    ran = run_trial(trial, *arguments)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
