"""Time-out, cancelled callers and closing: the statement ends at the server, and nothing is left behind."""

import asyncio

import pytest
from sql.network.conftest import Opener, Source

from callgate.model.errors import SourceError
from callgate.sql.settings import Mode


def marked(source: Source, mark: str) -> str:
    return f"{source.sleep} /* {mark} */"


async def test_a_time_out_ends_the_statement_at_the_server(either: Opener) -> None:
    async with either(timeout_s=0.3) as source:
        with pytest.raises(SourceError) as caught:
            await source.run(marked(source, "too-slow"))
        assert caught.value.code.code == "source.timeout"
        assert "Query execution timeout exceeded (300ms)" in caught.value.message
        assert "LIMIT" in caught.value.hint
        await source.until_running("too-slow", 0)
        assert await source.cell("SELECT 7") == 7


async def test_a_cancelled_caller_ends_the_statement_at_the_server(either: Opener) -> None:
    async with either() as source:
        task = asyncio.create_task(source.run(marked(source, "given-up")))
        await source.until_running("given-up", 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await source.until_running("given-up", 0)
        assert await source.cell("SELECT 7") == 7


async def test_the_watchdogs_flag_decides_and_not_what_the_server_answers(maria: Opener) -> None:
    """A killed SLEEP ends with an ordinary row on some servers."""
    async with maria(timeout_s=0.3) as source:
        with pytest.raises(SourceError) as caught:
            await source.run("SELECT SLEEP(100), 1")
        assert caught.value.code.code == "source.timeout"


async def test_closing_ends_what_runs_and_what_waits(either: Opener) -> None:
    async with either(pool_size=1) as source:
        running = asyncio.create_task(source.run(marked(source, "closed")))
        await source.until_running("closed", 1)
        waiting = asyncio.create_task(source.run("SELECT 1"))
        await asyncio.sleep(0)
    for task in (running, waiting):
        with pytest.raises(SourceError) as caught:
            await task
        assert caught.value.code.code == "source.unavailable"
    await source.until_running("closed", 0)


async def test_a_call_after_closing_is_told_so(either: Opener) -> None:
    async with either() as source:
        pass
    with pytest.raises(SourceError):
        await source.run("SELECT 1")


async def test_a_call_cancelled_in_any_moment_leaves_the_pool_usable(either: Opener) -> None:
    async with either(pool_size=2) as source:
        await source.run("SELECT 1")
        for turns in range(30):
            task = asyncio.create_task(source.run("SELECT 1"))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        answers = await asyncio.gather(*(source.cell("SELECT 7") for _ in range(8)))
        assert answers == [7] * 8


async def test_the_next_caller_is_not_hit_by_a_late_cancellation(either: Opener) -> None:
    async with either(pool_size=1) as source:
        for _ in range(20):
            first = asyncio.create_task(source.run("SELECT 1"))
            second = asyncio.create_task(source.cell("SELECT 7"))
            await asyncio.sleep(0)
            first.cancel()
            assert await second == 7
            await asyncio.gather(first, return_exceptions=True)


async def test_a_stopped_write_is_rolled_back(either: Opener) -> None:
    async with either(timeout_s=0.3, mode=Mode.WRITE) as source:
        table = source.table("stopped")
        with pytest.raises(SourceError) as caught:
            await source.run_all(
                "BEGIN", f"INSERT INTO {table} VALUES (1, 'x')", marked(source, "half-done"), "COMMIT"
            )
        assert caught.value.code.code == "source.timeout"
        await source.until_running("half-done", 0)
        assert source.server.run(f"SELECT count(*) FROM {table}") == "0"


async def test_waiting_for_a_connection_has_a_limit_of_its_own(either: Opener) -> None:
    async with either(pool_size=1, timeout_s=0.3) as source:
        await source.run("SELECT 1")
        tasks = [asyncio.create_task(source.run(source.sleep)) for _ in range(3)]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        errors = [outcome for outcome in outcomes if isinstance(outcome, SourceError)]
        assert [error.code.code for error in errors] == ["source.timeout"] * 3
        assert await source.cell("SELECT 7") == 7


async def test_a_statement_is_ended_that_the_server_has_not_quite_begun(post: Opener) -> None:
    """PostgreSQL forgets a cancel that comes between two messages of a statement."""
    async with post(timeout_s=200) as source:
        sql = "SELECT /* hardly-begun */ count(*) FROM generate_series(1, 100000000000)"
        calls = [asyncio.create_task(source.run(sql)) for _ in range(4)]
        await source.until_running("hardly-begun", 4)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await source.until_running("hardly-begun", 0)
