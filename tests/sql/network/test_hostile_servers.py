"""A server that does not keep to its protocol: no crash, no hang, no memory; the call ends with an error."""

import asyncio
import random
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from databases.database import Database
from hypothesis import given
from hypothesis import strategies as st
from sql.network.conftest import Opener
from sql.network.peer import listening
from sql.network.proxy import Proxy

from callgate.model.errors import SourceError
from callgate.sql.drivers.network.server import MOST_FAULT_CHARS
from callgate.sql.engines.mysql.driver.geometry import to_wkt
from callgate.sql.engines.mysql.driver.packets import read_fault as mysql_fault
from callgate.sql.engines.postgres.driver.messages import read_fault as postgres_fault
from callgate.sql.settings import ServerAddress


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
