"""Short forms of `scripts/chaos replicas`: real recorders, a real PostgreSQL, and a way to it that breaks."""

import subprocess
import sys
from pathlib import Path

CHAOS = Path(__file__).parent.parent.parent / "chaos" / "replicas.py"


def chaos(*arguments: str) -> None:
    command = [sys.executable, str(CHAOS), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_recorders_killed_and_cut_off_on_one_database_lose_no_answered_call_and_double_none() -> None:
    chaos("kill", "--rounds", "4", "--crashes", "1", "--rate", "300", "--longest", "1.5")


def test_a_standby_that_lacks_the_last_commits_is_sent_them_again() -> None:
    chaos("failover", "--rate", "200", "--lag-s", "1.5")


def test_what_waited_while_the_database_was_away_is_stored_once() -> None:
    chaos("away", "--away-s", "3", "--rate", "300")
