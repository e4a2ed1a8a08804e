"""A plain read without a task: the same answer as with one, and every end of it leaves the pool as it was."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from databases.database import Database
from sql.network.conftest import Opener, Source, address_of, run_begun
from sql.network.proxy import Proxy
from waiting import until

from callgate.model import error_codes as codes
from callgate.model.errors import CallgateError, SourceError
from callgate.sql.drivers.driver import StatementResult
from callgate.sql.drivers.network.plain_reads import NetworkRead, PlainReadDriver
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import Tls, TlsMode

SETUP = """
DROP DATABASE IF EXISTS begun; CREATE DATABASE begun;
CREATE TABLE begun.t (a int PRIMARY KEY, b varchar(200), c bigint, d double, e varbinary(20), f text);
INSERT INTO begun.t SELECT seq, repeat('ä', seq), seq * 9007199254740993, seq / 7, unhex('00ff'), NULL
    FROM callgate.seq_1_to_150;
CREATE TABLE begun.long_ones (a int, b longtext);
INSERT INTO begun.long_ones VALUES (1, repeat('x', 20000)), (2, repeat('y', 300000));
"""
QUERIES = {
    "one row": "SELECT a, b, c, d, e, f FROM t WHERE a = 7",
    "no row": "SELECT a, b FROM t WHERE a = 0",
    "many rows": "SELECT a, c, d, e, f FROM t ORDER BY a",
    "more than comes at once": "SELECT a, b FROM t ORDER BY a",
    "more than are shown": "SELECT t.a, u.a AS x FROM t, t u ORDER BY t.a, u.a LIMIT 2000",
    "a large number": "SELECT c FROM t WHERE a = 150",
    "a long cell": "SELECT a, b FROM long_ones WHERE a = 1",
    "a cell that is cut": "SELECT a, b FROM long_ones WHERE a = 2",
    "without a table": "SELECT 1 AS one",
    "the same name twice": "SELECT a AS x, b AS x FROM t WHERE a = 3",
}
READ_T = "SELECT a FROM t WHERE a = 1"


class Spoiling(Proxy):
    """Changes what the server says, once told to, and parts it."""

    chance: random.Random | None = None

    def change(self, data: bytes) -> bytes:
        if self.chance is None:
            return data
        spoilt = bytearray(data)
        for _ in range(self.chance.randint(1, 3)):
            spoilt[self.chance.randrange(len(spoilt))] = self.chance.randrange(256)
        return bytes(spoilt)


@pytest.fixture(autouse=True)
def shop(mariadb: Database, no_time_passes: None) -> Database:
    mariadb.run(SETUP)
    return mariadb


@asynccontextmanager
async def opened(
    maria: Opener, shop: Database, proxy: Proxy | None = None, timeout_s: float = 30.0
) -> AsyncIterator[Source]:
    """One session, which knows what its tables are."""
    address = replace(address_of(shop), database="begun")
    if proxy is not None:
        await proxy.mend()
        address = replace(address, host="127.0.0.1", port=proxy.port, tls=Tls(TlsMode.OFF))
    async with maria(pool_size=1, address=address, timeout_s=timeout_s) as source:
        for name in ("t", "long_ones"):
            await source.driver.run((plain(f"SELECT a FROM {name} WHERE a = 1"),))
        yield source


def reader(source: Source) -> PlainReadDriver[Any]:
    assert isinstance(source.driver, PlainReadDriver)
    return source.driver


def plain(text: str) -> Statement:
    judgement = judge(text, Policy(MYSQL))
    assert judgement.allowed
    (statement,) = judgement.statements
    assert statement.is_plain_read
    return statement


def begin(source: Source, text: str) -> tuple[NetworkRead[Any], list[StatementResult | None]]:
    told: list[StatementResult | None] = []
    read = reader(source).begin(plain(text), told.append)
    assert read is not None
    return read, told


def shown(results: tuple[StatementResult, ...]) -> list[StatementResult]:
    """Without what a driver may know or not, and the time."""
    return [msgspec.structs.replace(one, elapsed_ms=0.0, has_large_numbers=True) for one in results]


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
async def test_its_answer_is_that_of_a_task(maria: Opener, shop: Database, text: str) -> None:
    async with opened(maria, shop) as source:
        awaited = await source.driver.run((plain(text),))
        for _ in range(20):  # resets are among them
            assert shown(await run_begun(reader(source), (plain(text),))) == shown(awaited)


@pytest.mark.parametrize("text", [QUERIES["one row"], QUERIES["many rows"]], ids=["one row", "many rows"])
async def test_a_whole_answer_needs_no_task(maria: Opener, shop: Database, text: str) -> None:
    async with opened(maria, shop) as source:
        for _ in range(40):
            read, told = begin(source, text)
            await until(lambda told=told: told != [])
            assert told[0] is not None
            assert await read.rest() == (told[0],)
            await asyncio.sleep(0)


async def test_it_knows_which_columns_may_hold_large_numbers(maria: Opener, shop: Database) -> None:
    async with opened(maria, shop) as source:
        for text, is_large in (("SELECT a FROM t WHERE a = 2", False), ("SELECT c FROM t WHERE a = 2", True)):
            _, told = begin(source, text)
            await until(lambda told=told: told != [])
            assert told[0] is not None
            assert told[0].has_large_numbers is is_large


async def test_an_error_is_told_by_the_rest(maria: Opener, shop: Database) -> None:
    async with opened(maria, shop) as source:
        read, told = begin(source, "SELECT no_such FROM t")
        await until(lambda: told != [])
        assert told == [None]
        with pytest.raises(CallgateError, match="no_such"):
            await read.rest()
        assert (await run_begun(reader(source), (plain(READ_T),)))[0].rows == ((1,),)


async def test_while_the_only_session_is_busy_nothing_is_begun(maria: Opener, shop: Database) -> None:
    async with opened(maria, shop) as source:
        read, told = begin(source, READ_T)
        assert reader(source).begin(plain(READ_T), told.append) is None
        assert (await source.driver.run((plain(READ_T),)))[0].rows == ((1,),)  # it waits
        assert await read.rest() == (told[0],)


async def test_who_goes_away_ends_it_at_the_server(maria: Opener, shop: Database) -> None:
    async with opened(maria, shop) as source:
        read, told = begin(
            source, "SELECT count(*) AS endless FROM t, t u, t v, t w WHERE t.b < u.b OR v.b < w.b"
        )
        await source.until_running("endless", 1)
        read.cancel()
        await source.until_running("endless", 0)
        assert (await source.driver.run((plain(READ_T),)))[0].rows == ((1,),)
        assert told == []


async def test_who_goes_away_before_the_rest_is_awaited_leaves_its_place(
    maria: Opener, shop: Database
) -> None:
    async with opened(maria, shop) as source:
        read, told = begin(source, "SELECT no_such FROM t")
        await until(lambda: told == [None])
        read.cancel()
        assert (await source.driver.run((plain(READ_T),)))[0].rows == ((1,),)


async def test_giving_up_what_is_over_does_not_hit_the_next(maria: Opener, shop: Database) -> None:
    async with opened(maria, shop) as source:
        read, told = begin(source, READ_T)
        await until(lambda: told != [])
        _, next_told = begin(source, READ_T)
        read.cancel()
        await until(lambda: next_told != [])
        assert next_told[0] is not None


async def test_the_source_may_be_closed_meanwhile(maria: Opener, shop: Database) -> None:
    async with opened(maria, shop) as source:
        read, told = begin(
            source, "SELECT count(*) AS closing FROM t, t u, t v, t w WHERE t.b < u.b OR v.b < w.b"
        )
        await source.until_running("closing", 1)
        await source.driver.close()
        await until(lambda: told == [None])
        with pytest.raises(SourceError) as caught:
            await read.rest()
        assert caught.value.code is codes.SOURCE_UNAVAILABLE
        await source.until_running("closing", 0)


async def test_a_session_that_was_closed_while_it_lay_idle_is_replaced(maria: Opener, shop: Database) -> None:
    proxy = Proxy(shop.host, shop.port)
    async with opened(maria, shop, proxy) as source:
        for _ in range(5):
            await proxy.cut()
            await proxy.mend()
            assert (await run_begun(reader(source), (plain(READ_T),)))[0].rows == ((1,),)
    await proxy.cut()


@pytest.mark.parametrize("seed", range(20))
async def test_spoilt_answers_end_in_an_error_or_an_answer(maria: Opener, shop: Database, seed: int) -> None:
    proxy = Spoiling(shop.host, shop.port)
    async with opened(maria, shop, proxy, timeout_s=0.5) as source:
        proxy.chance = random.Random(seed)
        ended = 0
        for text in (QUERIES["one row"], QUERIES["many rows"], READ_T):
            try:
                (result,) = await run_begun(reader(source), (plain(text),))
                ended += isinstance(result, StatementResult)
            except SourceError:
                ended += 1
        assert ended == 3
        proxy.chance = None
        await proxy.cut()
        await proxy.mend()
        while (await answer_or_none(source)) is None:
            await asyncio.sleep(0.01)
    await proxy.cut()


async def answer_or_none(source: Source) -> StatementResult | None:
    try:
        return (await source.driver.run((plain(READ_T),)))[0]
    except SourceError:
        return None
