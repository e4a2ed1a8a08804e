"""The guard's verdicts: codes, rules, wording, tables; and that what it allows changes nothing."""

import logging
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate.model.verdict import Allow, Deny
from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import MAX_NESTING, Policy
from callgate.sql.settings import Mode

READ_ONLY = Policy(SQLITE)
WRITE = Policy(SQLITE, mode=Mode.WRITE)
DDL = Policy(SQLITE, mode=Mode.WRITE, allow_ddl=True)


def refusal(sql: str, policy: Policy = READ_ONLY) -> Deny:
    verdict = judge(sql, policy).verdict
    assert isinstance(verdict, Deny), f"allowed: {sql}"
    return verdict


def test_a_write_in_read_only_mode_is_refused_in_the_seeds_words_with_the_tomls_advice() -> None:
    deny = refusal("INSERT INTO t VALUES (1)")
    assert (deny.code.code, deny.rule) == ("refused.read_only", "read_only")
    assert deny.reason == "INSERT operations are not allowed in READ-ONLY mode."
    assert 'mode = "write"' in deny.hint
    assert "callgate.toml" in deny.hint


def test_a_source_from_the_environment_is_told_about_its_variable_where_there_is_one() -> None:
    wording = replace(SQLITE.wording, write_variable="MYSQL_ALLOW_WRITE")
    mysql = Policy(replace(SQLITE, wording=wording), from_environment=True)
    assert "MYSQL_ALLOW_WRITE=true" in refusal("DELETE FROM t", mysql).hint
    hint = refusal("DELETE FROM t", Policy(SQLITE, from_environment=True)).hint
    assert "ALLOW_WRITE" not in hint
    assert 'callgate.toml with mode = "write"' in hint


@pytest.mark.parametrize("policy", [READ_ONLY, WRITE, DDL])
def test_drop_is_dangerous_and_never_allowed(policy: Policy) -> None:
    deny = refusal("DROP TABLE t", policy)
    assert deny.code.code == "refused.forbidden"
    assert "operations are dangerous and" in deny.reason


@pytest.mark.parametrize(
    ("sql", "statement_type", "tables"),
    [
        ("SELECT * FROM shop.orders o JOIN Customers ON 1", "SELECT", ("shop.orders", "Customers")),
        ("WITH a AS (SELECT * FROM t) SELECT * FROM a, [b c]", "SELECT", ("t", "b c")),
        ("SELECT 1 WHERE 1 IN main.t2", "SELECT", ("main.t2",)),
        ("SELECT * FROM t INDEXED BY i", "SELECT", ("t",)),
        ("SELECT * FROM json_each('[1]')", "SELECT", ()),
        ("EXPLAIN QUERY PLAN SELECT * FROM t", "EXPLAIN", ("t",)),
        ("PRAGMA table_info(t)", "PRAGMA", ()),
        ("VALUES (1)", "VALUES", ()),
    ],
)
def test_a_statement_knows_its_type_and_tables(
    sql: str, statement_type: str, tables: tuple[str, ...]
) -> None:
    judgement = judge(sql, READ_ONLY)
    assert judgement.verdict == Allow()
    assert (judgement.statement_type, sorted(judgement.tables)) == (statement_type, sorted(tables))


def test_a_refused_write_still_names_the_table_it_aimed_at() -> None:
    assert judge("WITH a AS (SELECT 1) REPLACE INTO shop.t SELECT * FROM a", READ_ONLY).tables == ("shop.t",)


def test_the_exact_text_of_each_statement_is_kept() -> None:
    judgement = judge(" /* a */ SELECT  1 ; ; select\n'x;y' -- end", READ_ONLY)
    assert [statement.text for statement in judgement.statements] == ["SELECT  1", "select\n'x;y'"]


