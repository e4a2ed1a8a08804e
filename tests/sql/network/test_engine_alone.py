"""With no guard at all, a read-only session on a real server still stops writes and definitions.

Asked as an administrator, who may do everything; what the sessions cannot stop is in docs/security.md.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from databases.database import Database
from sql.corpus_files import load
from sql.mysql_lab import MySqlLab
from sql.network.conftest import Opener, address_of
from sql.postgres_client import ask_each
from sql.postgres_shop import EXTENSIONS, SHOP

from callgate.model.errors import CallgateError
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judgement import Statement

MYSQL_SETUP = """
DROP DATABASE IF EXISTS alone; DROP USER IF EXISTS alone_old; CREATE DATABASE alone;
CREATE TABLE alone.t (a int PRIMARY KEY, b varchar(20), INDEX ib (b)); CREATE TABLE alone.t2 (a int);
INSERT INTO alone.t VALUES (1, 'one'); INSERT INTO alone.t2 VALUES (1); CREATE VIEW alone.v AS SELECT 1;
CREATE USER alone_old; GRANT SELECT ON alone.* TO alone_old; CREATE SEQUENCE alone.s;
DELIMITER //
CREATE FUNCTION alone.f_write() RETURNS int BEGIN INSERT INTO alone.t VALUES (20, 'f'); RETURN 1; END//
CREATE FUNCTION alone.f_flip() RETURNS int
BEGIN SET SESSION tx_read_only = 0; INSERT INTO alone.t VALUES (21, 'f'); RETURN 1; END//
CREATE PROCEDURE alone.p_write() BEGIN INSERT INTO alone.t VALUES (22, 'p'); END//
DELIMITER ;
"""
MYSQL_STATE = """
SELECT table_name, create_time, table_type FROM information_schema.tables WHERE table_schema = 'alone';
SELECT * FROM alone.t; SELECT * FROM alone.s;
SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'alone';
SELECT index_name FROM information_schema.statistics WHERE table_schema = 'alone';
SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'alone';
SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = 'alone';
SELECT event_name FROM information_schema.events; SELECT name FROM mysql.plugin; SELECT * FROM mysql.servers;
SELECT view_definition FROM information_schema.views WHERE table_schema = 'alone';
SELECT user, host, authentication_string FROM mysql.user; SELECT * FROM mysql.db;
SELECT schema_name, default_character_set_name FROM information_schema.schemata;
"""
# Statements parted by " ;; " are one call.
MYSQL_STOPPED = r"""
INSERT INTO alone.t VALUES (9, 'x')
UPDATE alone.t SET b = 'y'
DELETE FROM alone.t
REPLACE INTO alone.t VALUES (1, 'z')
INSERT INTO alone.t SELECT 7, 'q'
INSERT INTO alone.t VALUES (1, 'z') ON DUPLICATE KEY UPDATE b = 'dup'
INSERT INTO alone.t VALUES (8, 'z') RETURNING a
UPDATE alone.t, alone.t2 SET alone.t.b = 'm' WHERE alone.t.a = alone.t2.a
DELETE alone.t FROM alone.t JOIN alone.t2 USING (a)
TRUNCATE TABLE alone.t
LOAD DATA INFILE '/etc/passwd' INTO TABLE alone.t
CREATE TABLE alone.n (a int)
CREATE TABLE alone.n AS SELECT 1
CREATE TABLE alone.n LIKE alone.t
CREATE OR REPLACE TABLE alone.t (a int)
CREATE TEMPORARY TABLE alone.tmp (a int)
DROP TABLE alone.t
ALTER TABLE alone.t ADD c int
RENAME TABLE alone.t TO alone.tt
CREATE INDEX i ON alone.t (b)
DROP INDEX ib ON alone.t
CREATE VIEW alone.nv AS SELECT 1
ALTER VIEW alone.v AS SELECT 2
DROP VIEW alone.v
CREATE DATABASE alone_n
ALTER DATABASE alone CHARACTER SET latin1
DROP DATABASE alone
CREATE FUNCTION alone.nf() RETURNS int RETURN 1
DROP FUNCTION alone.f_write
CREATE PROCEDURE alone.np() SELECT 1
DROP PROCEDURE alone.p_write
CREATE TRIGGER alone.tr BEFORE INSERT ON alone.t FOR EACH ROW SET NEW.b = 'x'
CREATE EVENT alone.e ON SCHEDULE EVERY 1 DAY DO SELECT 1
CREATE USER alone_u
DROP USER alone_old
ALTER USER alone_old IDENTIFIED BY 'x'
RENAME USER alone_old TO alone_new
GRANT ALL ON *.* TO alone_old
REVOKE SELECT ON alone.* FROM alone_old
SET PASSWORD FOR alone_old = PASSWORD('x')
CREATE ROLE alone_r
CREATE SEQUENCE alone.s2
SELECT NEXTVAL(alone.s)
SELECT SETVAL(alone.s, 100)
CALL alone.p_write()
SELECT alone.f_write()
SELECT alone.f_flip()
DO alone.f_write()
VALUES (alone.f_write())
EXECUTE IMMEDIATE 'INSERT INTO alone.t VALUES (9, 1)'
BEGIN NOT ATOMIC INSERT INTO alone.t VALUES (9, 1); END
SET STATEMENT tx_read_only = 0 FOR INSERT INTO alone.t VALUES (9, 1)
SET STATEMENT max_statement_time = 1 FOR DELETE FROM alone.t
ANALYZE UPDATE alone.t SET b = 'an'
ANALYZE FORMAT=JSON DELETE FROM alone.t
LOCK TABLES alone.t WRITE
OPTIMIZE TABLE alone.t
REPAIR TABLE alone.t
CREATE SERVER alone_s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')
INSTALL SONAME 'ha_archive'
SELECT 1 FROM alone.t FOR UPDATE
COMMIT ;; SET SESSION TRANSACTION READ WRITE ;; INSERT INTO alone.t VALUES (11, 'x')
START TRANSACTION READ WRITE ;; INSERT INTO alone.t VALUES (12, 'x') ;; COMMIT
SET SESSION TRANSACTION READ WRITE ;; INSERT INTO alone.t VALUES (13, 'x')
SET SESSION TRANSACTION READ WRITE ;; CREATE TABLE alone.n (a int)
SET SESSION TRANSACTION READ WRITE ;; SELECT 1 ;; DROP TABLE alone.t
SET SESSION TRANSACTION READ WRITE ;; COMMIT ;; INSERT INTO alone.t VALUES (14, 'x')
SET autocommit = 0 ;; COMMIT ;; INSERT INTO alone.t VALUES (15, 'x') ;; COMMIT
""".strip().splitlines()

POSTGRES_SETUP = """
SET client_min_messages = error; DROP SCHEMA IF EXISTS alone CASCADE; DROP ROLE IF EXISTS alone_old;
CREATE SCHEMA alone; CREATE TABLE alone.t (a int PRIMARY KEY, b text); CREATE INDEX ib ON alone.t (b);
CREATE TABLE alone.t2 (a int); INSERT INTO alone.t VALUES (1, 'one'); INSERT INTO alone.t2 VALUES (1);
CREATE VIEW alone.v AS SELECT 1 AS a; CREATE MATERIALIZED VIEW alone.mv AS SELECT count(*) FROM alone.t;
CREATE ROLE alone_old; GRANT SELECT ON alone.t TO alone_old; CREATE SEQUENCE alone.s;
CREATE FUNCTION alone.f_write() RETURNS int LANGUAGE plpgsql
AS $$ BEGIN INSERT INTO alone.t VALUES (20, 'f'); RETURN 1; END $$;
CREATE FUNCTION alone.f_flip() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
PERFORM set_config('transaction_read_only', 'off', false);
INSERT INTO alone.t VALUES (21, 'f'); RETURN 1; END $$;
CREATE PROCEDURE alone.p_write() LANGUAGE plpgsql
AS $$ BEGIN INSERT INTO alone.t VALUES (22, 'p'); END $$;
"""
POSTGRES_STATE = """
SELECT c.relname, c.relkind, c.relnatts, c.relacl, c.relfilenode FROM pg_class c
JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname LIKE 'alone%' ORDER BY 1;
SELECT * FROM alone.t; SELECT last_value, is_called FROM alone.s;
SELECT nspname FROM pg_namespace WHERE nspname LIKE 'alone%';
SELECT rolname, rolpassword FROM pg_authid ORDER BY 1;
SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = 'alone' ORDER BY 1;
SELECT tgname FROM pg_trigger WHERE NOT tgisinternal; SELECT datname FROM pg_database ORDER BY 1;
SELECT extname FROM pg_extension; SELECT definition FROM pg_views WHERE schemaname = 'alone';
SELECT count(*) FROM pg_largeobject_metadata; SELECT * FROM pg_db_role_setting;
SELECT description FROM pg_description WHERE objoid = 'alone.t'::regclass;
"""
POSTGRES_STOPPED = r"""
INSERT INTO alone.t VALUES (9, 'x')
UPDATE alone.t SET b = 'y'
DELETE FROM alone.t
INSERT INTO alone.t VALUES (1, 'z') ON CONFLICT (a) DO UPDATE SET b = 'dup'
MERGE INTO alone.t USING alone.t2 ON alone.t.a = alone.t2.a WHEN MATCHED THEN UPDATE SET b = 'm'
WITH w AS (INSERT INTO alone.t VALUES (9, 'x') RETURNING *) SELECT * FROM w
TRUNCATE alone.t
COPY alone.t FROM PROGRAM 'echo 5'
COPY alone.t FROM '/etc/hostname'
COPY alone.t FROM STDIN
CREATE TABLE alone.n (a int)
CREATE TABLE alone.n AS SELECT 1
CREATE TEMPORARY TABLE tmp (a int)
SELECT 1 AS a INTO alone.n
EXPLAIN ANALYZE INSERT INTO alone.t VALUES (9, 'x')
DROP TABLE alone.t
ALTER TABLE alone.t ADD c int
CREATE INDEX i ON alone.t (b)
CREATE INDEX CONCURRENTLY i ON alone.t (b)
DROP INDEX alone.ib
CREATE VIEW alone.nv AS SELECT 1
CREATE OR REPLACE VIEW alone.v AS SELECT 2 AS a
DROP VIEW alone.v
REFRESH MATERIALIZED VIEW alone.mv
CREATE SCHEMA alone_n
ALTER SCHEMA alone RENAME TO alone_x
DROP SCHEMA alone CASCADE
CREATE DATABASE alone_n
CREATE FUNCTION alone.nf() RETURNS int LANGUAGE sql AS 'SELECT 1'
DROP FUNCTION alone.f_write
CREATE TRIGGER tr BEFORE UPDATE ON alone.t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()
CREATE ROLE alone_u
DROP ROLE alone_old
ALTER ROLE alone_old PASSWORD 'x'
GRANT ALL ON alone.t TO alone_old
REVOKE SELECT ON alone.t FROM alone_old
CREATE SEQUENCE alone.s2
SELECT nextval('alone.s')
SELECT setval('alone.s', 100)
CALL alone.p_write()
SELECT alone.f_write()
SELECT alone.f_flip()
DO $$ BEGIN INSERT INTO alone.t VALUES (9, 'x'); END $$
DO $$ BEGIN SET TRANSACTION READ WRITE; INSERT INTO alone.t VALUES (9, 'x'); END $$
DO $$ BEGIN COMMIT; SET TRANSACTION READ WRITE; INSERT INTO alone.t VALUES (9, 'x'); END $$
SELECT set_config('transaction_read_only', 'off', false)
CREATE EXTENSION hstore
COMMENT ON TABLE alone.t IS 'x'
ALTER SYSTEM SET work_mem = '4MB'
ALTER DATABASE callgate SET work_mem = '4MB'
VACUUM alone.t
SELECT 1 FROM alone.t FOR UPDATE
SELECT query_to_xml('INSERT INTO alone.t VALUES (9, ''x'') RETURNING a', true, true, '')
SELECT * FROM ts_stat('INSERT INTO alone.t VALUES (9, ''x'') RETURNING to_tsvector(b)')
COMMIT ;; INSERT INTO alone.t VALUES (11, 'x')
COMMIT ;; BEGIN READ WRITE ;; INSERT INTO alone.t VALUES (12, 'x') ;; COMMIT
ROLLBACK ;; SET default_transaction_read_only = off ;; INSERT INTO alone.t VALUES (12, 'x')
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE ;; COMMIT ;; INSERT INTO alone.t VALUES (14, 'x')
SET TRANSACTION READ WRITE ;; INSERT INTO alone.t VALUES (15, 'x') ;; COMMIT
BEGIN READ WRITE ;; INSERT INTO alone.t VALUES (16, 'x') ;; COMMIT
""".strip().splitlines()
# They run, and the rollback that ends every reading call undoes them.
POSTGRES_UNDONE = r"""
EXPLAIN ANALYZE CREATE TABLE alone.n AS SELECT 1 AS a
EXPLAIN ANALYZE SELECT 1 AS a INTO alone.n
REINDEX TABLE alone.t
CLUSTER alone.t USING ib
SELECT lo_create(0)
SELECT lo_from_bytea(0, 'x')
""".strip().splitlines()


def statements(line: str) -> tuple[Statement, ...]:
    return tuple(Statement(text.strip(), "UNJUDGED", is_write=True) for text in line.split(" ;; "))


async def run_each(
    opener: Opener, server: Database, lines: Sequence[str], state: str, *, stopped: bool
) -> None:
    before = server.run(state)
    async with opener(timeout_s=10) as source:
        for line in lines:
            try:
                await source.driver.run(statements(line))
            except CallgateError:
                assert stopped or "lo_" in line, line  # stopped too, from PostgreSQL 16 on
            else:
                assert not stopped, line
            assert await source.cell("SELECT 7") == 7
            assert server.run(state) == before, line


def known_to(server: Database, script: str) -> str:
    """Without what MySQL does not have."""
    if server.flavour != "mysql":
        return script
    for mariadbs, mysqls in (
        (" CREATE SEQUENCE alone.s;", ""),
        (" SELECT * FROM alone.s;", ""),
        ("tx_", "transaction_"),
    ):
        script = script.replace(mariadbs, mysqls)
    return script


async def test_mariadbs_session_alone_stops_writes_and_definitions(maria: Opener, mariadb: Database) -> None:
    mariadb.run(known_to(mariadb, MYSQL_SETUP))
    await run_each(maria, mariadb, MYSQL_STOPPED, known_to(mariadb, MYSQL_STATE), stopped=True)


async def test_postgresqls_session_alone_stops_writes_and_definitions(
    post: Opener, postgres: Database
) -> None:
    postgres.run(POSTGRES_SETUP)
    await run_each(post, postgres, POSTGRES_STOPPED, POSTGRES_STATE, stopped=True)


async def test_what_postgresql_does_in_a_read_only_transaction_is_undone_with_it(
    post: Opener, postgres: Database
) -> None:
    postgres.run(POSTGRES_SETUP)
    await run_each(post, postgres, POSTGRES_UNDONE, POSTGRES_STATE, stopped=False)


@pytest.mark.parametrize("which", ["mariadb", "postgres"])
def test_the_fingerprint_sees_a_change(which: str, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue(which)
    setup, state = (MYSQL_SETUP, MYSQL_STATE) if which == "mariadb" else (POSTGRES_SETUP, POSTGRES_STATE)
    setup, state = known_to(server, setup), known_to(server, state)
    server.run(setup)
    before = server.run(state)
    for change in (
        "INSERT INTO alone.t VALUES (5, 'x')",
        "CREATE TABLE alone.more (a int)",
        "DROP VIEW alone.v",
    ):
        server.run(change)
        after = server.run(state)
        assert after != before
        before = after


TOGETHER = 10  # attacks between two looks at the server, each of which starts a client


def forms(sql: str, dialect: Dialect) -> list[tuple[Statement, ...]]:
    """The text as it is, and its statements one by one in one call, as if a guard had let all through."""
    parts, current = [], ""
    for token in dialect.lex(sql):
        if token.is_operator(";"):
            parts.append(current)
            current = ""
        else:
            current += token.text
    split = [part.strip() for part in (*parts, current) if part.strip()]
    return [(Statement(sql, "UNJUDGED"),), tuple(Statement(part, "UNJUDGED") for part in split)]


async def attack_by_all_forms(source: Any, text: str, dialect: Dialect) -> None:
    for statements_ in forms(text, dialect):
        if statements_:
            with suppress(CallgateError):
                await source.driver.run(statements_)


async def test_no_attack_of_the_corpus_changes_mariadb_through_the_session_alone(
    maria: Opener, mariadb: Database
) -> None:
    lab = MySqlLab(mariadb)
    lab.changed()  # it has just been made
    harmed: set[str] = set()
    async with maria(timeout_s=2) as source:
        for attack in load("mysql_attacks"):
            if attack["proof"] == "changes" and "only" not in attack:
                await attack_by_all_forms(source, lab.text(attack["sql"]), MYSQL)
                if lab.changed():
                    harmed.add(attack["id"])
    assert not harmed


async def test_no_attack_of_the_corpus_changes_postgresql_through_the_session_alone(
    post: Opener, postgres: Database
) -> None:
    name = "alone_shop"
    postgres.run(f"DROP DATABASE IF EXISTS {name}")
    postgres.run(f"CREATE DATABASE {name}")
    postgres.run("\n".join(f"CREATE EXTENSION {extension};" for extension in EXTENSIONS), database=name)
    postgres.run(SHOP, database=name)
    attacks: list[tuple[str, str, str]] = []
    for attack in load("postgres_attacks"):
        kind, _, question = attack["proof"].partition(": ")
        if kind == "changes" and not question.startswith("SHOW") and "current_" not in question:
            attacks.append((attack["id"], attack["sql"], question))  # others change only their own session
    harmed: set[str] = set()
    async with post(timeout_s=2, address=replace(address_of(postgres), database=name)) as source:
        for start in range(0, len(attacks), TOGETHER):
            ids, texts, questions = zip(*attacks[start : start + TOGETHER], strict=True)
            before = ask_each(postgres, name, *questions)
            for text in texts:
                await attack_by_all_forms(source, text, POSTGRES)
            after = ask_each(postgres, name, *questions)
            if before != after:
                harmed |= {id_ for id_, was, is_ in zip(ids, before, after, strict=True) if was != is_}
                postgres.run(SHOP, database=name)
    assert not harmed
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")
