"""What only a live database can tell from something harmful: plans of writes, casts to its own types."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from databases.database import Database
from sql.conftest import Asker
from sql.network.conftest import address_of

from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings

TYPES = """
DROP SCHEMA IF EXISTS plans CASCADE;
CREATE SCHEMA plans;
CREATE TYPE plans.status AS ENUM ('new', 'paid');
CREATE TYPE plans.converted AS ENUM ('new', 'paid');
CREATE FUNCTION plans.convert(text) RETURNS plans.converted LANGUAGE sql
    AS $$ SELECT 'new'::plans.converted $$;
CREATE CAST (text AS plans.converted) WITH FUNCTION plans.convert(text);
CREATE DOMAIN plans.checked AS text CHECK (VALUE <> '');
CREATE DOMAIN plans."plans.status" AS text CHECK (VALUE <> '');
CREATE TABLE plans.orders (id integer, status plans.status);
INSERT INTO plans.orders VALUES (1, 'paid');
CREATE FUNCTION plans.columns(plans.orders) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$;
"""


@asynccontextmanager
async def asking(database: Database, engine: str) -> AsyncIterator[Asker]:
    server = open_source(SourceSettings("plans", engine, server=address_of(database), pool_size=1))
    try:
        yield Asker(server)
    finally:
        await server.close()


@pytest.fixture
def typed(postgres: Database) -> Iterator[Database]:
    postgres.run(TYPES)
    yield postgres
    postgres.run("DROP SCHEMA plans CASCADE")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'paid'::plans.status",
        "SELECT CAST('paid' AS plans.status), NULL::plans.status",
        "SELECT status::text::plans.status FROM plans.orders",
        "SELECT ARRAY['new', 'paid']::plans.status[]",
        "SELECT unnest('{new,paid}'::plans.status[])",
        "SELECT count(*) FROM information_schema.columns",
    ],
)
async def test_a_cast_to_an_enum_of_the_database_runs(sql: str, typed: Database) -> None:
    async with asking(typed, "postgres") as source:
        answer = await source.query(sql)
    assert not answer.is_error, answer.text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'x'::plans.checked",
        "SELECT 'x'::plans.converted",
        "SELECT status::text::plans.converted FROM plans.orders",
        "SELECT 'x'::\"plans.status\"",
        "SELECT 'x'::plans.\"plans.status\"",
        "SELECT 'paid'::plans.status, 'x'::plans.checked",
    ],
)
async def test_a_cast_that_may_run_its_owners_code_is_refused(sql: str, typed: Database) -> None:
    async with asking(typed, "postgres") as source:
        answer = await source.query(sql)
    assert answer.rule == "type"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM plans.orders o WHERE ((1 IS DISTINCT FROM o.columns))",
        "SELECT trim(FROM o.columns) FROM plans.orders o",
    ],
)
async def test_a_function_behind_another_from_is_no_table(sql: str, typed: Database) -> None:
    async with asking(typed, "postgres") as source:
        answer = await source.query(sql)
    assert "calls the function columns()" in answer.text


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN UPDATE plans.orders SET total = 0 WHERE id = 1",
        "EXPLAIN FORMAT=JSON DELETE FROM plans.orders",
        "EXPLAIN INSERT INTO plans.orders VALUES (2, 2)",
        "EXPLAIN REPLACE INTO plans.orders VALUES (1, 5)",
    ],
)
async def test_a_write_is_explained_in_a_read_only_source_and_does_not_run(
    sql: str, mariadb: Database
) -> None:
    mariadb.run(
        "DROP DATABASE IF EXISTS plans; CREATE DATABASE plans;"
        "CREATE TABLE plans.orders (id INT PRIMARY KEY, total INT); INSERT INTO plans.orders VALUES (1, 7)"
    )
    async with asking(mariadb, "mysql") as source:
        plan = await source.query(sql)
        after = await source.query("UPDATE plans.orders SET total = 0")
    assert not plan.is_error, plan.text
    assert after.is_error
    assert mariadb.run("SELECT * FROM plans.orders") == "1\t7"
    mariadb.run("DROP DATABASE plans")
