"""Short forms of `scripts/chaos record`: real gateways, killed; a real full disk; a store that is stuck."""

import os

import pytest
from chaos.trials import run


def test_a_killed_gateway_loses_no_answered_call_and_doubles_none() -> None:
    run("record", "kill", "recover", "--rounds", "3", "--longest", "0.4", "--backlog", "1000")


def test_three_gateways_on_one_folder_killed_in_turn_leave_one_record() -> None:
    run("record", "three", "--rounds", "1", "--longest", "0.4")


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root; test_troubles has it without")
def test_a_full_disk_loses_nothing_that_is_not_counted() -> None:
    run("record", "disk", "--full-s", "1")


def test_a_stuck_store_keeps_no_reply_waiting() -> None:
    run("record", "blocked", "--blocked-s", "1", "--turns", "1")
