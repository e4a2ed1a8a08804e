"""Shapes: one judgement for texts that differ in values only, never for two that are judged differently."""

from random import Random
from typing import Any

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sql.corpus_files import DIALECTS, load_all, policy_for
from sql.other_values import judged_with_values, plain_text, seen, with_other_values

from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import MAX_QUERY_CHARS, Policy
from callgate.sql.guard.shapes import MARK, shape_of
from callgate.sql.server.verdicts import Verdicts
from callgate.sql.settings import Mode

CORPORA = load_all("honest") + load_all("attacks")
SHAPED = [
    (dialect, entry) for dialect, entry in CORPORA if MARK in (shape_of(entry["sql"], dialect.quotes) or "")
]


ENTRIES = st.sampled_from(CORPORA)
SEEDS = st.integers(min_value=0, max_value=2**32)


@given(ENTRIES, SEEDS)
@settings(max_examples=examples(100))
def test_with_any_values_a_text_is_judged_as_if_nothing_were_remembered(
    case: tuple[Dialect, dict[str, Any]], seed: int
) -> None:
    dialect, entry = case
    policy = policy_for(dialect, entry)
    random = Random(seed)
    verdicts = Verdicts(policy)
    texts = [entry["sql"], *(with_other_values(entry["sql"], dialect, random) for _ in range(4))]
    random.shuffle(texts)
    for text in texts:
        assert verdicts.judged(text) == judge(text, policy), text


@given(ENTRIES, SEEDS)
@settings(max_examples=examples(100))
def test_no_rule_wants_to_see_the_values_that_are_hidden_from_it(
    case: tuple[Dialect, dict[str, Any]], seed: int
) -> None:
    dialect, entry = case
    policy = policy_for(dialect, entry)
    text = with_other_values(entry["sql"], dialect, Random(seed))
    assert seen(judge(text, policy)) == seen(judged_with_values(text, policy)), text


def test_the_corpora_are_judged_alike_with_and_without_their_values() -> None:
    for dialect, entry in CORPORA:
        policy = policy_for(dialect, entry)
        assert seen(judge(entry["sql"], policy)) == seen(judged_with_values(entry["sql"], policy)), entry[
            "sql"
        ]


@given(st.sampled_from(SHAPED), SEEDS, st.text(st.characters(blacklist_categories=("Cs",)), max_size=20))
@settings(max_examples=examples(100))
def test_a_shape_filled_with_other_values_has_the_same_judgement(
    case: tuple[Dialect, dict[str, Any]], seed: int, written: str
) -> None:
    """Whatever is put in place of the marks: where the shape is the same, so is the judgement."""
    dialect, entry = case
    policy = policy_for(dialect, entry)
    shape = shape_of(entry["sql"], dialect.quotes)
    assert shape is not None
    random = Random(seed)
    parts = shape.split(MARK)
    text = parts[0]
    for part in parts[1:]:
        if text.endswith("'"):
            filling = f"{written}'" if random.random() < 0.5 else plain_text(random)[1:]
        else:
            filling = random.choice(("0", "5", "007", "2147483648", "1.5", "9" * 40, written))
        text += filling + part
    verdicts = Verdicts(policy)
    verdicts.judged(entry["sql"])
    assert verdicts.judged(text) == judge(text, policy), text


@given(st.sampled_from(DIALECTS), st.text("'\"`=<>-/*#\\;()., \n\t0159aeExXnN$:@[]&IN", max_size=40), SEEDS)
@settings(max_examples=examples(150))
def test_signs_in_any_order_never_make_two_statements_one_shape(
    dialect: Dialect, signs: str, seed: int
) -> None:
    policy = Policy(dialect)
    verdicts = Verdicts(policy)
    random = Random(seed)
    for value in ("5", "'x'", "' OR 1", random.choice(("'--", "'/*", "5--", "'\\", "e'\\'", "5'"))):
        text = f"SELECT a FROM t WHERE b = {value} {signs} AND c = 'd' AND e = 6"
        assert verdicts.judged(text) == judge(text, policy), text