def test_one_refused_statement_of_several_refuses_all_and_says_which() -> None:
    deny = refusal("SELECT 1; DELETE FROM t; SELECT 2")
    assert "Statement 2 of 3; none of them was run" in deny.hint


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t (a, b) VALUES (1, 2)",
        "INSERT INTO main.t AS x (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = excluded.a",
        "INSERT OR IGNORE INTO t SELECT * FROM u",
        "REPLACE INTO t VALUES (abs(1))",
        "WITH a AS (SELECT 1) REPLACE INTO t SELECT * FROM a",
        "UPDATE t SET a = 1, b = upper(c) WHERE id = 2 RETURNING *",
        "UPDATE OR REPLACE t SET (a, b) = (1, 2)",
        "DELETE FROM t WHERE a IN (SELECT b FROM u) RETURNING a",
        "BEGIN; UPDATE t SET a = 1; SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; RELEASE s; COMMIT",
        "BEGIN IMMEDIATE TRANSACTION; DELETE FROM t; END TRANSACTION",
        "SELECT 1",
    ],
)
def test_write_mode_allows_writes_and_whole_transactions(sql: str) -> None:
    assert judge(sql, WRITE).allowed, judge(sql, WRITE).verdict


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN",
        "BEGIN; BEGIN; COMMIT",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT a",
        "BEGIN; COMMIT; RELEASE a",
        "BEGIN; SELECT 1",
    ],
)
def test_a_transaction_that_does_not_end_in_its_call_is_refused(sql: str) -> None:
    assert refusal(sql, WRITE).rule == "transaction"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, p DECIMAL(10, 2) DEFAULT (1), CHECK (p > 0), UNIQUE (p))",
        "CREATE TABLE IF NOT EXISTS main.t (a REFERENCES u (id), FOREIGN KEY (a) REFERENCES u (id))",
        "CREATE UNIQUE INDEX i ON t (a, lower(b))",
        "CREATE VIEW v (a) AS SELECT 1",
        "CREATE TABLE t AS SELECT abs(1)",
        "ALTER TABLE t ADD COLUMN x VARCHAR(20)",
        "ALTER TABLE t RENAME TO u",
    ],
)
def test_ddl_runs_only_where_the_operator_allowed_it(sql: str) -> None:
    assert judge(sql, DDL).allowed, judge(sql, DDL).verdict
    assert refusal(sql, WRITE).rule == "ddl"
    assert refusal(sql, READ_ONLY).code.code == "refused.forbidden"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE x USING fts5(a)",
        "CREATE TEMP TABLE x (a)",
        "ALTER TABLE t DROP COLUMN a",
        "DROP TABLE t",
        "CREATE TABLE t AS SELECT zeroblob(10000000)",
        "CREATE TABLE t AS SELECT 1 FROM a JOIN b ON evil(1)",
        "CREATE INDEX i ON t (evil(a))",
    ],
)
def test_some_ddl_is_refused_even_then(sql: str) -> None:
    refusal(sql, DDL)


def test_the_operator_can_add_functions_but_not_the_forbidden_ones() -> None:
    policy = Policy(SQLITE, allow_functions=frozenset({"my_fn", "load_extension"}))
    assert judge("SELECT My_Fn(1), [MY_FN](2)", policy).allowed
    assert refusal("SELECT my_fn(1)").rule == "function"
    assert refusal("SELECT load_extension('x')", policy).rule == "forbidden_function"


def test_unqualified_names_are_refused_only_where_wanted() -> None:
    policy = Policy(SQLITE, require_qualified=True, schema="shop")
    deny = refusal("WITH a AS (SELECT 1) SELECT * FROM orders, a", policy)
    assert deny.rule == "unqualified_table"
    assert "orders" in deny.reason
    assert "shop.orders" in deny.hint
    assert judge("WITH a AS (SELECT 1) SELECT * FROM shop.orders, a", policy).allowed


@pytest.mark.parametrize(
    ("opening", "closing_"),
    [
        ("(", ")"),
        ("abs(", ")"),
        ("(SELECT ", ")"),
        ("CASE WHEN 1 THEN ", " END"),
        ("CAST(", " AS INT)"),
        ("EXISTS(SELECT ", ")"),
        ("sum(", ") OVER (ORDER BY 1)"),
        ("(CASE WHEN ", " THEN 1 END)"),
    ],
)
def test_nesting_is_allowed_to_the_limit_and_refused_beyond_it(opening: str, closing_: str) -> None:
    levels = opening.count("(") + opening.count("CASE")
    fits = (MAX_NESTING - 1) // levels
    assert judge("SELECT " + opening * fits + "1" + closing_ * fits, READ_ONLY).allowed
    for depth in (MAX_NESTING + 1, 200, 400):
        sql = "SELECT " + opening * depth + "1" + closing_ * depth
        if len(sql) <= 10_000:
            assert refusal(sql).rule == "nesting"


@pytest.mark.parametrize("operator", ["NOT ", "- ", "~"])
def test_long_chains_of_operators_end_in_a_verdict_and_not_in_a_recursion_error(operator: str) -> None:
    assert refusal("SELECT " + operator * 2_000 + "1").rule == "nesting"


def test_what_a_text_is_searched_for_must_be_written_out_and_the_refusal_says_how() -> None:
    deny = refusal("SELECT instr(a, b) FROM t")
    assert (deny.code.code, deny.rule) == ("refused.function", "needle")
    assert "LIKE '%' || b || '%'" in deny.hint
    assert "char()" in refusal("SELECT trim(a, b) FROM t").hint
    assert refusal("SELECT instr(a, b", WRITE)
    assert judge("SELECT a FROM t WHERE instr(a, 'x') AND replace(a, b, '')", READ_ONLY).allowed


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(a AS UNSIGNED BIG evil(1))",
        "SELECT CAST(a AS UNSIGNED BIG, evil(1))",
        "SELECT CAST(a AS big int) FROM dbstat",
        "SELECT CAST(evil(1) AS UNSIGNED BIG INT)",
        "SELECT CAST((SELECT 1 AS a b) AS BIG INT)",
    ],
)
def test_nothing_hides_behind_a_type_of_several_words(sql: str) -> None:
    refusal(sql)


def test_joins_without_on_cannot_hold_the_interpreter() -> None:
    assert refusal("SELECT * FROM t" + " JOIN t" * 25).rule == "parser_budget"
    assert judge("SELECT * FROM t" + " JOIN t ON 1" * 60, READ_ONLY).allowed
    assert judge("SELECT * FROM t" + " NATURAL JOIN t" * 5, READ_ONLY).allowed


