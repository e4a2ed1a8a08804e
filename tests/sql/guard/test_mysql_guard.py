"""The guard's verdicts on MySQL's statements: wording, types, tables, forms; and that every text gets one."""

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sql.corpus_files import load

from callgate.model.verdict import Allow, Deny
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.mysql.dialect.lexer import lex
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import Mode

READ_ONLY = Policy(MYSQL)
WRITE = Policy(MYSQL, mode=Mode.WRITE)
DDL = Policy(MYSQL, mode=Mode.WRITE, allow_ddl=True)
QUALIFIED = Policy(MYSQL, mode=Mode.WRITE, require_qualified=True, schema="shop")


def refusal(sql: str, policy: Policy = READ_ONLY) -> Deny:
    verdict = judge(sql, policy).verdict
    assert isinstance(verdict, Deny), f"allowed: {sql}"
    return verdict


@pytest.mark.parametrize("verb", ["INSERT", "UPDATE", "DELETE", "REPLACE"])
def test_a_write_in_read_only_mode_is_refused_in_the_seeds_words(verb: str) -> None:
    tails = {
        "INSERT": "INTO t VALUES (1)",
        "UPDATE": "t SET a = 1",
        "DELETE": "FROM t",
        "REPLACE": "INTO t VALUES (1)",
    }
    deny = refusal(f"{verb} {tails[verb]}", Policy(MYSQL, from_environment=True))
    assert (deny.code.code, deny.rule) == ("refused.read_only", "read_only")
    assert deny.reason == f"{verb} operations are not allowed in READ-ONLY mode."
    assert deny.hint == "Set MYSQL_ALLOW_WRITE=true to enable write operations."


@pytest.mark.parametrize("policy", [READ_ONLY, WRITE, DDL])
@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE t",
        "TRUNCATE t",
        "GRANT ALL ON *.* TO x",
        "REVOKE ALL ON *.* FROM x",
        "FLUSH TABLES",
        "KILL 5",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "SET GLOBAL x = 1",
        "CALL p()",
        "DO SLEEP(1)",
        "HANDLER t OPEN",
        "SHUTDOWN",
        "PREPARE s FROM 'SELECT 1'",
        "LOCK TABLES t WRITE",
        "SELECT LOAD_FILE('/etc/passwd')",
        "SELECT 1 INTO OUTFILE '/tmp/x'",
        "SELECT GET_LOCK('a', 1)",
        "SELECT SETVAL(s, 1)",
        "CREATE USER x",
        "RENAME TABLE a TO b",
    ],
)
def test_some_things_are_refused_in_every_mode_and_called_forbidden(sql: str, policy: Policy) -> None:
    assert refusal(sql, policy).code.code == "refused.forbidden"


def test_drop_and_truncate_are_dangerous_in_the_seeds_words() -> None:
    for verb in ("DROP", "TRUNCATE"):
        assert refusal(f"{verb} TABLE t").reason == (
            f"{verb} operations are dangerous and never allowed for safety."
        )
        deny = refusal(f"{verb} TABLE t", WRITE)
        assert deny.reason == f"{verb} operations are dangerous and blocked even in WRITE mode."
        assert deny.hint == "Use MySQL CLI directly for destructive DDL operations."


def test_administrative_commands_are_refused_in_the_seeds_words() -> None:
    assert refusal("GRANT ALL ON *.* TO x").reason == "Administrative commands (GRANT) are never allowed."
    assert refusal("REVOKE ALL ON *.* FROM x", WRITE).reason == (
        "Administrative commands (REVOKE) are never allowed for security."
    )


