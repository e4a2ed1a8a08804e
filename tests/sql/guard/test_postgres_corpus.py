"""PostgreSQL's corpus against the real engine: every attack does what it says, every honest statement runs.

`proof` of an attack: "changes: <query>", whose answer is another one afterwards; "shows: <expression>", which
is found in the attack's own answer; or "runs", without an error.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from databases.database import Database
from sql.corpus_files import load
from sql.postgres_client import ask_each
from sql.postgres_shop import EXTENSIONS, SHOP

ATTACKS = load("postgres_attacks")
HONEST = load("postgres_honest")


@pytest.fixture(scope="module")
def shop(postgres: Database) -> Iterator[str]:
    """A throw-away database; each statement gets the shop anew, as many of them take it apart."""
    name = "corpus_shop"
    postgres.run(f"DROP DATABASE IF EXISTS {name}")
    postgres.run(f"CREATE DATABASE {name}")
    postgres.run("\n".join(f"CREATE EXTENSION {extension};" for extension in EXTENSIONS), database=name)
    postgres.run(SHOP, database=name)
    yield name
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")
    # What attacks change beyond their database, for other tests share the server.
    postgres.run("UPDATE pg_authid SET rolsuper = false WHERE rolname = 'pg_monitor'")
    postgres.run("ALTER SYSTEM RESET ALL")
    postgres.run("SELECT pg_reload_conf()")


@pytest.fixture(scope="module")
def read(shop: str, postgres: Database) -> dict[str, str]:
    """What honest reads said, by their id. They change nothing, not even their session: one does for all."""
    reads = [honest for honest in HONEST if "mode" not in honest]
    answers = ask_each(postgres, shop, *(honest["sql"] for honest in reads))
    return dict(zip((honest["id"] for honest in reads), answers, strict=True))


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: honest["id"])
def test_every_honest_statement_runs(
    honest: dict[str, Any], shop: str, postgres: Database, read: dict[str, str]
) -> None:
    said = "".join(ask_each(postgres, shop, SHOP, honest["sql"])) if "mode" in honest else read[honest["id"]]
    assert "ERROR:" not in said


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["id"])
def test_every_attack_does_what_it_says(attack: dict[str, Any], shop: str, postgres: Database) -> None:
    kind, _, detail = attack["proof"].partition(": ")
    if kind == "changes":
        made, before, said, after = ask_each(postgres, shop, SHOP, detail, attack["sql"], detail)
        assert "ERROR" not in made + before
        assert before != after, said
        return
    made, said = ask_each(postgres, shop, SHOP, attack["sql"])
    assert "ERROR" not in made
    if kind == "shows":
        assert re.search(detail, said), said
    else:
        assert kind == "runs"
        assert "ERROR:" not in said, said
