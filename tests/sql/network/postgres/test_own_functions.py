"""PostgreSQL's column notation calls functions: `o.f` runs f(o). One that writes through dblink is not held
by the read-only transaction, so it must not run. The guard is on in all of these; the witness is psql.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Unpack

import pytest
from databases.database import Database
from sql.conftest import Answer, Asker, Options
from sql.network.conftest import address_of

from callgate.sql.engines.postgres import own_functions
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings

SCHEMA = """
DROP SCHEMA IF EXISTS notation CASCADE;
CREATE SCHEMA notation;
CREATE EXTENSION IF NOT EXISTS dblink;
CREATE TABLE notation.audit (what text);
CREATE TABLE notation.orders (id integer, name text, tax numeric, "TWICE" text);
CREATE TYPE notation.address AS (street text, city text);
CREATE TABLE notation.customers (id integer, name text, audited boolean, home notation.address);
-- Three tables of the same name, and two have a column that is called like a function.
CREATE TABLE notation.notes (id integer, noted text);
CREATE TABLE notation."Notes" (id integer, noted text);
CREATE TABLE public.notes (id integer);
INSERT INTO notation.notes VALUES (1, 'column');
INSERT INTO public.notes VALUES (1);
CREATE FUNCTION notation.noted(r record) RETURNS text LANGUAGE plpgsql
    AS $$ BEGIN RETURN notation.reach('record'); END $$;
