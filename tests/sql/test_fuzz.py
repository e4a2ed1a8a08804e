"""The fuzzer in short: what the guard lets through changes nothing on the live engine (see scripts/fuzz)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sql.corpus_files import load
from sql.fuzz.campaign import Campaign
from sql.fuzz.engines.duckdb_engine import DuckdbEngine
from sql.fuzz.engines.engine import Engine, differences
from sql.fuzz.engines.mysql_engine import MySqlEngine
from sql.fuzz.engines.postgres_engine import PostgresEngine
from sql.fuzz.engines.sqlite_engine import SqliteEngine

from callgate.sql.guard.policy import Policy

STATEMENTS = 500
SEED = 20261115


@pytest.fixture(params=["sqlite", "duckdb", "mysql", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    made: Engine
    match request.param:
        case "sqlite":
            made = SqliteEngine(tmp_path)
        case "duckdb":
            made = DuckdbEngine(tmp_path)
        case "mysql":
            made = MySqlEngine(request.getfixturevalue("mariadb"))
        case _:
            made = PostgresEngine(request.getfixturevalue("postgres"))
    yield made
    made.close()


def test_what_the_guard_allows_changes_nothing_and_nothing_makes_it_raise(engine: Engine) -> None:
    summary = Campaign(engine, Policy(engine.dialect), STATEMENTS, SEED).run()
    assert summary.is_clean, str(summary)
    assert summary.ran > STATEMENTS / 50, "most of what is generated should be worth running"


CHANGES = {
    "sqlite": ("DELETE FROM orders WHERE id = 1", "PRAGMA foreign_keys = ON", "CREATE TEMP TABLE x (a)"),
    "duckdb": ("SELECT nextval('order_numbers')", "SET VARIABLE x = 1", "COPY orders TO 'out.csv'"),
    "mysql": ("SELECT corpus.f_write(50)", "SET @evil = 1", "SELECT GET_LOCK('x', 0)"),
    "postgres": ("SELECT nextval('shop.ticket')", "SELECT pg_advisory_lock(1)", "LISTEN x"),
}


def test_what_does_change_something_is_noticed(engine: Engine) -> None:
    for sql in CHANGES[engine.dialect.name]:
        before = engine.state()
        assert not differences(before, engine.state())
        assert engine.run(sql) is None
        assert differences(before, engine.state()), sql
        engine.reset()


def test_a_hole_in_the_guard_is_found_by_the_campaign(tmp_path: Path) -> None:
    engine = DuckdbEngine(tmp_path)
    holed = Policy(engine.dialect, allow_functions=frozenset({"nextval"}))
    attacks = [attack["sql"] for attack in load("duckdb_attacks")]
    # Four of ten such short campaigns find it. Which ones differs: slow statements are not mutated further.
    runs = (Campaign(engine, holed, 100, seed, seeds=attacks).run() for seed in range(SEED, SEED + 60))
    assert any("nextval" in change for summary in runs for change in summary.changes)
    engine.close()
