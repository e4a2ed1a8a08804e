"""A stored function that is called like a built-in one of other servers must not run in its place."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from databases.database import Database
from sql.conftest import Asker
from sql.network.conftest import Opener, address_of

from callgate.model.errors import RefusedError
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings

# MariaDB has no any_value, no regexp_like and no statement_digest. MySQL has them, and none of the others.
FUNCTIONS = (
    "any_value",
    "regexp_like",
    "státement_digest",
    "lower",
    "greatest",
    "natural_sort_key",
    "médian",
    "nvl",
)
# Whose built-in functions they are.
LACKING = {
    "mariadb": [
        "SELECT ANY_VALUE(1)",
        "SELECT regexp_like (1, 2)",
        "SELECT 1 FROM own_stored.log WHERE statement_digest(1) = 7",
        "SELECT 1; SELECT any_value(2)",
    ],
    "mysql": [
        "SELECT NATURAL_SORT_KEY('a')",
        "SELECT natural_sort_key (1)",
        "SELECT 1 FROM own_stored.log WHERE nvl(1, 2) = 7",
        "SELECT 1; SELECT median(2)",
    ],
}


@pytest.fixture
def stored(mariadb: Database) -> Iterator[Database]:
    mariadb.run(
        "DROP DATABASE IF EXISTS own_stored; CREATE DATABASE own_stored; CREATE TABLE own_stored.log (n INT)"
    )
    for name in FUNCTIONS:
        mariadb.run(f"CREATE FUNCTION own_stored.`{name}`(x INT) RETURNS INT DETERMINISTIC RETURN 7")
    yield mariadb
    mariadb.run("DROP DATABASE own_stored")


@asynccontextmanager
async def asking(database: Database, *allowed: str) -> AsyncIterator[Asker]:
    address = replace(address_of(database), database="own_stored")
    settings = SourceSettings(
        "stored", "mysql", server=address, pool_size=1, allow_functions=frozenset(allowed)
    )
    server = open_source(settings)
    try:
        yield Asker(server)
    finally:
        await server.close()


@pytest.mark.parametrize("number", range(4))
async def test_a_stored_function_is_not_called_for_a_built_in_one_that_the_server_lacks(
    number: int, stored: Database
) -> None:
    async with asking(stored) as source:
        answer = await source.query(LACKING[stored.flavour][number])
        after = await source.query("SELECT 1")
    assert (answer.code, answer.rule) == ("refused.function", "engine")
    assert "no built-in function of this server" in answer.text
    assert not after.is_error


async def test_a_constructor_of_geometries_without_an_argument_is_a_stored_function(stored: Database) -> None:
    stored.run("CREATE FUNCTION own_stored.`polygon`() RETURNS INT DETERMINISTIC RETURN 7")
    async with asking(stored) as source:
        answer = await source.query("SELECT polygon /* none */ ( )")
        built_in = await source.query(
            "SELECT ST_AsText(polygon(linestring(point(0,0),point(1,0),point(1,1),point(0,0))))"
        )
    assert (answer.code, answer.rule) == ("refused.function", "engine")
    assert built_in.structured["rows"] == [["POLYGON((0 0,1 0,1 1,0 0))"]]


async def test_built_in_functions_are_called_whatever_is_stored_under_their_names(stored: Database) -> None:
    async with asking(stored) as source:
        answer = await source.query("SELECT lower('ABC'), greatest(1, 2), count(*) FROM own_stored.log")
    assert answer.structured["rows"] == [["abc", 2, 0]]


async def test_what_the_operator_allows_is_called(stored: Database) -> None:
    name = {"mariadb": "any_value", "mysql": "nvl"}[stored.flavour]
    async with asking(stored, name) as source:
        answer = await source.query(f"SELECT {name}(1)")
    assert answer.structured["rows"] == [[7]]


async def test_a_limit_of_rows_leaves_out_no_name(stored: Database, maria: Opener) -> None:
    """The names are asked for, and must all be known."""
    async with maria(max_rows=1, address=replace(address_of(stored), database="own_stored")) as source:
        for text in LACKING[stored.flavour][:2]:
            with pytest.raises(RefusedError):
                await source.run(text)
