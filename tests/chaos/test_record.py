"""Short forms of `scripts/chaos record`: real gateways, killed; a real full disk; a store that is stuck."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHAOS = Path(__file__).parent.parent.parent / "chaos" / "record.py"


def chaos(*arguments: str) -> None:
    command = [sys.executable, str(CHAOS), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_killed_gateway_loses_no_answered_call_and_doubles_none() -> None:
    chaos("kill", "recover", "--rounds", "3", "--longest", "0.4", "--backlog", "1000")


def test_three_gateways_on_one_folder_killed_in_turn_leave_one_record() -> None:
    chaos("three", "--rounds", "1", "--longest", "0.4")


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root; test_troubles has it without")
def test_a_full_disk_loses_nothing_that_is_not_counted() -> None:
    chaos("disk", "--full-s", "1")


def test_a_stuck_store_keeps_no_reply_waiting() -> None:
    chaos("blocked", "--blocked-s", "1", "--turns", "1")
