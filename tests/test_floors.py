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
    assert "5 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("room", "line", "contract"),
    [
        ("relay/relay.py", "import callgate.edge.gate", "A room imports"),
        ("sql/settings.py", "import callgate.recorder.rows", "A room imports"),
        ("model/session.py", "import callgate.wire.framing.lines", "A room imports"),
        ("wire/framing/lines.py", "import asyncio", "The protocol and"),
        ("model/envelope.py", "import callgate.model.exchange", "No import cycle"),
        (
            "sql/engines/mysql/dialect/speller.py",
            "import callgate.sql.engines.mysql.driver.login",
            "What we know",
        ),
        ("sql/engines/postgres/dialect/keywords.py", "import callgate.sql.drivers.posture", "What we know"),
        ("sql/engines/sqlite/dialect/pragmas.py", "import sqlite3", "What we know"),
        ("sql/engines/duckdb/dialect/forms.py", "import threading", "What we know"),
        ("sql/guard/sizes.py", "import callgate.sql.engines.mysql.dialect.spelling", "The guard knows"),
    ],
)
def test_a_room_that_reaches_sideways_or_up_breaks_one(
    copy: Path, room: str, line: str, contract: str
) -> None:
    file = copy / "src" / "callgate" / room
    file.write_text(f"{file.read_text()}\n{line}\n")
    done = lint_imports(copy)
    assert done.returncode != 0
    broken = [told for told in done.stdout.splitlines() if told.endswith(" BROKEN")]
    assert any(told.startswith(contract) for told in broken), done.stdout
