"""Programs that print a secret: bounded in time and size, ended with what they started, never repeated."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from waiting import until

from callgate.program_output import ProgramFailedError, printed_line

PLANTED = "QZ7planted-by-the-test"


def failure_of(*command: str) -> str:
    with pytest.raises(ProgramFailedError) as caught:
        printed_line(command)
    return str(caught.value)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_time_is_over_for_the_program_and_for_all_that_it_started(tmp_path: Path) -> None:
    # One that waits for children, one that closed its output, one whose child left the group with the output.
    late = (
        "sleep 300 & echo $! > forks.pid; sleep 300 & wait",
        "exec >&-; echo $$ > closed.pid; exec sleep 300",
        "setsid sh -c 'echo $$ > left.pid; exec sleep 30' & echo value",
    )
    with ThreadPoolExecutor(len(late)) as threads:
        said = list(threads.map(lambda line: failure_of("sh", "-c", f"cd {tmp_path}; {line}"), late))
    assert said == ["did not end within 10 s"] * len(late)
    for name in ("forks", "closed"):
        pid = int((tmp_path / f"{name}.pid").read_text())
        await until(lambda pid=pid: not is_running(pid))
    os.kill(int((tmp_path / "left.pid").read_text()), 9)


async def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    line = f"sleep 300 >/dev/null & echo $! > {tmp_path}/pid; echo value"
    assert printed_line(("sh", "-c", line)) == "value"
    pid = int((tmp_path / "pid").read_text())
    await until(lambda: not is_running(pid))


@pytest.mark.parametrize(("size", "fits"), [(64 * 1024, True), (64 * 1024 + 1, False)])
def test_64_kib_are_taken_and_no_byte_more(size: int, fits: bool) -> None:
    command = (sys.executable, "-c", f"print('x' * {size}, end='')")
    if fits:
        assert len(printed_line(command)) == size
    else:
        assert failure_of(*command) == "did not print one line with the secret"


def test_one_that_never_stops_printing_is_ended() -> None:
    assert failure_of("yes", PLANTED) == "did not print one line with the secret"


@pytest.mark.parametrize(
    "line", [f"echo {PLANTED} >&2; exit 3", f"echo {PLANTED}; echo b", f"echo {PLANTED}; exit 3"]
)
def test_nothing_that_it_says_is_repeated(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert PLANTED not in failure_of("sh", "-c", line)
    assert PLANTED not in "".join(capfd.readouterr())


def test_stderr_is_no_part_of_the_value(capfd: pytest.CaptureFixture[str]) -> None:
    assert printed_line(("sh", "-c", f"echo {PLANTED} >&2; echo value")) == "value"
    assert PLANTED not in "".join(capfd.readouterr())
