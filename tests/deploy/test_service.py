"""`callgate service install`: the unit is one that systemd takes, and hard to break out of."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from end_to_end.gateway_process import run_callgate

from callgate.cli.service_app import ServicePlan, unit_text

HERE = Path(sys.executable).with_name("callgate")
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here"
)


def plan(**changes: object) -> ServicePlan:
    values: dict[str, object] = {
        "program": HERE,
        "config": Path("/etc/callgate/callgate.toml"),
        "environment_file": Path("/etc/callgate/environment"),
        "is_system": True,
    }
    return ServicePlan(**(values | changes))  # pyright: ignore[reportArgumentType]


def analyze(tmp_path: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    unit = tmp_path / "callgate.service"
    unit.write_text(text)
    environment = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        ["systemd-analyze", *words, str(unit)], env=environment, capture_output=True, text=True, check=False
    )


@needs_systemd
@pytest.mark.parametrize("is_system", [True, False], ids=["system", "user"])
def test_systemd_takes_the_unit_without_a_word(tmp_path: Path, is_system: bool) -> None:
    words = ["verify", *([] if is_system else ["--user"])]
    done = analyze(tmp_path, unit_text(plan(is_system=is_system)), *words)
    if "Failed to initialize manager" in done.stderr:
        pytest.skip("systemd-analyze cannot verify units here")
    assert [line for line in done.stderr.splitlines() if "callgate.service" in line] == []
    assert done.returncode == 0, done.stderr


@needs_systemd
def test_the_unit_of_the_system_leaves_little_open(tmp_path: Path) -> None:
    done = analyze(tmp_path, unit_text(plan()), "security", "--offline=true", "--threshold=20")
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze does not judge files")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_odd_paths_are_written_so_that_systemd_reads_them_as_they_are() -> None:
    text = unit_text(plan(program=Path("/opt/my 100%/callgate"), config=Path('/etc/a"b$c.toml')))
    assert 'ExecStart="/opt/my 100%%/callgate" serve --config "/etc/a\\"b$$c.toml" ' in text


async def test_the_unit_of_a_user_is_written_into_their_folder_and_only_over_our_own(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text("version = 1\n")
    place = tmp_path / "systemd" / "user" / "callgate.service"
    for _ in range(2):  # again, after an upgrade
        done = await run_callgate(tmp_path, "service", "install")
        assert (done.exit_code, "systemctl --user enable --now callgate" in done.stdout) == (0, True), (
            done.stderr
        )
    text = place.read_text()
    assert f"--config {tmp_path}/callgate.toml " in text
    assert text == (await run_callgate(tmp_path, "service", "install", "--print")).stdout
    place.write_text("[Service]\nExecStart=/bin/true\n")
    refused = await run_callgate(tmp_path, "service", "install")
    assert (refused.exit_code, "was not written by this command" in refused.stderr) == (3, True)


async def test_a_unit_of_the_system_does_not_point_into_a_home(tmp_path: Path) -> None:
    refused = await run_callgate(
        tmp_path, "service", "install", "--system", "--print", "--config", "/home/you/c.toml"
    )
    assert (refused.exit_code, "cannot read" in refused.stderr) == (3, True)


async def test_the_options_of_the_start_are_ones_of_ours(tmp_path: Path) -> None:
    line = re.search(r"^ExecStart=\S+ (.*)$", unit_text(plan()), re.MULTILINE)
    assert line is not None
    command, *words = line[1].split()
    told = (await run_callgate(tmp_path, command, "--help")).stdout
    assert [word for word in words if word.startswith("-") and word not in told] == []
