"""SQLite's corpus against the real engine: it alone stops every attack, and every honest statement runs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sql.conftest import OpenShop
from sql.corpus_files import load
from sql.sqlite_witness import witness_all

from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.engines.sqlite.driver.connection import open_connection
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import Mode

ATTACKS = load("sqlite_attacks")
HONEST = [entry for entry in load("sqlite_honest") if "only" not in entry]


def dump(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump())


def statements_of(sql: str) -> list[str]:
    """As the engine would get them, were there no guard: split at ; by the lexer."""
    parts, current = [], ""
    for token in SQLITE.lex(sql):
        if token.is_operator(";"):
            parts.append(current)
            current = ""
        else:
            current += token.text
    return [part for part in (*parts, current) if part.strip()]


@pytest.fixture(scope="module")
def before(pristine_shop: Path) -> str:
    return dump(pristine_shop)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    answers = witness_all([attack["sql"] for attack in ATTACKS], tmp_path_factory.mktemp("witness"))
    return dict(zip((attack["id"] for attack in ATTACKS), answers, strict=True))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["id"])
def test_the_attack_does_what_it_says_when_nothing_stops_it(
    attack: dict[str, Any], seen: dict[str, dict[str, Any]]
) -> None:
    """`error`: no attack on SQLite itself but on a guard that reads it as another engine would."""
    problem, changes = seen[attack["id"]]["problem"], seen[attack["id"]]["changes"]
    match attack["proof"]:
        case "change":
            assert changes
        case "runs":
            assert not problem
        case "tries":
            assert "not authorized" in problem  # it reached the loader of extensions
        case proof:
            assert proof == "error"
            assert problem


@pytest.mark.parametrize(
    "attack", [attack for attack in ATTACKS if attack["engine"]], ids=lambda attack: attack["id"]
)
def test_the_engine_alone_stops_the_attack(
    attack: dict[str, Any], shop: Path, pristine_shop: Path, before: str
) -> None:
    policy = Policy(SQLITE, mode=Mode(attack["mode"]))
    with closing(open_connection(shop, policy)) as connection:

        def run_all() -> None:
            for statement in statements_of(attack["sql"]):
                connection.execute(statement).fetchall()

        with pytest.raises((sqlite3.Error, ValueError, UnicodeError)):
            run_all()
    # A write that was taken back leaves other bytes, and a dump takes long.
    assert shop.read_bytes() == pristine_shop.read_bytes() or dump(shop) == before


def test_no_attack_changes_the_file_through_the_engine_even_when_it_raises_nothing(shop: Path) -> None:
    before = shop.read_bytes()
    with closing(open_connection(shop, Policy(SQLITE))) as connection:
        connection.set_progress_handler(lambda: 1, 1_000_000)
        for attack in ATTACKS:
            for statement in statements_of(attack["sql"]):
                try:
                    connection.execute(statement).fetchmany(10)
                except (sqlite3.Error, ValueError):
                    continue
    assert shop.read_bytes() == before


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: honest["id"])
async def test_every_honest_statement_runs(honest: dict[str, Any], opened: OpenShop) -> None:
    async with opened(pool_size=1) as source:
        answer = await source.query(honest["sql"])
        assert not answer.is_error, answer.text
        assert answer.facts.verdict == "allow"


@pytest.mark.parametrize("sql", ["(SELECT 1)", "((SELECT 1))", "(VALUES (1))"])
def test_parenthesised_queries_are_allowed_though_sqlite_itself_cannot_read_them(sql: str) -> None:
    assert judge(sql, Policy(SQLITE)).allowed
