"""A server that does not keep to its protocol: no crash, no hang, no memory; the call ends with an error."""

import asyncio
import itertools
import random
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from databases.database import Database
from hypothesis import given
from hypothesis import strategies as st
from sql.network.conftest import Opener, address_of
from sql.network.peer import listening
from sql.network.proxy import Proxy
from waiting import until

from callgate.model.errors import SourceError
from callgate.sql.drivers.network.server import MOST_FAULT_CHARS
from callgate.sql.drivers.network.stream import ByteStream
from callgate.sql.engines.mysql.driver.geometry import to_wkt
from callgate.sql.engines.mysql.driver.packets import read_fault as mysql_fault
from callgate.sql.engines.postgres.driver.messages import read_fault as postgres_fault
from callgate.sql.engines.postgres.driver.wire import PostgresWire
from callgate.sql.settings import ServerAddress, Tls, TlsMode


class Liar(Proxy):
    """A proxy that spoils what the server says, once told to."""

    spoil: Callable[[bytes], bytes] = staticmethod(lambda data: data)

    def change(self, data: bytes) -> bytes:
        return self.spoil(data)


@pytest.fixture
async def liar(either: Opener) -> AsyncIterator[tuple[Liar, ServerAddress]]:
    async with either() as source:
        address = source.address
    proxy = Liar(address.host, address.port)
    await proxy.mend()
    yield proxy, replace(address, port=proxy.port, connect_timeout_s=1.0)
    await proxy.cut()


@pytest.mark.parametrize("seed", range(25))
async def test_spoilt_answers_end_in_an_error_or_an_answer(
    either: Opener, liar: tuple[Liar, ServerAddress], seed: int
) -> None:
    proxy, address = liar
    chance = random.Random(seed)

    def spoil(data: bytes) -> bytes:
        spoilt = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
        return bytes(spoilt)

    async with either(address=address, timeout_s=0.5, pool_size=1) as source:
        await source.run("SELECT 1")
        proxy.spoil = spoil
        for _ in range(5):
            with suppress(SourceError):
                await source.run("SELECT 1, 'abc', NULL, 2.5")


def _twice(data: bytes) -> bytes:
    return data + data


async def test_an_answer_that_comes_twice_is_told_to_nobody_else(
    either: Opener, liar: tuple[Liar, ServerAddress]
) -> None:
    proxy, address = liar
    async with either(address=replace(address, tls=Tls(TlsMode.OFF)), pool_size=1) as source:
        numbers = itertools.count()

        async def is_answered() -> bool:
            asked = next(numbers)
            with suppress(SourceError):  # it may wait for its next try to connect
                assert await source.cell(f"SELECT {asked} AS n") == asked
                return True
            return False

        for _ in range(20):
            await until(is_answered)
            proxy.spoil = _twice
            await is_answered()
            proxy.spoil = bytes
            await is_answered()
        await until(is_answered)


NOTICE = b"N\0\0\0\x0bSHELLO\0"


async def test_notices_that_come_before_a_question_end_nothing(post: Opener, postgres: Database) -> None:
    proxy = Liar(postgres.host, postgres.port)
    await proxy.mend()
    address = replace(address_of(postgres), host="127.0.0.1", port=proxy.port, tls=Tls(TlsMode.OFF))
    async with post(address=address, pool_size=1) as source:
        session = await source.cell("SELECT pg_backend_pid()")
        proxy.spoil = lambda data: data + NOTICE * 3
        for _ in range(5):
            assert await source.cell("SELECT pg_backend_pid()") == session
    await proxy.cut()


@pytest.mark.parametrize(
    ("heard", "is_nothing"),
    [
        (b"", True),
        (NOTICE, True),
        (NOTICE * 2 + NOTICE[:1], True),
        (NOTICE[:7], True),
        (b"S\0\0\0\0" * 3, False),
        (b"Z\0\0\0\x05I", False),
        (NOTICE + b"E", False),
    ],
    ids=range(7),
)
def test_postgres_may_say_notices_and_settings_unasked(heard: bytes, is_nothing: bool) -> None:
    wire = PostgresWire(ByteStream(), is_private=True)
    wire.stream.buffer += heard
    assert wire.has_heard_nothing() is is_nothing


async def test_a_message_without_end_is_not_collected(post: Opener, postgres: Database) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(8)
        writer.write(b"N")
        await reader.read(4096)
        writer.write(b"E\x7f\xff\xff\xff")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async with post() as source:
        address = source.address
    async with listening(endless) as port:
        tracemalloc.start()
        try:
            async with post(address=replace(address, port=port, connect_timeout_s=2.0)) as source:
                with pytest.raises(SourceError):
                    await source.run("SELECT 1")
            assert tracemalloc.get_traced_memory()[1] < 10_000_000
        finally:
            tracemalloc.stop()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_geometry_or_none(data: bytes) -> None:
    assert to_wkt(data) is None or isinstance(to_wkt(data), str)


@pytest.mark.parametrize("place", ["7", "\u00b2", "9" * 5000])
def test_a_fault_has_few_words_and_a_place_only_if_it_is_a_number(place: str) -> None:
    words = "x" * 3_000_000
    told = postgres_fault(f"C28000\0M{words}\0H{words}\0P{place}\0\0".encode())
    assert (len(told.message), len(told.hint)) == (MOST_FAULT_CHARS, MOST_FAULT_CHARS)
    assert told.position == (7 if place == "7" else None)
    assert len(mysql_fault(b"\xff\x15\x04#28000" + words.encode()).message) == MOST_FAULT_CHARS