@pytest.mark.parametrize(
    ("sql", "statement_type", "tables"),
    [
        ("SELECT * FROM shop.orders o JOIN Customers ON 1", "SELECT", ("shop.orders", "Customers")),
        ("SELECT * FROM shop.`my table` USE INDEX (a)", "SELECT", ("shop.my table",)),
        ("WITH a AS (SELECT * FROM t) SELECT * FROM a, shop.b", "SELECT", ("t", "shop.b")),
        ("(SELECT 1 FROM a) UNION (SELECT 1 FROM b)", "SELECT", ("a", "b")),
        ("TABLE shop.t", "TABLE", ("shop.t",)),
        ("VALUES ROW(1), ROW(2)", "VALUES", ()),
        ("SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) t, u", "SELECT", ("u",)),
        ("SELECT id FROM shop.t FOR SYSTEM_TIME ALL", "SELECT", ("shop.t",)),
        ("DESCRIBE shop.t", "DESCRIBE", ("shop.t",)),
        ("DESC t", "DESC", ("t",)),
        ("EXPLAIN shop.t", "EXPLAIN", ("shop.t",)),
        ("EXPLAIN SELECT * FROM shop.t", "EXPLAIN", ("shop.t",)),
        ("EXPLAIN UPDATE shop.t SET a = 1", "EXPLAIN", ("shop.t",)),
        ("ANALYZE FORMAT=JSON SELECT * FROM t", "ANALYZE", ("t",)),
        ("SHOW COLUMNS FROM t FROM shop", "SHOW", ("shop.t",)),
        ("SHOW INDEX IN shop.t", "SHOW", ("shop.t",)),
        ("SHOW CREATE TABLE shop.t", "SHOW", ("shop.t",)),
        ("SHOW TABLES FROM shop WHERE (SELECT 1 FROM shop.u)", "SHOW", ("shop.u",)),
    ],
)
def test_a_statement_knows_its_type_and_tables(
    sql: str, statement_type: str, tables: tuple[str, ...]
) -> None:
    judgement = judge(sql, READ_ONLY)
    assert judgement.verdict == Allow()
    assert (judgement.statement_type, sorted(judgement.tables)) == (statement_type, sorted(tables))


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("INSERT IGNORE shop.t (a) VALUES (1)", ("shop.t",)),
        ("INSERT INTO shop.t SET a = 1 ON DUPLICATE KEY UPDATE a = 2", ("shop.t",)),
        ("REPLACE shop.t SELECT * FROM shop.u", ("shop.t", "shop.u")),
        ("UPDATE shop.a JOIN shop.b USING (id) SET a.x = b.x", ("shop.a", "shop.b")),
        ("DELETE a, b FROM shop.a a JOIN shop.b b ON 1", ("shop.a", "shop.b")),
        ("DELETE FROM a USING shop.a AS a JOIN shop.b AS b", ("shop.a", "shop.b")),
    ],
)
def test_a_write_knows_its_tables_and_not_their_aliases(sql: str, tables: tuple[str, ...]) -> None:
    judgement = judge(sql, QUALIFIED)
    assert judgement.verdict == Allow()
    assert sorted(judgement.tables) == sorted(tables)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH Orders AS (SELECT 1 AS a) SELECT * FROM orders",  # letter for letter, says MySQL
        "WITH Orders AS (SELECT 1 AS a) SELECT /* not plain */ * FROM orders",
        "WITH `Orders` AS (SELECT 1 AS a) SELECT * FROM (SELECT * FROM `orders`) x",
        "SELECT * FROM orders",
        "DESCRIBE orders",
        "SHOW COLUMNS FROM orders",
        "SHOW INDEX FROM orders",
        "EXPLAIN SELECT * FROM orders",
        "UPDATE orders SET a = 1",
        "SHOW TABLES WHERE (SELECT 1 FROM orders)",
        "SELECT * FROM shop.t WHERE a IN (SELECT b FROM orders)",
    ],
)
def test_unqualified_names_are_refused_where_wanted_with_a_candidate(sql: str) -> None:
    deny = refusal(sql, QUALIFIED)
    assert deny.rule == "unqualified_table"
    assert deny.reason == "Unqualified table name detected: orders."
    assert "shop.orders" in deny.hint
    assert judge(sql, WRITE).allowed


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM DUAL",
        "SELECT 1",
        "SHOW DATABASES",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "SHOW STATUS",
    ],
)
def test_what_names_no_table_needs_no_database(sql: str) -> None:
    assert judge(sql, QUALIFIED).allowed


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("SELECT 1 INTO @x", "into"),
        ("SELECT @x := 1", "assignment"),
        ("SELECT * FROM t FOR UPDATE", "lock"),
        ("SELECT * FROM t LOCK IN SHARE MODE", "lock"),
        ("SELECT NEXT VALUE FOR s", "sequence"),
        ("SELECT NEXTVAL(s)", "function"),
        ("SELECT * FROM t PROCEDURE ANALYSE()", "procedure"),
        ("SELECT * FROM mysql.user", "hidden_table"),
        ("SELECT 1 DELETE FROM t", "hidden_statement"),
        ("SHOW CREATE USER x", "show"),
        ("SHOW GRANTS FOR root@localhost", "show"),
        ("ANALYZE TABLE t", "never"),
        ("ANALYZE DELETE FROM t", "explain"),
        ("EXPLAIN ANALYZE DELETE FROM t", "explain"),
        ("EXPLAIN DROP TABLE t", "explain"),
        ("SELECT shop.f(1)", "function"),
        ("SELECT f(1)", "function"),
        ("SELECT count (1)", "function"),
        ("SELECT `upper`('a')", "function"),
        ("SELECT sléep(1)", "function"),
        ("SELECT SLEEP(1)", "forbidden_function"),
        ("/*! SELECT 1 */", "lexer"),
        ("USE shop", "unknown_statement"),
        ("SELECT ?", "placeholder"),
        ("BEGIN", "read_only"),
    ],
)
def test_each_refusal_names_its_rule(sql: str, rule: str) -> None:
    assert refusal(sql).rule == rule


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT shop.a.id FROM shop.a JOIN shop.b ON shop.a.id = shop.b.id",
        "SELECT shop.a.* FROM shop.a JOIN shop.b USING (id)",
        "SELECT a.id FROM shop.a AS a NATURAL JOIN shop.b AS b",
        "SELECT shop.a.id, CONVERT(name USING utf8mb4) FROM shop.a",
    ],
)
def test_columns_may_be_fully_qualified_where_that_cannot_crash_a_server(sql: str) -> None:
    assert judge(sql, QUALIFIED).allowed