# Judged differently, though nothing but a literal differs.
PAIRS = [
    (POSTGRES, "SELECT current_setting('TimeZone')", "SELECT current_setting('ssl_key_file')"),
    (POSTGRES, "SELECT repeat('x', 5)", "SELECT repeat('x', 2000000000)"),
    (POSTGRES, "SELECT format('%8s', 'a')", "SELECT format('%99999s', 'a')"),
    (POSTGRES, "SELECT array_fill(0, ARRAY[3])", "SELECT array_fill(0, ARRAY[300000])"),
    (
        POSTGRES,
        "EXPLAIN (ANALYZE false) DELETE FROM t WHERE a = 5",
        "EXPLAIN (ANALYZE 1) DELETE FROM t WHERE a = 5",
    ),
    (MYSQL, "SELECT /*+ MAX_EXECUTION_TIME(5) */ 1", "SELECT /*+ MAX_EXECUTION_TIME(50000) */ 1"),
    (MYSQL, "SELECT a FROM t WHERE b = 5", "SELECT a FROM t WHERE b = 5 /*! OR 1 */"),
    (MYSQL, "SELECT a FROM t WHERE b = '5'", "SELECT a FROM t WHERE b = '\\'' INTO OUTFILE 'x' -- '"),
    (SQLITE, "SELECT instr(a, 'x') FROM t", f"SELECT instr(a, '{'x' * 300}') FROM t"),
    (SQLITE, "SELECT zeroblob(5)", "SELECT zeroblob(500000)"),
    (SQLITE, "SELECT printf('%5d', 1)", "SELECT printf('%99999d', 1)"),
    (SQLITE, "SELECT * FROM 'orders'", "SELECT * FROM 'dbstat'"),
    (SQLITE, "SELECT 1 IN 'orders'", "SELECT 1 IN 'dbstat'"),
    (SQLITE, "PRAGMA 'table_info'(orders)", "PRAGMA 'writable_schema'(orders)"),
    (DUCKDB, "SELECT * FROM 'orders'", "SELECT * FROM 'orders.csv'"),
    (DUCKDB, "SELECT * FROM a, 'orders'", "SELECT * FROM a, 'orders.csv'"),
    (DUCKDB, "SELECT * FROM a JOIN b ON a.x IN (1), 'b'", "SELECT * FROM a JOIN b ON a.x IN (1), 'b.csv'"),
    (DUCKDB, "SELECT range(5)", "SELECT range(5000000)"),
    (DUCKDB, "SELECT 'x'.repeat(5)", "SELECT 'x'.repeat(5000000)"),
    (DUCKDB, "PRAGMA table_info('orders')", "PRAGMA table_info('x.csv')"),
    (DUCKDB, "DESCRIBE orders", "DESCRIBE 'x.csv'"),
    (
        POSTGRES,
        "SELECT setting FROM pg_settings WHERE name = 'work_mem'",
        "SELECT setting FROM pg_settings WHERE name = 'hba_file'",
    ),
    (
        POSTGRES,
        "SELECT setting FROM pg_settings WHERE name IN ('work_mem', 'jit')",
        "SELECT setting FROM pg_settings WHERE name IN ('work_mem', 'primary_conninfo')",
    ),
]


@pytest.mark.parametrize(("dialect", "harmless", "harmful"), PAIRS)
def test_where_a_rule_looks_at_a_value_it_is_a_part_of_the_shape(
    dialect: Dialect, harmless: str, harmful: str
) -> None:
    policy = Policy(dialect)
    assert judge(harmless, policy).allowed, "the pair must show something"
    assert not judge(harmful, policy).allowed
    for first, second in ((harmless, harmful), (harmful, harmless)):
        verdicts = Verdicts(policy)
        verdicts.judge(first)
        assert verdicts.remembered(second) is None


def test_a_storage_engine_in_quotes_is_seen_in_a_definition() -> None:
    policy = Policy(MYSQL, mode=Mode.WRITE, allow_ddl=True)
    verdicts = Verdicts(policy)
    assert verdicts.judge("CREATE TABLE t (a INT) ENGINE = 'InnoDB'").allowed
    assert verdicts.remembered("CREATE TABLE t (a INT) ENGINE = 'CONNECT'") is None


def test_values_in_known_places_make_no_new_shape() -> None:
    texts = {
        "SELECT a FROM t WHERE b = 5": "SELECT a FROM t WHERE b = 17",
        "SELECT a FROM t WHERE b = -5": "SELECT a FROM t WHERE b = -17.25",
        "SELECT a FROM t WHERE b>='x'": "SELECT a FROM t WHERE b>='2024-01-01'",
        "select a from t where b like '%x' or c <> 1": "select a from t where b like '-- /* DROP' or c <> 2",
        "SELECT a FROM t WHERE b IN (1, 2)": "SELECT a FROM t WHERE b IN (3, 4)",
        "SELECT a FROM t WHERE b IN ('x', NULL)": "SELECT a FROM t WHERE b IN ('(', NULL)",
        "SELECT a FROM t WHERE b BETWEEN 1 AND 2": "SELECT a FROM t WHERE b BETWEEN 3 AND 40",
        "SELECT 5 AS n, a FROM t LIMIT 1 OFFSET 2": "SELECT 66 AS n, a FROM t LIMIT 7 OFFSET 8",
        "SELECT CASE WHEN a = 1 THEN 'x' ELSE 'y' END": "SELECT CASE WHEN a = 2 THEN '' ELSE 'END' END",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v": "SELECT * FROM (VALUES (3, ''), (4, '),(')) v",
    }
    for dialect in DIALECTS:
        for first, second in texts.items():
            verdicts = Verdicts(Policy(dialect))
            verdicts.judge(first)
            known = verdicts.remembered(second)
            assert known == judge(second, Policy(dialect)), (dialect.name, second)
            assert known is not None
            assert known.statements[0].text == second


