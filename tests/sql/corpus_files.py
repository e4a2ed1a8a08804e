"""The corpora as values: statements that must be refused, and statements that must run.

`corpus/<engine>_attacks.jsonl` and `corpus/<engine>_honest.jsonl`, one object a line:

    id      unique in its file
    sql     one or more statements
    mode    read_only (taken when left out) or write
    ddl     true: with allow_ddl as well
    only    of an honest statement: where alone it runs: newer (than the tests' engine), mysql or mariadb
    code    of an attack: the error code that the guard must give
    proof   of an attack: how the engine's own test shows the harm (see that test); other keys are its own

`corpus/<engine>_refused.txt`, one statement a line: further attacks, for the guard alone.
"""

import json
from pathlib import Path
from typing import Any

from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import Mode

FOLDER = Path(__file__).parent / "corpus"
DIALECTS: tuple[Dialect, ...] = (SQLITE, MYSQL, DUCKDB, POSTGRES)


def load(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text().split("\n")  # U+2028 is no line end here
    entries = [json.loads(line) for line in lines if line]
    assert len({entry["id"] for entry in entries}) == len(entries), "an id is used twice"
    return entries


def load_all(kind: str) -> list[tuple[Dialect, dict[str, Any]]]:
    """The attacks or the honest statements of every engine."""
    return [(dialect, entry) for dialect in DIALECTS for entry in load(f"{dialect.name}_{kind}")]


def policy_for(dialect: Dialect, entry: dict[str, Any]) -> Policy:
    mode = Mode(entry.get("mode", "read_only"))
    return Policy(dialect, mode=mode, allow_ddl=entry.get("ddl", False))
