"""PostgreSQL's corpus against the real engine: every attack does what it says, every honest statement runs.

`proof` of an attack: "changes: <query>", whose answer is another one afterwards; "shows: <expression>", which
is found in the attack's own answer; or "runs", without an error.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from databases.database import Database
from sql.corpus_files import load
from sql.postgres_client import ask_each, ask_each_anew, made_when_changed
from sql.postgres_shop import EXTENSIONS, SHOP

ATTACKS = load("postgres_attacks")
HONEST = [entry for entry in load("postgres_honest") if "only" not in entry]


@pytest.fixture(scope="module")
def shop(postgres: Database) -> Iterator[str]:
    """A throw-away database, with what only a superuser may put there."""
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


def texts_of(entry: dict[str, Any]) -> list[str]:
    kind, _, detail = entry.get("proof", "").partition(": ")
    return [detail, entry["sql"], detail] if kind == "changes" else [entry["sql"]]


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("shop") / "shop.sql"
    file.write_text(made_when_changed(SHOP))
    return file


@pytest.fixture(scope="module")
def attacked(shop: str, postgres: Database, schema: Path) -> dict[str, list[str]]:
    """What making the shop said, and then each text of an attack, by its id."""
    answers = ask_each_anew(postgres, shop, schema, [texts_of(attack) for attack in ATTACKS])
    return dict(zip((attack["id"] for attack in ATTACKS), answers, strict=True))


@pytest.fixture(scope="module")
def written(shop: str, postgres: Database, schema: Path) -> dict[str, str]:
    """What making the shop and an honest write said, by the id of the write."""
    writes = [honest for honest in HONEST if "mode" in honest]
    answers = ask_each_anew(postgres, shop, schema, [texts_of(honest) for honest in writes])
    return {honest["id"]: "".join(said) for honest, said in zip(writes, answers, strict=True)}


@pytest.fixture(scope="module")
def read(shop: str, postgres: Database) -> dict[str, str]:
    """What honest reads said, by their id. They change nothing, not even their session: one does for all."""
    reads = [honest for honest in HONEST if "mode" not in honest]
    answers = ask_each(postgres, shop, *(honest["sql"] for honest in reads))
    return dict(zip((honest["id"] for honest in reads), answers, strict=True))


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: honest["id"])
def test_every_honest_statement_runs(
    honest: dict[str, Any], written: dict[str, str], read: dict[str, str]
) -> None:
    assert "ERROR:" not in (written if "mode" in honest else read)[honest["id"]]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["id"])
def test_every_attack_does_what_it_says(attack: dict[str, Any], attacked: dict[str, list[str]]) -> None:
    kind, _, detail = attack["proof"].partition(": ")
    if kind == "changes":
        made, before, said, after = attacked[attack["id"]]
        assert "ERROR" not in made + before
        assert before != after, said
        return
    made, said = attacked[attack["id"]]
    assert "ERROR" not in made
    if kind == "shows":
        assert re.search(detail, said), said
    else:
        assert kind == "runs"
        assert "ERROR:" not in said, said