def test_values_elsewhere_and_other_kinds_of_values_do() -> None:
    texts = {
        "SELECT a FROM t WHERE b = 5": "SELECT a FROM t WHERE b = '5'",
        "SELECT a FROM t WHERE b = 6": "SELECT a FROM t WHERE b = -6",
        "SELECT a FROM t WHERE b IN (1, 2)": "SELECT a FROM t WHERE b IN (1, 2, 3)",
        "SELECT round(a, 1) FROM t": "SELECT round(a, 2) FROM t",
        "SELECT a FROM t ORDER BY 1": "SELECT a FROM t ORDER BY 2",
        "SELECT a FROM t WHERE b = 'x'": "SELECT a FROM t WHERE b = 'it''s'",
        "SELECT a FROM t WHERE b = 'y'": 'SELECT a FROM t WHERE b = "y"',
        "SELECT a FROM t WHERE b = 7": "SELECT a FROM t WHERE b = 7.",
        "SELECT t1 FROM t WHERE b = 8": "SELECT t2 FROM t WHERE b = 8",
        "SELECT a FROM t WHERE b = 9": "SELECT a FROM t WHERE b = 9 -- 9",
    }
    for dialect in DIALECTS:
        for first, second in texts.items():
            verdicts = Verdicts(Policy(dialect))
            verdicts.judge(first)
            assert verdicts.remembered(second) is None, (dialect.name, second)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_mark_itself_in_a_text_is_not_taken_for_a_value(dialect: Dialect) -> None:
    verdicts = Verdicts(Policy(dialect))
    assert verdicts.judge("SELECT a FROM t WHERE b = 5 AND c = 'x'").allowed
    for text in (
        "SELECT a FROM t WHERE b = \0 AND c = 'x'",
        "SELECT a FROM t WHERE b = \0 AND c = '\0",
        "SELECT a FROM t WHERE b = 5 AND c = '\0",
    ):
        assert verdicts.remembered(text) is None
        assert not verdicts.judge(text).allowed


def test_of_several_statements_only_the_same_text_is_known() -> None:
    verdicts = Verdicts(Policy(SQLITE))
    for text in ("SELECT a FROM t WHERE b = 5; SELECT 1", "SELECT evil(a) FROM t WHERE b = 5; SELECT 1"):
        judgement = verdicts.judge(text)
        assert verdicts.remembered(text) == judgement
        assert verdicts.remembered(text.replace("5", "6666")) is None


def test_blanks_and_semicolons_around_a_statement_are_no_part_of_it() -> None:
    verdicts = Verdicts(Policy(SQLITE))
    verdicts.judge(";\n SELECT a FROM t WHERE b = 5 ;;\n")
    known = verdicts.remembered(";\n SELECT a FROM t WHERE b = 66666 ;;\n")
    assert known is not None
    assert known.statements[0].text == "SELECT a FROM t WHERE b = 66666"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_comment_is_a_part_of_the_shape(dialect: Dialect) -> None:
    policy = Policy(dialect)
    verdicts = Verdicts(policy)
    text = "-- it's the day's orders = 5\nSELECT a /* b = 5 */ FROM t WHERE b = 5 -- 'five'\n"
    verdicts.judge(text)
    for other in (
        text.replace("5", "6"),
        text.replace("b = 5 -- ", "b = 6666 -- "),
        text.replace("five", "six"),
    ):
        assert verdicts.judged(other) == judge(other, policy)
    commented = "/* first */ SELECT a FROM t WHERE b = 5 -- last"
    verdicts.judge(commented)
    known = verdicts.remembered(commented.replace("5", "6666"))
    assert known is not None
    assert known.statements[0].text == "SELECT a FROM t WHERE b = 6666"
    assert verdicts.remembered(commented.replace("last", "first")) is None


def test_a_refusal_is_known_by_its_shape_too() -> None:
    verdicts = Verdicts(Policy(SQLITE))
    verdicts.judge("DELETE FROM t WHERE b = 5")
    known = verdicts.remembered("DELETE FROM t WHERE b = 66")
    assert known == judge("DELETE FROM t WHERE b = 66", Policy(SQLITE))
    assert known is not None
    assert known.rule == "read_only"


def test_a_text_that_is_too_long_is_not_known_by_a_short_one() -> None:
    verdicts = Verdicts(Policy(SQLITE))
    verdicts.judge("SELECT a FROM t WHERE b = 'x'")
    long = f"SELECT a FROM t WHERE b = '{'x' * MAX_QUERY_CHARS}'"
    assert verdicts.remembered(long) is None
    assert verdicts.judge(long).rule == "length"
    assert verdicts.remembered(long) is None, "it would take memory without end"


def test_only_so_many_are_remembered_and_the_last_used_stay() -> None:
    verdicts = Verdicts(Policy(SQLITE))
    verdicts.judge("SELECT a FROM kept WHERE b = 1")
    for number in range(400):
        verdicts.judge(f"SELECT a{number}")
        assert verdicts.remembered(f"SELECT a FROM kept WHERE b = {number}") is not None
    known = [number for number in range(400) if verdicts.remembered(f"SELECT a{number}") is not None]
    assert known == list(range(400 - len(known), 400))
    assert len(known) == 255