def test_what_crashes_mariadb_is_refused_with_another_way_to_write_it() -> None:
    deny = refusal("SELECT shop.a.id FROM shop.a JOIN shop.b USING (id)")
    assert deny.rule == "server_crash"
    assert "AS o" in deny.hint


def test_a_blank_before_the_parenthesis_is_explained() -> None:
    deny = refusal("SELECT COUNT (*) FROM t")
    assert "stored function" in deny.reason
    assert deny.hint == "Write COUNT( without the space."


def test_locks_and_sequences_are_honest_in_write_mode() -> None:
    assert judge(
        "BEGIN; SELECT a FROM t FOR UPDATE; INSERT INTO t VALUES (NEXTVAL(s)); COMMIT", WRITE
    ).allowed
    assert judge("SELECT NEXT VALUE FOR s", WRITE).allowed
    assert refusal("SELECT SETVAL(s, 1)", WRITE).rule == "forbidden_function"


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN",
        "START TRANSACTION",
        "BEGIN; COMMIT AND CHAIN",
        "BEGIN; COMMIT RELEASE",
        "BEGIN; BEGIN; COMMIT",
        "SAVEPOINT a",
        "COMMIT",
        "START SLAVE",
        "BEGIN NOT ATOMIC SELECT 1; END",
        "XA START 'x'",
    ],
)
def test_a_transaction_that_does_not_end_in_its_call_is_refused(sql: str) -> None:
    refusal(sql, WRITE)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE mysql.user SET a = 1",
        "INSERT INTO performance_schema.setup_actors VALUES (1)",
        "UPDATE t JOIN sys.sys_config s SET s.value = 1",
        "DELETE s FROM t JOIN sys.sys_config s",
        "DELETE FROM s USING t JOIN performance_schema.setup_actors AS s",
        "REPLACE INTO information_schema.tables VALUES (1)",
    ],
)
def test_the_engines_own_tables_are_never_written(sql: str) -> None:
    assert refusal(sql, WRITE).rule in ("system_table", "hidden_table")


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("CREATE TABLE shop.t (id INT, name VARCHAR(20), KEY by_name (name(10)))", ("shop.t",)),
        ("CREATE TABLE IF NOT EXISTS shop.t AS SELECT * FROM shop.u", ("shop.t", "shop.u")),
        ("CREATE TABLE shop.t SELECT * FROM shop.u", ("shop.t", "shop.u")),
        (
            "CREATE VIEW shop.v AS WITH a AS (SELECT 1) SELECT * FROM a, shop.u WITH CHECK OPTION",
            ("shop.v", "shop.u"),
        ),
        ("CREATE UNIQUE INDEX i ON shop.t (a, b(5))", ("shop.t",)),
        ("ALTER TABLE shop.t ADD COLUMN c INT GENERATED ALWAYS AS (a + 1) STORED", ("shop.t",)),
    ],
)
def test_ddl_knows_its_tables_and_runs_only_where_the_operator_allowed_it(
    sql: str, tables: tuple[str, ...]
) -> None:
    judgement = judge(sql, DDL)
    assert judgement.verdict == Allow()
    assert sorted(judgement.tables) == sorted(tables)
    assert refusal(sql, WRITE).rule == "ddl"
    assert refusal(sql, READ_ONLY).code.code == "refused.forbidden"


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("ALTER TABLE t DROP COLUMN a", "never"),
        ("ALTER TABLE t TRUNCATE PARTITION p", "never"),
        ("CREATE OR REPLACE TABLE t (a INT)", "ddl_kind"),
        ("CREATE TEMPORARY TABLE t (a INT)", "ddl_kind"),
        ("CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW SELECT 1", "ddl_kind"),
        ("CREATE TABLE t (a INT) ENGINE=FEDERATED", "ddl_kind"),
        ("CREATE TABLE t (a INT) DATA DIRECTORY='/tmp'", "never"),
        ("CREATE TABLE t AS SELECT SLEEP(1)", "forbidden_function"),
        ("CREATE TABLE t AS SELECT a FROM u FOR UPDATE INTO OUTFILE 'x'", "never"),
        ("CREATE VIEW v AS SELECT * FROM mysql.user", "hidden_table"),
        ("CREATE VIEW v AS SELECT f(1)", "function"),
        ("CREATE VIEW v AS WITH a AS SELECT 1", "hidden_statement"),
        ("CREATE TABLE sys.t (a INT)", "system_table"),
        ("CREATE TABLE t (a INT DEFAULT (f(1)))", "function"),
    ],
)
def test_some_ddl_is_refused_even_then(sql: str, rule: str) -> None:
    assert refusal(sql, DDL).rule == rule


