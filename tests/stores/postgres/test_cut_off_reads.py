"""Reads of the record that are cut off: nothing of them is left, and the log says nothing of it."""

import asyncio

import pytest
from stores.kinds import PostgresKind
from waiting import until

from callgate.postgres_connection import Connection
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.postgres.loop_thread import LoopThread
from callgate.recorder.stores.postgres.reads import PostgresReads


async def one(connection: Connection) -> int:
    return await connection.fetchval("SELECT 1")


async def test_a_reader_that_leaves_at_any_moment_leaves_no_transaction_behind(
    kind: PostgresKind, caplog: pytest.LogCaptureFixture
) -> None:
    thread = LoopThread("reads")
    reads = PostgresReads(thread, kind.address)
    assert await reads.run(one, ReadKind.PAGE) == 1
    for turn in range(200):
        reading = asyncio.create_task(reads.run(one, ReadKind.PAGE))
        await asyncio.wait([reading], timeout=turn * 0.00002)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert await reads.run(one, ReadKind.PAGE) == 1
    await reads.close()
    thread.close()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_a_read_that_nobody_waits_for_is_ended_at_the_server(kind: PostgresKind) -> None:
    running = (
        "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)' AND state = 'active'"
    )

    async def slow(connection: Connection) -> None:
        await connection.execute("SELECT pg_sleep(600)")

    thread = LoopThread("reads")
    reads = PostgresReads(thread, kind.address)
    reading = asyncio.create_task(reads.run(slow, ReadKind.SCAN, 600.0))
    await until(lambda: kind.database.run(running) == "1")
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await until(lambda: kind.database.run(running) == "0")
    await reads.close()
    thread.close()
