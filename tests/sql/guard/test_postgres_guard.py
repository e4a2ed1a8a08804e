"""The guard on PostgreSQL: what the corpus does not say by itself."""

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sql.corpus_files import load, policy_for

from callgate.model.verdict import Allow, Deny
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import word_set
from callgate.sql.settings import Mode

READ_ONLY = Policy(POSTGRES)
WRITE = Policy(POSTGRES, mode=Mode.WRITE)
DDL = Policy(POSTGRES, mode=Mode.WRITE, allow_ddl=True)


def refusal(sql: str, policy: Policy = READ_ONLY) -> Deny:
    verdict = judge(sql, policy).verdict
    assert isinstance(verdict, Deny), f"allowed: {sql}"
    return verdict


@pytest.mark.parametrize(
    ("sql", "statement_type", "tables"),
    [
        ("SELECT * FROM shop.orders o JOIN Customers ON true", "SELECT", {"shop.orders", "Customers"}),
        ('WITH a AS (SELECT * FROM t) SELECT * FROM A, "Odd T"', "SELECT", {"t", "Odd T"}),
        ('WITH a AS (SELECT 1) SELECT * FROM "A"', "SELECT", {"A"}),
        ("TABLE shop.orders", "TABLE", {"shop.orders"}),
        ("SELECT * FROM generate_series(1, 2) AS g (n)", "SELECT", set()),
        ("EXPLAIN (ANALYZE) SELECT * FROM t", "EXPLAIN", {"t"}),
        ("SHOW work_mem", "SHOW", set()),
        ('SELECT * FROM shop."order"', "SELECT", {"shop.order"}),
    ],
)
def test_a_statement_knows_its_type_and_tables(sql: str, statement_type: str, tables: set[str]) -> None:
    judgement = judge(sql, READ_ONLY)
    assert judgement.verdict == Allow()
    assert (judgement.statement_type, set(judgement.tables)) == (statement_type, tables)


def test_a_write_inside_with_makes_the_statement_a_write() -> None:
    judgement = judge("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", WRITE)
    assert judgement.allowed
    assert judgement.statements[0].is_write
    assert not judge("EXPLAIN DELETE FROM t", WRITE).statements[0].is_write


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("INSERT INTO t VALUES (1)", "read_only"),
        ("SELECT a INTO b FROM t", "hidden_statement"),
        ("SELECT * FROM pg_authid", "hidden_table"),
        ("SELECT (1).pg_sleep", "attribute"),
        ("SELECT ('x'::text).mine", "attribute"),
        ("SELECT 1::mine", "type"),
        ("SELECT mine 'x'", "type"),
        ("SELECT 1 @#@ 2", "operator"),
        ("SELECT 1 OPERATOR(mine.+) 2", "operator"),
        ("SELECT treat(1 AS mine)", "treat"),
        ("SELECT mine(1)", "function"),
        ("SELECT pg_read_file('x')", "forbidden_function"),
        ("SELECT nextval('s')", "sequence"),
        ("SELECT current_setting(a) FROM t", "setting_name"),
        ("SHOW primary_conninfo", "secret_setting"),
        ("SHOW TABLES", "show"),
        ("EXPLAIN (ANALYZE) DELETE FROM t", "explain"),
        ("EXPLAIN (WAIT) SELECT 1", "explain"),
        ("COPY t TO STDOUT", "never"),
        ("DROP TABLE t", "never"),
        ("CREATE TABLE t (a int)", "ddl"),
        ("DESCRIBE t", "unknown_statement"),
        ("SELECT $1", "placeholder"),
        ("BEGIN", "read_only"),
    ],
)
def test_a_refusal_names_its_rule_and_what_to_do(sql: str, rule: str) -> None:
    deny = refusal(sql)
    assert (deny.rule, bool(deny.reason), bool(deny.hint)) == (rule, True, True)


def test_statements_of_other_engines_are_answered_with_what_to_write_here() -> None:
    assert "information_schema.tables" in refusal("SHOW TABLES").hint
    assert "information_schema.columns" in refusal("DESC t").hint
    assert "ON CONFLICT" in refusal("REPLACE INTO t VALUES (1)", WRITE).hint