def test_a_default_database_that_is_hidden_hides_its_tables() -> None:
    assert refusal("SELECT * FROM user", Policy(MYSQL, schema="mysql")).rule == "hidden_table"


def test_the_operator_can_allow_stored_functions_by_their_written_name() -> None:
    policy = Policy(MYSQL, allow_functions=frozenset({"shop.tax", "vat", "sleep"}))
    assert judge("SELECT shop.tax(1), `shop`.`tax`(2), vat(3), VAT(4)", policy).allowed
    assert refusal("SELECT tax(1)", policy).rule == "function"
    assert refusal("SELECT other.tax(1)", policy).rule == "function"
    assert refusal("SELECT sleep(1)", policy).rule == "forbidden_function"


def test_placeholders_pass_only_where_a_driver_will_bind_them() -> None:
    assert judge("SELECT * FROM t WHERE a = ? LIMIT ?", READ_ONLY, may_bind=True).allowed
    assert refusal("SELECT * FROM t WHERE a = ?").rule == "placeholder"


def test_long_lists_of_values_are_read_quickly_and_whole() -> None:
    ids = ", ".join(str(number) for number in range(1700))
    assert judge(f"SELECT * FROM t WHERE id IN ({ids})", READ_ONLY).allowed
    rows = ", ".join("(1, 'a', NULL)" for _ in range(600))
    assert judge(f"INSERT INTO t VALUES {rows}", WRITE).allowed
    assert refusal(f"SELECT * FROM t WHERE id IN ({ids}, SLEEP(1))").rule == "forbidden_function"
    assert refusal(f"INSERT INTO t VALUES {rows}, (SLEEP(1))", WRITE).rule == "forbidden_function"


def test_every_example_of_the_description_is_allowed() -> None:
    wording = MYSQL.wording
    examples = [example.partition(": ")[2] for example in wording.examples]
    for sql in (wording.list_tables_sql, wording.describe_table_sql.format(table="shop.orders"), *examples):
        assert judge(sql.format(master=READ_ONLY.table_list), READ_ONLY).allowed, sql
    for example in wording.write_examples:
        assert judge(example.partition(": ")[2], WRITE).allowed


HONEST = [entry["sql"] for entry in load("mysql_honest") if len(entry["sql"]) < 400]
ATTACKS = [entry["sql"] for entry in load("mysql_attacks") if len(entry["sql"]) < 200]


@st.composite
def spliced(draw: st.DrawFn) -> str:
    """Pieces of honest and hostile statements in one text."""
    words: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        tokens = lex(draw(st.sampled_from(HONEST + ATTACKS)))
        start = draw(st.integers(0, len(tokens)))
        words += [token.text for token in tokens[start : start + draw(st.integers(1, 12))]]
    return draw(st.sampled_from(["", " "])).join(words)


@settings(max_examples=examples(80))
@given(spliced())
def test_every_text_gets_a_verdict(sql: str) -> None:
    for policy in (READ_ONLY, WRITE, DDL, QUALIFIED):
        assert isinstance(judge(sql, policy).verdict, Allow | Deny)


@settings(max_examples=examples(40))
@given(st.text(max_size=80))
def test_every_string_gets_a_verdict(sql: str) -> None:
    assert isinstance(judge(sql, DDL).verdict, Allow | Deny)
