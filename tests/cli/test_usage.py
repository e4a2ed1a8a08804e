"""The help says what can be written, and wrong usage is told like every other error."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
from cli.test_terminal_escapes import commands
from end_to_end.forked import forked_callgate
from end_to_end.gateway_process import CALLGATE, clean_environment

from callgate.cli.main import app, command_of


@pytest.mark.parametrize("command", [(), *commands(typer.main.get_command(app))], ids=" ".join)
def test_the_help_gives_a_flag_no_type(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    command_of(app)([*command, "--help"], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "--help" in shown
    assert "-h" in shown.split()
    assert "bool" not in shown.lower()


def run(folder: Path, *arguments: str) -> Any:
    return subprocess.run(
        [*forked_callgate(), *arguments], env=clean_environment(folder), cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_wrong_usage_is_an_error_with_its_code_and_names_the_help(tmp_path: Path) -> None:
    done = run(tmp_path, "call", "--bogus")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "Error: No such option: --bogus",
        "  See: python -m callgate call --help",
        "  (caller.bad_arguments)",
    ]
    told = json.loads(run(tmp_path, "call", "--json").stdout)["error"]
    assert (told["code"], "tool" in told["message"]) == ("caller.bad_arguments", True)


def test_a_group_without_a_command_shows_its_help(tmp_path: Path) -> None:
    done = run(tmp_path, "config")
    assert (done.returncode, done.stderr) == (2, "")
    assert "Usage: python -m callgate config" in done.stdout


def test_a_reader_that_leaves_is_no_error_message(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{' '.join(CALLGATE)} config schema | head -n 1", shell=True, env=clean_environment(tmp_path),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("{\n", "")
