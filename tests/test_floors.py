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


BREACHES = [
    ("relay/relay.py", "import callgate.edge.gate", "A room imports"),
    ("sql/settings.py", "import callgate.recorder.rows", "A room imports"),
    ("replicas/hop_seal.py", "import callgate.relay.relay", "A room imports"),
    ("edge/gate.py", "import callgate.replicas.hop_seal", "A room imports"),
    ("http_client/pool.py", "import callgate.upstreams.transport", "A room imports"),
    ("sandbox/reach.py", "import callgate.wire.revisions", "A room imports"),
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
]


def house(folder: Path) -> Path:
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("ui", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_the_house_as_it_is_keeps_every_contract(tmp_path: Path) -> None:
    done = lint_imports(house(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "5 kept, 0 broken" in done.stdout


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of a house with all breaches at once."""
    root = house(tmp_path_factory.mktemp("house"))
    for room, line, _ in BREACHES:
        file = root / "src" / "callgate" / room
        file.write_text(f"{file.read_text()}\n{line}\n")
    done = lint_imports(root)
    assert done.returncode != 0
    return done.stdout


@pytest.mark.parametrize(("room", "line", "contract"), BREACHES)
def test_a_room_that_reaches_sideways_or_up_breaks_one(
    told: str, room: str, line: str, contract: str
) -> None:
    summary, _, details = told.partition("\nBroken contracts\n")
    broken = [said for said in summary.splitlines() if said.endswith(" BROKEN")]
    assert any(said.startswith(contract) for said in broken), told
    importer, imported = room.removesuffix(".py").replace("/", "."), line.removeprefix("import ")
    if contract == "No import cycle":  # it names neighbours by the last part of their names
        edge = f".{importer.rpartition('.')[2]} -> .{imported.rpartition('.')[2]} ("
    else:
        edge = f"callgate.{importer} -> {imported} ("
    section = " ".join(details.partition(f"\n{contract}")[2].split())  # long lines are wrapped
    assert edge in section, told
