"""A stored function that is called like a built-in one of other servers must not run in its place."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from databases.database import Database
from sql.conftest import Asker
from sql.network.conftest import address_of

from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings

# MariaDB 10.11 has no any_value, no regexp_like and no format_bytes; lower, greatest and count are its own.
FUNCTIONS = ("any_value", "regexp_like", "formát_bytes", "lower", "greatest")


@pytest.fixture
def stored(mariadb: Database) -> Iterator[Database]:
    mariadb.run("DROP DATABASE IF EXISTS stored; CREATE DATABASE stored; CREATE TABLE stored.log (n INT)")
    for name in FUNCTIONS:
        mariadb.run(f"CREATE FUNCTION stored.`{name}`(x INT) RETURNS INT RETURN 7")
    yield mariadb
    mariadb.run("DROP DATABASE stored")


@asynccontextmanager
async def asking(database: Database, *allowed: str) -> AsyncIterator[Asker]:
    address = replace(address_of(database), database="stored")
    settings = SourceSettings(
        "stored", "mysql", server=address, pool_size=1, allow_functions=frozenset(allowed)
    )
    server = open_source(settings)
    try:
        yield Asker(server)
    finally:
        await server.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ANY_VALUE(1)",
        "SELECT regexp_like (1, 2)",
        "SELECT 1 FROM stored.log WHERE format_bytes(1) = 7",
        "SELECT 1; SELECT any_value(2)",
    ],
)
async def test_a_stored_function_is_not_called_for_a_built_in_one_that_the_server_lacks(
    sql: str, stored: Database
) -> None:
    async with asking(stored) as source:
        answer = await source.query(sql)
        after = await source.query("SELECT 1")
    assert (answer.code, answer.rule) == ("refused.function", "engine")
    assert "no built-in function of this server" in answer.text
    assert not after.is_error


async def test_built_in_functions_are_called_whatever_is_stored_under_their_names(stored: Database) -> None:
    async with asking(stored) as source:
        answer = await source.query("SELECT lower('ABC'), greatest(1, 2), count(*) FROM stored.log")
    assert answer.structured["rows"] == [["abc", 2, 0]]


async def test_what_the_operator_allows_is_called(stored: Database) -> None:
    async with asking(stored, "any_value") as source:
        answer = await source.query("SELECT any_value(1)")
    assert answer.structured["rows"] == [[7]]