CREATE TABLE notation.unlucky (textout text, date date);
INSERT INTO notation.orders VALUES (1, 'one', 19);
INSERT INTO notation.customers VALUES (1, 'one', true, ROW('Street', 'City'));
CREATE FUNCTION notation.reach(what text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    PERFORM dblink_exec('{there}', 'INSERT INTO notation.audit VALUES (''' || what || ''')');
    RETURN what; END $$;
CREATE FUNCTION notation.audited(o notation.orders) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('row') $$;
CREATE FUNCTION notation.audited_text(t text) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('text') $$;
CREATE FUNCTION notation."Audited Twice"(o notation.orders) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('quoted') $$;
CREATE FUNCTION notation.audited_default(o notation.orders, n integer DEFAULT 1) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('default') $$;
CREATE FUNCTION notation.lower(o notation.orders) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('lower') $$;
CREATE FUNCTION notation."É"(o notation.orders) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('accent') $$;
CREATE FUNCTION notation."say ""x"" twice"(o notation.orders) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('quotes') $$;
CREATE FUNCTION notation.audited_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx(o notation.orders)
    RETURNS text LANGUAGE sql AS $$ SELECT notation.reach('long') $$;
CREATE FUNCTION notation.twice(o notation.orders) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('twice') $$;
CREATE FUNCTION notation."TWICE"(o notation.orders) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('twice') $$;
-- Some extensions keep their functions in pg_catalog; Citus has one there that runs a text on every node.
CREATE FUNCTION pg_catalog.audited_everywhere(t text, n integer DEFAULT 1) RETURNS text LANGUAGE sql
    AS $$ SELECT notation.reach('everywhere') $$;
ALTER ROLE callgate SET search_path = public, notation;
"""
CALLS = [
    "SELECT o.audited FROM notation.orders o",
    "SELECT (o).audited FROM notation.orders o",
    "SELECT orders.audited FROM notation.orders",
    "SELECT notation.orders.audited FROM notation.orders",
    "SELECT (name).audited_text FROM notation.orders",
    "SELECT (o.name).audited_text FROM notation.orders o",
    'SELECT o."Audited Twice" FROM notation.orders o',
    'SELECT o.U&"audite\\0064" FROM notation.orders o',
    "SELECT o.audited_default FROM notation.orders o",
    "SELECT o.lower FROM notation.orders o",
    "SELECT o.É FROM notation.orders o",
    'SELECT o."say ""x"" twice" FROM notation.orders o',
    "SELECT (name).audited_everywhere FROM notation.orders",
    "SELECT (o.name).AUDITED_everywhere FROM notation.orders o",
    "SELECT (o).audited.length FROM notation.orders o",
    "SELECT (o.name).audited_text.lower.upper FROM notation.orders o",
    "SELECT (ARRAY[o.name, ''])[1].audited_text.lower FROM notation.orders o",
    "SELECT n.noted FROM notation.notes n (a, b)",
    "SELECT o.twice FROM notation.orders o",
    f"SELECT o.audited_{'x' * 100} FROM notation.orders o",
    "SELECT notes.noted FROM notes",
    'SELECT "Notes".noted FROM Notes AS "Notes"',
    "SELECT o.id FROM notation.orders o WHERE o.audited IS NOT NULL",
    "SELECT o.id FROM notation.orders o ORDER BY o /* x */ . audited",
    "SELECT (SELECT o.audited FROM notation.orders o) FROM notation.customers o",
    "SELECT x.audited FROM (SELECT * FROM notation.orders) o, notation.orders AS x, notation.customers c",
    "EXPLAIN ANALYZE SELECT o.audited FROM notation.orders o",
]
# Built in, and on no list of harmless functions: called with a parenthesis they are refused as well.
UNLISTED = [
    "SELECT o.record_out FROM notation.orders o",
    "SELECT (o).hash_record FROM notation.orders o",
    "SELECT (id).int4out FROM notation.orders",
    "SELECT (o.name).textsend FROM notation.orders o",
]
HONEST = [
    "SELECT o.id, o.name, o.tax FROM notation.orders o",
    'SELECT o."TWICE" FROM notation.orders o',
    "SELECT c.audited, c.name FROM notation.customers c JOIN notation.orders o ON o.id = c.id",
    "SELECT customers.audited FROM notation.customers WHERE customers.audited",
    "SELECT notation.customers.audited FROM notation.customers",
    "SELECT lower(o.name) FROM notation.orders o",
    "SELECT 'o.audited' AS text, o.id -- o.audited\nFROM notation.orders o",
    "SELECT (o.name).length, (o.id).to_hex FROM notation.orders o",
    "SELECT s.system FROM (SELECT 1 AS system) s",
    "SELECT u.textout, u.date FROM notation.unlucky u",
    "SELECT n.noted FROM notation.notes n",
    "SELECT notes.noted FROM notation.notes",
    "SELECT (c).home.city.length, (c.home).city FROM notation.customers c",
]


@pytest.fixture(scope="module")
def server(postgres: Database) -> Iterator[Database]:
    there = f"host={postgres.host} port={postgres.port} dbname={postgres.database} user={postgres.user}"
    postgres.run(SCHEMA.replace("{there}", f"{there} password={postgres.password}"))
    yield postgres
    postgres.run("ALTER ROLE callgate RESET search_path; DROP SCHEMA notation CASCADE; DROP EXTENSION dblink")
    postgres.run("DROP TABLE public.notes")
    postgres.run("DROP FUNCTION pg_catalog.audited_everywhere(text, integer)")


@asynccontextmanager
async def source(server: Database, **settings: Unpack[Options]) -> AsyncIterator[Asker]:
    opened = open_source(SourceSettings("shop", "postgres", server=address_of(server), **settings))
    try:
        yield Asker(opened)
    finally:
        await opened.close()


async def asked(server: Database, sql: str, **settings: Unpack[Options]) -> tuple[Answer, int]:
    """The answer, and how many rows were written elsewhere."""
    server.run("TRUNCATE notation.audit")
    async with source(server, **settings) as it:
        answer = await it.query(sql)
    return answer, int(server.run("SELECT count(*) FROM notation.audit"))


@pytest.mark.parametrize("sql", CALLS)
async def test_a_function_in_column_notation_is_refused_and_does_not_run(server: Database, sql: str) -> None:
    answer, written = await asked(server, sql)
    assert written == 0
    assert answer.is_error
    assert str(answer.code).startswith("refused.")


@pytest.mark.parametrize("sql", CALLS)
async def test_without_the_learned_names_it_writes_past_the_read_only_session(
    server: Database, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_functions.OwnFunctions, "called_by", lambda *_: None)
    _, written = await asked(server, sql)
    assert written > 0


@pytest.mark.parametrize("sql", UNLISTED)
async def test_a_built_in_function_that_is_on_no_list_is_refused_in_column_notation_too(
    server: Database, sql: str
) -> None:
    answer, _ = await asked(server, sql)
    assert answer.code == "refused.function", answer.text


@pytest.mark.parametrize("sql", HONEST)
async def test_a_column_of_the_same_name_is_a_column(server: Database, sql: str) -> None:
    answer, written = await asked(server, sql)
    assert not answer.is_error, answer.text
    assert written == 0


async def test_the_operator_may_allow_a_function_by_name(server: Database) -> None:
    answer, written = await asked(server, CALLS[0], allow_functions=frozenset({"audited"}))
    assert not answer.is_error
    assert written == 1


async def test_a_function_that_is_made_later_is_learned(
    server: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_functions, "_REFRESHED_AFTER_S", 0.0)
    async with source(server) as it:
        assert not (await it.query("SELECT o.id FROM notation.orders o")).is_error
        server.run("CREATE FUNCTION notation.late(o notation.orders) RETURNS int LANGUAGE sql AS 'SELECT 1'")
        assert (await it.query("SELECT o.late FROM notation.orders o")).code == "refused.function"


async def test_all_functions_of_a_database_with_many_are_learned(
    server: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_functions, "_PAGE", 50)
    async with source(server) as it:
        for sql in (*CALLS, *UNLISTED):
            assert str((await it.query(sql)).code).startswith("refused."), sql
