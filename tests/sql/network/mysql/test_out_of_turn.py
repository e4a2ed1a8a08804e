"""A server that says more than it was asked, or goes away again and again: no caller gets what another one
asked for, and each call ends in an answer or in words for callers."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from databases.database import Database
from sql.network.conftest import Opener, Source, address_of, run_begun
from sql.network.mysql.test_begun_reads import READ_T, plain, reader
from sql.network.peer import listening
from sql.network.proxy import Proxy
from waiting import until

from callgate.model import error_codes as codes
from callgate.model.errors import SourceError
from callgate.model.reply import Reply
from callgate.sql.drivers.driver import StatementResult
from callgate.sql.drivers.network.driver import NetworkDriver
from callgate.sql.drivers.network.plain_reads import PlainReadDriver
from callgate.sql.drivers.network.stream import ConnectionLost, open_stream
from callgate.sql.engines.mysql.driver.packets import Greeting, framed, lenenc_bytes
from callgate.sql.engines.mysql.driver.result import read_result
from callgate.sql.engines.mysql.driver.wire import MySqlWire
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits
from callgate.sql.server.begun_calls import BegunSourceCall
from callgate.sql.settings import ServerAddress, Tls, TlsMode

SETUP = """
DROP DATABASE IF EXISTS turns; CREATE DATABASE turns;
CREATE TABLE turns.t (a int PRIMARY KEY, b varchar(40)); INSERT INTO turns.t VALUES (1, 'one'), (2, 'two');
"""
Run = Callable[[PlainReadDriver[Any], Sequence[Statement]], Awaitable[tuple[StatementResult, ...]]]


class Talkative(Proxy):
    """Says the next answer twice, once told to, or goes away instead of every second one."""

    is_twice = False
    is_leaving = False
    reads = 0

    def change(self, data: bytes) -> bytes:
        is_twice, self.is_twice = self.is_twice, False
        return data + data if is_twice else data

    def hear(self, data: bytes) -> bytes:
        self.reads += b"FROM t WHERE" in data
        if self.is_leaving and self.reads % 2 and b"FROM t WHERE" in data:
            raise ConnectionResetError
        return data


@pytest.fixture(autouse=True)
def shop(mariadb: Database, no_time_passes: None) -> Database:
    mariadb.run(SETUP)
    return mariadb


@asynccontextmanager
async def opened(maria: Opener, shop: Database, proxy: Proxy) -> AsyncIterator[Source]:
    """One session, which knows what its table is."""
    await proxy.mend()
    address = replace(
        address_of(shop), database="turns", host="127.0.0.1", port=proxy.port, tls=Tls(TlsMode.OFF)
    )
    async with maria(pool_size=1, address=address) as source:
        await source.driver.run((plain(READ_T),))
        yield source
    await proxy.cut()


async def word(source: Source, run: Run, number: int) -> object:
    """Of that row. Raises `SourceError`."""
    (result,) = await run(reader(source), (plain(f"SELECT b FROM t WHERE a = {number}"),))
    return result.rows[0][0]


RUNS = pytest.mark.parametrize("run", [run_begun, NetworkDriver.run], ids=["begun", "awaited"])


@RUNS
async def test_an_answer_that_comes_twice_is_told_to_nobody_else(
    maria: Opener, shop: Database, run: Run
) -> None:
    proxy = Talkative(shop.host, shop.port)
    async with opened(maria, shop, proxy) as source:
        for _ in range(20):  # resets are among them
            proxy.is_twice = True
            assert await word(source, run, 1) == "one"
            assert await word(source, run, 2) == "two"


@RUNS
async def test_a_server_that_goes_away_again_and_again_is_told_in_words(
    maria: Opener, shop: Database, run: Run
) -> None:
    proxy = Talkative(shop.host, shop.port)
    async with opened(maria, shop, proxy) as source:
        proxy.is_leaving = True
        ended = await asyncio.gather(*(word(source, run, 1) for _ in range(40)), return_exceptions=True)
    found = Counter(one.code if isinstance(one, SourceError) else one for one in ended)
    assert set(found) == {"one", codes.SOURCE_UNAVAILABLE}


DEFINITION = framed(
    b"".join(map(lenenc_bytes, (b"def", b"", b"", b"", b"n" * 64, b"")))
    + b"\x0c\x2d\0\x04\0\0\0\xfd\0\0\0\0\0",
    2,
)


@pytest.mark.parametrize(
    ("count", "definition"),
    [
        (b"\xfe" + b"\xff" * 8, DEFINITION),
        (b"\xfc\x00\x40", framed(b"x" * 8192, 2)),
    ],
    ids=["many", "long ones"],
)
async def test_columns_without_end_are_not_collected(count: bytes, definition: bytes) -> None:
    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(framed(count, 1))
        while True:
            writer.write(definition * 100)
            await writer.drain()

    async with listening(endless) as port:
        stream = await open_stream(ServerAddress("127.0.0.1", port, "somebody"))
        wire = MySqlWire(stream, Greeting("10.11.19-MariaDB", 1, b"", 0, 0, ""), 0)
        with pytest.raises(ConnectionLost):
            await read_result(wire, Statement("SELECT 1", "SELECT"), Limits())
        stream.close()


async def test_a_call_that_is_cancelled_before_its_task_begins_leaves_nothing() -> None:
    asked: list[str] = []
    told: list[object] = []

    async def answer() -> bytes:
        asked.append("once")
        return b"{}"

    for is_cancelled in (True, False):
        call = BegunSourceCall(told.append)
        call.answer(answer)
        if is_cancelled:
            call.cancel()
    await until(lambda: told != [])
    assert told == [Reply(result=b"{}")]
    assert asked == ["once"]