def test_the_operator_can_vouch_for_functions_and_types_but_not_for_the_forbidden_ones() -> None:
    policy = Policy(
        POSTGRES, allow_functions=frozenset({"mine", "shop.mine", "shop.money", "pg_read_file", "dblink"})
    )
    assert judge("SELECT mine(1), shop.mine(2), a::shop.money, (a).mine FROM t", policy).allowed
    assert refusal("SELECT other.mine(1)", policy).rule == "function"
    assert refusal("SELECT pg_read_file('x')", policy).rule == "forbidden_function"
    assert refusal("SELECT ('x'::text).pg_read_file", policy).rule == "attribute"


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN; BEGIN; COMMIT",
        "COMMIT",
        "BEGIN; SELECT 1",
        "BEGIN; COMMIT AND CHAIN",
        "BEGIN; PREPARE TRANSACTION 'x'",
        "COMMIT PREPARED 'x'",
        "SAVEPOINT a",
        "START TRANSACTION; ROLLBACK TO a; COMMIT; RELEASE a",
        "BEGIN ISOLATION LEVEL mine; COMMIT",
    ],
)
def test_transactions_that_do_not_end_in_their_call_are_refused(sql: str) -> None:
    refusal(sql, WRITE)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TRIGGER x AFTER INSERT ON t EXECUTE FUNCTION f()",
        "CREATE EXTENSION dblink",
        "CREATE FOREIGN TABLE t (a int) SERVER s",
        "CREATE TEMP TABLE t (a int)",
        "CREATE TABLE t AS EXECUTE p",
        "CREATE TABLE t AS SELECT mine(1)",
        "CREATE TABLE t AS SELECT ('/etc/passwd'::text).pg_read_file",
        "CREATE TABLE t AS SELECT 1::mine",
        "CREATE TABLE t AS SELECT * FROM pg_authid",
        "CREATE TABLE t AS SELECT 1 @#@ 2",
        "CREATE TABLE t (a int DEFAULT mine(1))",
        "CREATE INDEX i ON t (mine(a))",
        "CREATE TABLE pg_catalog.t (a int)",
        "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE RULE r AS ON SELECT TO t DO INSTEAD SELECT 1",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t ADD COLUMN b int, DROP COLUMN a",
        "ALTER TABLE t OWNER TO x",
        "ALTER TABLE t ALTER COLUMN a TYPE text USING mine(a)",
        "ALTER TABLE t DISABLE ROW LEVEL SECURITY",
        "ALTER SYSTEM SET work_mem = 1",
        "ALTER ROLE x SUPERUSER",
        "ALTER VIEW v RENAME TO w",
    ],
)
def test_some_ddl_is_refused_even_where_the_operator_allowed_it(sql: str) -> None:
    refusal(sql, DDL)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT join(1)",
        "SELECT ilike('a', 'b')",
        "SELECT similar(1)",
        "SELECT * FROM a JOIN b ON conflict(1)",
        "SELECT NOT materialized(1)",
        "SELECT filter(1)",
        "SELECT over(1)",
        "SELECT set(1)",
        "SELECT zone(1)",
        "SELECT operator(1)",
        "SELECT * FROM a, mine(1) AS (values int)",
        "SELECT * FROM json_to_record('{}') AS (a int), mine(1) AS (a int)",
        "SELECT DISTINCT ON (a) mine(b) FROM t",
        "SELECT xmlroot(a, version mine(b)) FROM t",
        "SELECT 1 FROM t TABLESAMPLE mine(1)",
        "SELECT JSON_VALUE('{}', '$' RETURNING mine)",
        "SELECT * FROM XMLTABLE('/a' PASSING b COLUMNS c mine PATH '.')",
        'SELECT "int"(1)',
        "SELECT 1::\"int\"",
        'SELECT "Lower"(1)',
        "SELECT (current_date).mine",
        "SELECT (max(a) OVER ()).mine FROM t",
        "SELECT (SELECT 'x'::text).mine",
        "SELECT (SELECT lower(a) FROM t).mine",
        "SELECT (rollup(1))",
        "SELECT * FROM a, mine(1) a\u017f (b)",
        "SELECT t.mine FROM unnest(ARRAY['x']) t",
        "SELECT (t).mine FROM unnest(ARRAY['x']) WITH ORDINALITY AS t (a, b)",
        "SELECT t.mine FROM ROWS FROM (generate_series(1, 2)) AS t",
        "SELECT (t.a).mine FROM string_to_table('x', ',') AS t (a)",
    ],
)  # fmt: skip
def test_nothing_hides_behind_words_that_look_like_grammar(sql: str) -> None:
    refusal(sql)


@pytest.mark.parametrize("step", ["'01:00:00'", "'5 apples'", "'1 week 2 days'", "E'1\\x20day'", "'x'"])
def test_no_literal_confuses_the_parser(step: str) -> None:
    assert judge(f"SELECT generate_series('2024-01-01', now(), {step})", READ_ONLY).allowed


