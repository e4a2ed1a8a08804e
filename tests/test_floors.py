"""The import contracts hold, and would fail if a room imported its neighbour."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).parent / "lint-imports"
    return subprocess.run(
        [command, "--no-cache", "--config", str(root / "pyproject.toml")],
        capture_output=True,
        text=True,
        cwd=root / "src",
        env={"PYTHONPATH": str(root / "src"), "PATH": ""},
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_house_as_it_is_keeps_every_contract(copy: Path) -> None:
    done = lint_imports(copy)
    assert done.returncode == 0, done.stdout
    assert "3 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("relay/relay.py", "import callgate.edge.gate"),
        ("sql/settings.py", "import callgate.recorder.rows"),
        ("model/session.py", "import callgate.wire.framing.lines"),
        ("wire/framing/lines.py", "import asyncio"),
        ("model/envelope.py", "import callgate.model.exchange"),
    ],
)
def test_a_room_that_reaches_sideways_or_up_breaks_one(copy: Path, room: str, line: str) -> None:
    file = copy / "src" / "callgate" / room
    file.write_text(f"{file.read_text()}\n{line}\n")
    done = lint_imports(copy)
    assert done.returncode != 0
    assert "BROKEN" in done.stdout
