"""Short forms of `scripts/chaos hostile`: answers, memory and neighbours count here, time does not."""

import pytest
from chaos.trials import run, run_trial


@pytest.mark.parametrize("group", ["clients", "messages", "stdio", "http", "databases"])
def test_an_attack_stays_within_its_bounds(group: str) -> None:
    assert "all held" in run("hostile", group, "--short", "--without-times")


def test_a_bound_that_is_exceeded_fails_the_run() -> None:
    """The suite can fail: nothing is allowed here, not even what a fine gateway uses."""
    ran = run_trial("hostile", "http", "--only", "answers twice on", "--allow", "0")
    assert ran.returncode == 1
    assert "a neighbour waited" in ran.stdout


def test_a_short_soak_loses_nothing_and_keeps_its_memory() -> None:
    told = run(
        "soak", "--minutes", "0.1", "--phase-s", "1", "--rate", "200", "--hostile", "5", "--without-times"
    )
    assert "attacks" in told