@pytest.mark.parametrize(
    "call",
    [
        "json_object('{a, 1}')",
        "json_object('a': 1)",
        "convert('x', 'UTF8', 'LATIN1')",
        "overlaps(a, b, c, d)",
        "(a, b) OVERLAPS (c, d)",
    ],
)
def test_calls_that_look_like_special_syntax_are_read(call: str) -> None:
    assert judge(f"SELECT {call} FROM t", READ_ONLY).allowed


def test_unqualified_names_are_refused_only_where_wanted_and_never_for_the_system_catalog() -> None:
    policy = Policy(POSTGRES, require_qualified=True, schema="shop")
    assert refusal("SELECT * FROM orders", policy).rule == "unqualified_table"
    assert judge("WITH a AS (SELECT 1) SELECT * FROM shop.orders, a, pg_class", policy).allowed


@pytest.mark.parametrize("opening", ["(", "CASE WHEN ", "lower(", "ARRAY[", "- ", "NOT ", "a.", "a::", "/*"])
def test_every_kind_of_nesting_ends_in_a_verdict(opening: str) -> None:
    for count in (10, 100, 1_000):
        assert isinstance(judge(("SELECT " + opening * count)[:10_000], READ_ONLY).verdict, Allow | Deny)


WRAPPINGS = [
    "SELECT * FROM ({}) x",
    "WITH x AS ({}) SELECT * FROM x",
    "WITH a AS (SELECT 1), x (c) AS MATERIALIZED ({}) TABLE x",
    "EXPLAIN ANALYZE {}",
    "EXPLAIN (ANALYZE, VERBOSE) {}",
    "SELECT 1 UNION ALL {}",
    "({})",
    "SELECT ({})::text",
    "SELECT CAST(({}) AS text)",
    "SELECT ARRAY({})",
    "SELECT EXISTS ({})",
    "SELECT 1 WHERE 1 IN ({})",
    "SELECT 1 = ANY ({})",
    "SELECT 1 ORDER BY ({})",
    "SELECT CASE WHEN true THEN ({}) END",
    "SELECT * FROM shop.orders o, LATERAL ({}) x (a)",
    "SELECT coalesce(({}), NULL)",
    "VALUES (({}))",
    "SELECT count(*) FILTER (WHERE ({}) IS NULL) FROM shop.orders",
    "SELECT 1 FROM shop.orders LIMIT (SELECT count(*) FROM ({}) z)",
    "SELECT 1; {}; SELECT 2",
]
READS = ("SELECT", "TABLE", "VALUES", "WITH")


def is_one_read(sql: str) -> bool:
    return sql.upper().startswith(READS) and ";" not in sql and "--" not in sql


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_an_attack_inside_an_honest_statement_stays_refused(wrapping: str) -> None:
    for attack in load("postgres_attacks"):
        if is_one_read(attack["sql"]):
            refusal(wrapping.replace("{}", attack["sql"]), policy_for(POSTGRES, attack))


@pytest.mark.parametrize("wrapping", ["SELECT * FROM ({}) x", "WITH x AS ({}) TABLE x", "EXPLAIN {}", "({})"])
def test_an_honest_read_inside_another_statement_stays_allowed(wrapping: str) -> None:
    for honest in load("postgres_honest"):
        if "mode" not in honest and is_one_read(honest["sql"]):
            sql = wrapping.replace("{}", honest["sql"])
            assert judge(sql, READ_ONLY).allowed, sql


PIECES = word_set(
    """
    SELECT FROM WHERE t a b * 1 'x' "A" ( ) , = . :: AS int mine lower( pg_sleep( count(*) WITH RECURSIVE INTO
    FOR UPDATE DELETE INSERT VALUES TABLE EXPLAIN ANALYZE SHOW ALL OVER FILTER LATERAL JOIN ON USING [ ] ARRAY
    ROW CAST( OPERATOR( pg_catalog ; E'\\'' $$x$$ U&"a" B'1' -- /* */ NULL CASE WHEN THEN END interval '1' day
    DISTINCT GROUP BY ORDER LIMIT FETCH FIRST ROWS ONLY COLLATE AT TIME ZONE xmltable( COLUMNS json_to_record(
    BEGIN COMMIT ->> @> := => $1 SET DEFAULT MERGE RETURNING CONFLICT DO NOTHING TABLESAMPLE ORDINALITY CYCLE
    SEARCH
    """
)


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from(sorted(PIECES)), max_size=30).map(" ".join))
def test_every_text_gets_a_verdict(sql: str) -> None:
    for policy in (READ_ONLY, WRITE, DDL):
        assert isinstance(judge(sql, policy).verdict, Allow | Deny)
