"""Columns that count the steps of a recursive query: known wherever it stands, and never by name alone."""

import pytest
from sql.corpus_files import DIALECTS, FOLDER

from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import Policy

_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}
_TREE = (
    "WITH RECURSIVE tree AS (SELECT id, 0 AS depth FROM shop.a UNION ALL"
    " SELECT c.id, t.depth + 1 FROM shop.a c JOIN tree t ON c.parent = t.id)"
)
_DRAWN = f"{_TREE} SELECT rpad('x', depth) FROM tree"
_LARGE = "WITH RECURSIVE tree AS (SELECT id, 2000000000 AS depth FROM shop.a)"
_ENGINES = ["postgres", "duckdb"]  # MySQL limits what a call makes, SQLite has neither repeat nor rpad
_AROUND = [
    *("{}", "({})", "SELECT * FROM ({}) x", "SELECT (SELECT max(x.y) FROM ({}) x)", "SELECT EXISTS ({})"),
    *("WITH x AS ({}) SELECT * FROM x", "SELECT 1 UNION ALL ({})", "SELECT * FROM shop.tree, ({}) x"),
    *("EXPLAIN {}", f"{_TREE} SELECT * FROM ({{}}) x", f"{_LARGE} SELECT * FROM ({{}}) x"),
]


def allows(sql: str, engine: str) -> bool:
    return judge(sql, Policy(_BY_NAME[engine])).allowed


@pytest.mark.parametrize("around", _AROUND)
@pytest.mark.parametrize("engine", _ENGINES)
def test_a_tree_is_drawn_wherever_its_query_stands(engine: str, around: str) -> None:
    sql = around.replace("{}", _DRAWN)
    assert allows(sql, engine), sql


@pytest.mark.parametrize("around", _AROUND)
@pytest.mark.parametrize("engine", _ENGINES)
def test_what_counts_nothing_is_refused_wherever_it_stands(engine: str, around: str) -> None:
    refused = [
        line
        for line in (FOLDER / f"{engine}_refused.txt").read_text().splitlines()
        if line.startswith("WITH RECURSIVE tree")
    ]
    assert len(refused) > 10
    allowed = [sql for sql in (around.replace("{}", line) for line in refused) if allows(sql, engine)]
    assert allowed == []


@pytest.mark.parametrize("engine", _ENGINES)
@pytest.mark.parametrize(
    "sql",
    [
        # Beside, before and around the query: there the name means something else.
        f"SELECT rpad('x', depth) FROM ({_TREE} SELECT 2000000000 AS depth FROM tree) x",
        f"SELECT rpad('x', depth) FROM shop.tree, ({_TREE} SELECT 1 FROM tree) x",
        f"SELECT rpad('x', tree.depth) FROM shop.tree WHERE EXISTS ({_TREE} SELECT 1 FROM tree)",
        f"SELECT (SELECT count(*) FROM ({_TREE} SELECT * FROM tree) x), rpad('x', depth) FROM shop.tree",
        f"({_TREE} SELECT depth FROM tree) UNION ALL (SELECT rpad('x', depth) FROM tree)",
        (
            f"WITH x AS ({_TREE} SELECT * FROM tree), tree AS (SELECT 2000000000 AS depth)"
            " SELECT rpad('x', depth) FROM tree"
        ),
        # A WITH of its own below.
        (
            f"SELECT * FROM ({_TREE} SELECT * FROM (WITH tree AS (SELECT 2000000000 AS depth)"
            " SELECT rpad('x', depth) FROM tree) y) x"
        ),
        (
            f"{_TREE} SELECT * FROM (WITH RECURSIVE tree AS (SELECT 1, 2000000000 AS depth)"
            " SELECT rpad('x', depth) FROM tree) y"
        ),
        f"{_TREE} SELECT * FROM ({_TREE} SELECT 1 FROM tree) y, (SELECT rpad('x', depth) FROM shop.tree) z",
    ],
)
def test_the_name_of_a_counter_means_it_within_its_query_alone(engine: str, sql: str) -> None:
    assert not allows(sql, engine), sql


@pytest.mark.parametrize(
    "sql", ["SELECT system_user", "SELECT 1 WHERE system_user <> 'x' AND length(system_user) > 2"]
)
def test_who_logged_in_may_be_read(sql: str) -> None:
    """A word of PostgreSQL 16 and newer; the tree of PostgreSQL 18 calls it a function."""
    assert allows(sql, "postgres")
