"""DuckDB's corpus against the real engine: every attack really does what it is there for, the engine layer
alone keeps the database as it is, and every honest statement runs.

Proofs: `change` something is different afterwards; `change_reads` a file's word is in a table; `reads…` the
rows hold a word that is in a file, the name of a column or file there, a path, or a secret table's word;
`tries` the engine reached for an extension; `runs` it did run, and may not; `open` a transaction is open.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sql.conftest import Asker
from sql.corpus_files import FOLDER, load, policy_for
from sql.fuzz.engines.duckdb_engine import MARKER, DuckdbEngine
from sql.fuzz.engines.engine import State, differences

from callgate.model.errors import CallgateError
from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.duckdb.driver.driver import DuckdbDriver
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings

ATTACKS = load("duckdb_attacks")
HONEST = load("duckdb_honest")
SEEN = {
    "reads": MARKER,
    "reads_column": "word",
    "reads_file": "secret.txt",
    "reads_path": "corpus.duckdb",
    "reads_secret": "hidden",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckdbEngine]:
    made = DuckdbEngine(tmp_path_factory.mktemp("duckdb"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute((FOLDER / "duckdb_schema.sql").read_text())
    return path


@pytest.fixture(scope="module")
def before(engine: DuckdbEngine) -> State:
    """Its state after a reset, which is always the same."""
    engine.reset()
    state = engine.state()
    engine.reset()
    assert not differences(state, engine.state())
    return state


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["id"])
def test_the_attack_does_what_it_says_when_nothing_stops_it(
    attack: dict[str, Any], engine: DuckdbEngine, before: State
) -> None:
    engine.reset()
    rows, problem = [], ""
    try:
        rows = engine.rows(attack["sql"])
    except (duckdb.Error, RuntimeError) as error:
        problem = str(error)
    with suppress(duckdb.Error):
        engine.connection.abort()
    match attack["proof"]:
        case "open":
            with pytest.raises(duckdb.TransactionException):
                engine.connection.begin()
        case "tries":
            assert re.search("extension", problem, re.IGNORECASE)
        case "runs":
            assert not problem
        case "change":
            assert differences(before, engine.state())
        case "change_reads":
            assert not problem
            assert any(MARKER in str(engine.rows(f"FROM {table}")) for table in ("secrets", "x"))
        case seen:
            assert not problem
            assert SEEN[seen] in str(rows)


async def test_with_the_guard_off_the_session_keeps_the_file_and_its_folder_as_they_are(
    pristine: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(pristine, tmp_path / "corpus.duckdb"))
    before = path.read_bytes()
    changed: list[str] = []
    driver = DuckdbDriver(path, Policy(DUCKDB), 1)
    for attack in ATTACKS:
        with suppress(CallgateError):
            await driver.run([Statement(attack["sql"], "ANY")])
        if path.read_bytes() != before or len(list(tmp_path.iterdir())) > 1:
            changed.append(attack["id"])
            break
    await driver.close()
    assert not changed
    assert path.read_bytes() == before


async def test_every_honest_read_runs(pristine: Path, tmp_path: Path) -> None:
    failed = await _run_all([honest for honest in HONEST if "mode" not in honest], pristine)
    assert not failed


@pytest.mark.parametrize("allows_ddl", [False, True], ids=["without DDL", "with DDL"])
async def test_every_honest_write_runs(allows_ddl: bool, pristine: Path, tmp_path: Path) -> None:
    writes = [honest for honest in HONEST if "mode" in honest and honest.get("ddl", False) is allows_ddl]
    failed = await _run_all(writes, Path(shutil.copy(pristine, tmp_path / "corpus.duckdb")))
    assert not failed


async def _run_all(statements: list[dict[str, Any]], path: Path) -> dict[str, str]:
    """What did not run, by its id. All of them are of the same mode."""
    policy = policy_for(DUCKDB, statements[0])
    settings = SourceSettings(
        "corpus", "duckdb", path, mode=policy.mode, allow_ddl=policy.allow_ddl, pool_size=1
    )
    server = open_source(settings)
    try:
        answers = {honest["id"]: await Asker(server).query(honest["sql"]) for honest in statements}
    finally:
        await server.close()
    return {name: answer.text for name, answer in answers.items() if answer.is_error}
