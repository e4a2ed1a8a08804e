"""The guard against PostgreSQL's own grammar: what that sees in an allowed read is on the guard's lists."""

from random import Random
from typing import Any

import pytest
from sql.corpus_files import load
from sql.postgres_tree import found_in, syntax_error

from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import significant

READS = [entry for entry in load("postgres_honest") if "mode" not in entry]
ATTACKS = [entry for entry in load("postgres_attacks") if "mode" not in entry]
# libpg_query makes tokens of comments, so that it misses what its scanner looks ahead for.
READ_OTHERWISE = [
    "SELECT 1 WHERE 2 NOT /**/ IN (3)",
    "SELECT n FROM (VALUES (1)) v (n) ORDER BY n NULLS -- last\n FIRST",
    "SELECT U&'a!0062' /* c */ UESCAPE '!'",
    "SELECT CAST(now() AS timestamp WITH /**/ TIME ZONE)",
    "SELECT 'a' -- c\n 'b'",
]
# Put where a token was, or between two.
NEW = [
    *("evil(1)", "evil", "evil 'x'", "::evil", "CAST(1 AS evil)", "TREAT(1 AS evil)", "AS (a evil)"),
    *(".pg_read_file", "(x).pg_sleep.lower", "(x)[1].pg_sleep", "evil.lower(1)", "LATERAL evil(1)", "lower("),
    *("@#@", "OPERATOR(shop.+)", "USING @#@", "INTO evil", "FOR UPDATE", "AS MATERIALIZED (DELETE FROM t)"),
    *(
        "= 'x'::evil",
        "= CAST(a AS evil)",
        "coalesce(CAST(-1 AS evil))",
        "= ANY (ARRAY[1]::evil[])",
        "-",
        "1",
        "null::evil",
    ),
    *("TABLESAMPLE evil (1)", "ROWS FROM (evil(1))", "RETURNING evil", "FILTER (WHERE", "OVER (", "COLLATE"),
    *(
        "(",
        ")",
        "[",
        "]",
        ",",
        "*",
        "AS",
        "ON",
        "FROM",
        "WHERE",
        "GROUP BY",
        "ANY",
        "ROW",
        "ARRAY",
        "'x'",
        "a",
    ),
]


@pytest.mark.parametrize("honest", READS, ids=lambda honest: honest["id"])
def test_postgres_sees_in_an_honest_read_what_the_guard_allows(honest: dict[str, Any]) -> None:
    assert found_in(honest["sql"]) == []


def test_postgres_sees_what_is_wrong_with_an_attack() -> None:
    """So that the opinion above is worth something. Other attacks aim at tables, sizes or settings."""
    seen = [attack["id"] for attack in ATTACKS if found_in(attack["sql"])]
    assert len(seen) > 0.7 * len(ATTACKS)


@pytest.mark.parametrize("sql", READ_OTHERWISE)
def test_the_library_reads_some_statements_otherwise_than_the_server(sql: str) -> None:
    """Why the guard does not rely on it (docs/decisions/0001-libraries.md). Should this fail, decide anew."""
    assert syntax_error(sql) is not None
    assert judge(sql, Policy(POSTGRES)).allowed


def test_what_postgres_finds_in_honest_reads_with_something_put_in_is_refused() -> None:
    random = Random(20261116)
    policy = Policy(POSTGRES)
    texts = [[token.text for token in significant(POSTGRES.lex(entry["sql"]))] for entry in READS]
    refused = 0
    for _ in range(30_000):
        tokens = list(random.choice(texts))
        for _ in range(random.choice((1, 1, 2))):
            at = random.randrange(len(tokens))
            tokens[at : at + random.choice((0, 1))] = [random.choice(NEW)]
        sql = " ".join(tokens)
        if found := found_in(sql):
            assert not judge(sql, policy).allowed, (found, sql)
            refused += 1
    assert refused > 500, "too little of what is made is worth judging"
