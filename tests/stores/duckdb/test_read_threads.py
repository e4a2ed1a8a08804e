"""Slow reads take neither all threads nor for ever."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import date
from pathlib import Path

import duckdb
import pytest
from recorder.happenings import Open
from waiting import until

from callgate.model.errors import CallerError
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.duckdb.store import Store
from callgate.recorder.stores.duckdb.threads import ReadThreads


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "days", date(2026, 5, 4))
    yield store
    store.close()


@pytest.fixture
async def threads() -> AsyncIterator[ReadThreads]:
    threads = ReadThreads(patience_s=0.2)
    yield threads
    threads.close()


def endless(cursor: duckdb.DuckDBPyConnection) -> object:
    return cursor.execute("SELECT sum(range) FROM range(1_000_000_000_000)").fetchall()


def short(cursor: duckdb.DuckDBPyConnection) -> object:
    return cursor.execute("SELECT 42").fetchall()


async def test_reads_that_never_end_leave_the_others_their_threads(
    store: Store, threads: ReadThreads
) -> None:
    slow = [asyncio.create_task(threads.run(store, endless, ReadKind.SCAN)) for _ in range(12)]
    async with asyncio.timeout(60):
        assert await threads.run(store, short, ReadKind.PAGE) == [(42,)]
        late, running = await asyncio.wait(slow, return_when=asyncio.ALL_COMPLETED, timeout=5)
    assert len(late) == 12 - ReadKind.SCAN.value.at_once
    for task in late:
        with pytest.raises(CallerError, match="such reads of the record run at once"):
            await task
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    await until(lambda: not store.has_readers)  # their threads come to their end


async def test_a_read_ends_at_its_limit_and_gives_its_thread_back(store: Store, threads: ReadThreads) -> None:
    def several(cursor: duckdb.DuckDBPyConnection) -> None:
        """An interrupt ends one statement; the next begins all the same."""
        for _ in range(3):
            try:
                endless(cursor)
            except duckdb.InterruptException:
                continue

    async with asyncio.timeout(60):
        for _ in range(2 * ReadKind.EXPORT.value.at_once):
            with pytest.raises(CallerError, match=r"could not be read within 0\.1 s"):
                await threads.run(store, several, ReadKind.EXPORT, most_s=0.1)
            await until(lambda: not store.has_readers)  # the thread comes to its end
        assert await threads.run(store, short, ReadKind.EXPORT) == [(42,)]


async def test_a_read_that_nobody_waits_for_any_more_is_stopped(open_recorder: Open) -> None:
    reader = open_recorder(True).reader
    began, ended = threading.Event(), threading.Event()

    def endless(cursor: duckdb.DuckDBPyConnection) -> None:
        cursor.execute("FROM range(1_000_000_000_000)")
        try:
            while cursor.fetchmany(1000):
                began.set()
        finally:
            ended.set()

    reading = asyncio.create_task(reader.with_cursor(endless))
    await asyncio.to_thread(began.wait)
    reading.cancel()
    await asyncio.wait([reading])
    assert reading.cancelled()
    await asyncio.to_thread(ended.wait)
