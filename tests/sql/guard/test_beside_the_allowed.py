"""What looks like a statement that is allowed, and calls, reads or sets something else."""

import pytest
from sql.corpus_files import DIALECTS

from callgate.model.verdict import Deny
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import Policy

_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


@pytest.mark.parametrize(
    ("engine", "sql", "rule"),
    [
        # Right behind FROM stands a virtual table, and no function; IS DISTINCT FROM is an expression.
        ("sqlite", "SELECT 1 IS DISTINCT FROM f('x')", "function"),
        ("sqlite", "SELECT 1 IS NOT DISTINCT FROM load_extension('x')", "forbidden_function"),
        ("sqlite", "SELECT * FROM load_extension('x')", "forbidden_function"),
        ("sqlite", "SELECT * FROM a, f('x')", "function"),
        ("sqlite", "SELECT * FROM zipfile('x.zip')", "hidden_table"),
        ("sqlite", "SELECT * FROM fsdir('/')", "hidden_table"),
        ("sqlite", "SELECT * FROM bytecode('DROP TABLE t')", "hidden_table"),
        ("sqlite", "SELECT * FROM pragma_temp_store_directory", "hidden_table"),
        ("sqlite", "PRAGMA database_list = 1", "pragma_write"),
        ("sqlite", "SELECT randomblob(1_000_000_000)", "size"),
        ("duckdb", "SELECT 0xFFg", "lexer"),
        ("duckdb", "SELECT 10xFF", "lexer"),
        ("duckdb", "SELECT repeat('x', 0xFFFFFFFF)", "size"),
        ("duckdb", "SELECT current_setting('secret_directory')", "secret_setting"),
        ("duckdb", "SELECT current_setting('home_' || 'directory')", "setting_name"),
        ("duckdb", "SELECT 'temp_directory'.current_setting()", "setting_name"),
        ("duckdb", "SELECT system.main.current_setting('temp_directory')", "setting_name"),
        ("duckdb", "SELECT list_transform(['temp_directory'], lambda x: current_setting(x))", "setting_name"),
        ("duckdb", "WITH t(a) USING KEY (f(1)) AS (SELECT 1) SELECT * FROM t", "function"),
        ("duckdb", "WITH t USING KEY (a) AS (DELETE FROM orders) SELECT 1", None),
        ("postgres", "SELECT passing(1)", "function"),
        ("postgres", "SELECT xmlexists('//n' PASSING passing(1))", "function"),
        ("postgres", "SELECT xmlexists('//n' PASSING BY REF ref(1))", "function"),
        ("postgres", "SELECT xmlexists('//n' PASSING BY VALUE value(1))", "function"),
        ("postgres", "SELECT xmlexists(passing(1) PASSING x)", "function"),
        ("postgres", "SELECT lower('x' PASSING (1))", "function"),
        ("postgres", "SELECT pg_input_is_valid('x', 'shop.checked')", "type"),
        ("postgres", "SELECT pg_input_is_valid('x', 'checked')", "type"),
        ("postgres", "SELECT pg_input_is_valid('x', name) FROM shop.customers", "type"),
        ("postgres", "SELECT pg_input_error_info('x', 'integer; x')", "type"),
        ("postgres", "SELECT 'x'::shop.order_status", "type"),
        ("mysql", "SELECT /*+ SET_VAR(sql_mode = 'ANSI_QUOTES') */ 1", "lexer"),
        ("mysql", "SELECT /*+ SET_VAR(max_execution_time = 0) */ 1", "lexer"),
        ("mysql", "SELECT /*+ SET_VAR(sort_buffer_size = 100G) */ 1", "lexer"),
        ("mysql", "SELECT /*+ SET_VAR(sort_buffer_size = 1M) SET_VAR(unique_checks = 0) */ 1", "lexer"),
        ("mysql", "SELECT /*+ SET_VAR(sort_buffer_size = @@max_connections) */ 1", "lexer"),
        ("mysql", "HELP 'x' INTO OUTFILE '/tmp/x'", "help"),
        ("mysql", "EXPLAIN ANALYZE UPDATE corpus.orders SET total = 0", "explain"),
        ("mysql", "ANALYZE UPDATE corpus.orders SET total = 0", "explain"),
        ("mysql", "EXPLAIN UPDATE corpus.orders SET total = f_write(1)", "function"),
        ("mysql", "EXPLAIN DROP TABLE corpus.orders", "explain"),
    ],
)
def test_the_neighbour_of_an_allowed_statement_is_refused(engine: str, sql: str, rule: str | None) -> None:
    verdict = judge(sql, Policy(_BY_NAME[engine])).verdict
    assert isinstance(verdict, Deny)
    assert rule in (None, verdict.rule), verdict


def test_an_explained_write_is_told_from_one_that_runs() -> None:
    (plan,) = judge("EXPLAIN UPDATE corpus.orders SET total = 0", Policy(_BY_NAME["mysql"])).statements
    (read,) = judge("EXPLAIN SELECT 1", Policy(_BY_NAME["mysql"])).statements
    assert (plan.plans_write, plan.is_write, read.plans_write) == (True, False, False)
