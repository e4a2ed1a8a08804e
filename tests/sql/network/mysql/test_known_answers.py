"""What a server says to our own commands is the same each time: another answer is still noticed."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from callgate.sql.drivers.network.stream import ByteStream, ConnectionLost
from callgate.sql.drivers.network.way import Way
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.mysql.driver.connection import MySqlConnection
from callgate.sql.engines.mysql.driver.kills import Kills
from callgate.sql.engines.mysql.driver.packets import Greeting, framed
from callgate.sql.engines.mysql.driver.short_way import BaseTables
from callgate.sql.engines.mysql.driver.wire import MySqlWire
from callgate.sql.engines.mysql.own_functions import OwnFunctions
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits, Policy
from callgate.sql.settings import ServerAddress

OK = framed(b"\0\0\0\x02\0\0\0", 1)
OTHER_OK = framed(b"\0\0\0\x22\0\0\0", 1)
REFUSED = framed(b"\xff\x15\x04#28000no", 1)
ALL_IS_WELL = (OK, OK, OK, OK)  # to BEGIN, the statement, the reset and the pins
# Of our own questions, so that the names of stored functions are not asked for.
STATEMENT = Statement("SELECT 1", "SELECT", limits=Limits())


@asynccontextmanager
async def line() -> AsyncIterator[tuple[MySqlConnection, socket.socket]]:
    """A connection that is logged in, and the server's end of it."""
    ours, theirs = socket.socketpair()
    with theirs:
        _, stream = await asyncio.get_running_loop().create_connection(ByteStream, sock=ours)
        greeting = Greeting("10.11.19-MariaDB", 1, b"", 0, 0, "")
        address = ServerAddress("127.0.0.1", 3306, "somebody")
        wire = MySqlWire(stream, greeting, 0)
        connection = MySqlConnection(
            wire, address, Policy(MYSQL), Kills(Way(address)), OwnFunctions(), BaseTables()
        )
        yield connection, theirs
        connection.close()


async def test_other_answers_than_before_are_read_one_by_one() -> None:
    async with line() as (connection, server):
        for answers in (ALL_IS_WELL, ALL_IS_WELL, (OTHER_OK, OK, OTHER_OK, OK), ALL_IS_WELL):
            server.sendall(b"".join(answers))
            assert len(await connection.run((STATEMENT,))) == 1
            assert connection.is_usable


async def test_answers_that_come_in_pieces_are_waited_for() -> None:
    async with line() as (connection, server):
        for whole in (b"".join(ALL_IS_WELL),) * 3:
            running = asyncio.create_task(connection.run((STATEMENT,)))
            for at in range(len(whole)):
                assert not running.done()
                server.sendall(whole[at : at + 1])
                await asyncio.sleep(0)
            assert len(await running) == 1
            assert connection.is_usable


async def test_a_transaction_that_is_refused_after_others_were_not_ends_the_connection() -> None:
    async with line() as (connection, server):
        server.sendall(b"".join(ALL_IS_WELL))
        await connection.run((STATEMENT,))
        server.sendall(b"".join((REFUSED, OK, OK, OK)))
        with pytest.raises(ConnectionLost):
            await connection.run((STATEMENT,))
        assert not connection.is_usable


@pytest.mark.parametrize("answers", [(OK, OK, REFUSED, OK), (OK, OK, OK, REFUSED)])
async def test_a_session_that_could_not_be_restored_is_not_used_again(answers: tuple[bytes, ...]) -> None:
    async with line() as (connection, server):
        server.sendall(b"".join(ALL_IS_WELL))
        await connection.run((STATEMENT,))
        assert connection.is_usable
        server.sendall(b"".join(answers))
        assert len(await connection.run((STATEMENT,))) == 1
        assert not connection.is_usable
