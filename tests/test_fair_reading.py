"""A flood on one stream: its reader gets pieces, others have their turn between them, nothing is lost."""

import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import cast

import pytest
from waiting import until

from callgate.fair_reading import FairReading

LONG = bytes(range(256)) * 4096  # 1 MiB
WORK_S = 0.005  # longer than one turn may take


class Reader(asyncio.Protocol):
    def __init__(self, work_s: float = 0.0) -> None:
        self.reading = FairReading(self._take)
        self.pieces: list[bytes] = []
        self.is_over = False
        self.on_piece: Callable[[], None] = lambda: None
        self._work_s = work_s

    def _take(self, piece: bytes) -> None:
        time.sleep(self._work_s)
        self.pieces.append(piece)
        self.on_piece()

    @property
    def taken(self) -> bytes:
        return b"".join(self.pieces)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.reading.use(cast("asyncio.ReadTransport", transport))

    def data_received(self, data: bytes) -> None:
        self.reading.received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.reading.flush()
        self.reading.end()
        self.is_over = True


@asynccontextmanager
async def flooded(reader: Reader, data: bytes = LONG) -> AsyncGenerator[socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.setblocking(False)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: reader, sock=ours)
        writing = asyncio.create_task(loop.sock_sendall(theirs, data))
        try:
            yield theirs
        finally:
            writing.cancel()
            transport.abort()


async def test_everything_comes_in_its_order() -> None:
    reader = Reader()
    async with flooded(reader):
        await until(lambda: len(reader.taken) == len(LONG))
    assert reader.taken == LONG


async def test_others_have_their_turn_between_two_pieces() -> None:
    reader, turns = Reader(WORK_S), list[int]()

    async def neighbour() -> None:
        while True:
            turns.append(len(reader.pieces))
            await asyncio.sleep(0)

    async with flooded(reader, LONG[: 256 * 1024]):
        beside = asyncio.create_task(neighbour())
        await until(lambda: len(reader.taken) == 256 * 1024)
        beside.cancel()
    most = max(later - earlier for earlier, later in pairwise(turns))
    assert most <= 2, "of one turn of the loop"


async def test_who_pauses_in_the_middle_is_handed_nothing_more_until_it_resumes() -> None:
    reader = Reader()
    reader.on_piece = reader.reading.pause
    async with flooded(reader):
        await until(lambda: bool(reader.pieces))
        await asyncio.sleep(0.05)
        assert len(reader.pieces) == 1
        reader.on_piece = lambda: None
        reader.reading.resume()
        await until(lambda: len(reader.taken) == len(LONG))
    assert reader.taken == LONG


async def test_who_resumes_while_it_is_handed_something_is_not_handed_the_next_within() -> None:
    reader, depth = Reader(), 0

    def pause_and_resume() -> None:
        nonlocal depth
        depth += 1
        assert depth == 1
        reader.reading.pause()
        reader.reading.resume()
        depth -= 1

    reader.on_piece = pause_and_resume
    async with flooded(reader):
        await until(lambda: len(reader.taken) == len(LONG))


async def test_what_was_read_before_the_end_is_handed_over_before_it_is_told() -> None:
    reader = Reader(WORK_S)
    async with flooded(reader, LONG[: 64 * 1024]) as theirs:
        await until(lambda: bool(reader.reading.rest))
        theirs.shutdown(socket.SHUT_WR)
        await until(lambda: reader.is_over)
    assert reader.taken == LONG[: 64 * 1024]


async def test_an_owner_that_ended_it_is_handed_nothing_more() -> None:
    reader = Reader()
    reader.on_piece = reader.reading.end
    reader.reading.received(LONG)
    await asyncio.sleep(0)
    assert len(reader.pieces) == 1


@pytest.mark.parametrize("size", [1, 8 * 1024, 8 * 1024 + 1])
async def test_what_came_before_there_was_a_transport_is_handed_over(size: int) -> None:
    reader = Reader(WORK_S)
    reader.reading.received(LONG[:size])
    await until(lambda: len(reader.taken) == size)