def test_the_parser_does_not_log_what_it_gives_up_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for sql in ("REPLACE INTO t VALUES (1)", "EXPLAIN SELECT 1", "VACUUM INTO 'x'", "SHOW TABLES"):
            judge(sql, WRITE)
    assert not caplog.records


def test_statements_of_other_engines_are_answered_with_what_to_write_here() -> None:
    assert "sqlite_master" in refusal("SHOW TABLES").hint
    assert "PRAGMA table_info" in refusal("DESCRIBE t").hint
    assert "SELECT * FROM" in refusal("TABLE t").hint


fragments = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "t",
        "u",
        "*",
        "1",
        "'x'",
        '"t"',
        "[u]",
        "`a`",
        "a",
        "b",
        "(",
        ")",
        ",",
        "=",
        "INSERT INTO t VALUES (9, 9)",
        "DELETE FROM t",
        "UPDATE t SET a = 7",
        "DROP TABLE t",
        "CREATE TABLE z (a)",
        "REPLACE",
        "INTO",
        "VALUES",
        "WITH",
        "AS",
        "RECURSIVE",
        "UNION ALL",
        "ORDER BY",
        "LIMIT",
        "PRAGMA",
        "user_version",
        "table_info",
        "= 5",
        "(5)",
        "EXPLAIN",
        "QUERY PLAN",
        "BEGIN",
        "COMMIT",
        "VACUUM",
        "REINDEX",
        "ATTACH ':memory:' AS m",
        "abs(1)",
        "replace(a, 1, 2)",
        "load_extension('x')",
        "--",
        "/*",
        "*/",
        "'",
        '"',
        "CASE WHEN 1 THEN 2 END",
        "RETURNING a",
        "journal_mode",
        "writable_schema",
        "ON CONFLICT DO NOTHING",
        "JOIN u ON 1",
        "MATERIALIZED",
        "json_each('[1]')",
        "dbstat",
        "x'00'",
        "IN",
        "EXISTS",
        "NOT",
        "OVER ()",
        "count(*)",
    ]
)
templates = st.sampled_from(
    [
        ["SELECT", "a", "FROM", "t", "WHERE", "b", "=", "1"],
        ["WITH", "x", "AS", "(", "SELECT", "1", ")", "SELECT", "*", "FROM", "x"],
        ["VALUES", "(", "1", ")"],
        ["PRAGMA", "table_info", "(", "t", ")"],
        ["EXPLAIN", "SELECT", "1"],
        ["SELECT", "1", ";", "SELECT", "2"],
    ]
)


@st.composite
def mutated_statements(draw: st.DrawFn) -> str:
    """An honest statement with a few pieces put in, taken out or doubled: many of them still parse."""
    words = list(draw(templates))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(words)))
        words[at : at + draw(st.integers(0, 1))] = [
            draw(st.one_of(fragments, st.sampled_from([";", "\n", " "])))
        ]
    return draw(st.sampled_from([" ", "/**/", "\n"])).join(words)


@settings(max_examples=examples(120))
@given(mutated_statements())
def test_what_the_guard_allows_changes_nothing_even_on_a_connection_without_any_other_protection(
    sql: str,
) -> None:
    judgement = judge(sql, READ_ONLY)
    if not judgement.allowed:
        return
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript("CREATE TABLE t (a, b); CREATE TABLE u (a); INSERT INTO t VALUES (1, 2)")
        before = list(connection.iterdump()), state_of(connection)
        for statement in judgement.statements:
            run_quietly(connection, statement.text)
        assert not connection.in_transaction
        assert (list(connection.iterdump()), state_of(connection)) == before


def run_quietly(connection: sqlite3.Connection, sql: str) -> None:
    error = ""
    try:
        connection.execute(sql).fetchmany(100)
    except sqlite3.Error as raised:
        error = str(raised)
    assert "one statement" not in error, sql


def state_of(connection: sqlite3.Connection) -> list[object]:
    names = ("user_version", "journal_mode", "writable_schema", "query_only", "database_list", "foreign_keys")
    return [*(connection.execute(f"PRAGMA {name}").fetchall() for name in names), connection.total_changes]


@settings(max_examples=examples(60))
@given(st.lists(fragments, max_size=25).map(" ".join))
def test_every_text_gets_a_verdict(sql: str) -> None:
    for policy in (READ_ONLY, WRITE, DDL):
        assert isinstance(judge(sql, policy).verdict, Allow | Deny)


@pytest.mark.parametrize("dialect", [SQLITE, DUCKDB, POSTGRES], ids=lambda dialect: dialect.name)
def test_thousands_of_signs_before_a_size_are_refused_like_any_other_depth(dialect: Dialect) -> None:
    name = "zeroblob(" if dialect is SQLITE else "repeat('x', "
    assert isinstance(judge(f"SELECT {name}{'- ' * 4000}1)", Policy(dialect)).verdict, Deny)
