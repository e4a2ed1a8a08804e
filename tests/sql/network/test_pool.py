"""Who gets which connection: in order of arrival, never more than the pool's size, never a dead one."""

import asyncio
from typing import Any

import pytest
from sql.network.conftest import Opener, Source
from waiting import until

from callgate.model.errors import SourceError


def open_connections(source: Source) -> int:
    return source.driver._pool._places


async def test_sixty_four_callers_on_eight_connections_all_get_their_own_answer_in_order(
    either: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with either(pool_size=8) as source:
        await asyncio.gather(*(source.cell("SELECT 7") for _ in range(8)))
        served: list[str] = []
        pool = source.driver._pool
        take, take_at_once = pool.take, pool.take_at_once

        def note() -> None:
            task = asyncio.current_task()
            assert task is not None
            served.append(task.get_name())

        async def noted() -> Any:
            connection = await take()
            note()
            return connection

        def noted_at_once() -> Any:
            connection = take_at_once()
            if connection is not None:
                note()
            return connection

        monkeypatch.setattr(pool, "take", noted)
        monkeypatch.setattr(pool, "take_at_once", noted_at_once)
        calls = [asyncio.create_task(source.cell(f"SELECT {n}"), name=str(n)) for n in range(64)]
        assert await asyncio.gather(*calls) == list(range(64))
        assert served == [str(n) for n in range(64)]
        assert open_connections(source) == 8


async def test_who_waits_is_served_before_who_comes_later(either: Opener) -> None:
    served: list[int] = []

    async def call(source: Source, n: int) -> None:
        await source.cell(f"SELECT {n}")
        served.append(n)

    async with either(pool_size=1) as source:
        await source.run("SELECT 1")
        await asyncio.gather(*(call(source, n) for n in range(20)))
        assert served == list(range(20))


async def test_one_caller_after_the_other_needs_one_connection(either: Opener) -> None:
    async with either(pool_size=4) as source:
        for n in range(20):
            assert await source.cell(f"SELECT {n}") == n
        assert open_connections(source) == 1


async def test_a_pool_follows_the_share_that_it_is_given(either: Opener) -> None:
    async with either(pool_size=4) as source:
        running = [asyncio.create_task(source.run(f"{source.sleep} /* shared */")) for _ in range(3)]
        await source.until_running("shared", 3)
        source.driver.limit_connections(1)
        waiting = asyncio.create_task(source.cell("SELECT 7"))
        for task in running[:2]:
            task.cancel()
        await asyncio.wait(running[:2])
        await until(lambda: open_connections(source) == 1)
        assert not waiting.done()
        source.driver.limit_connections(2)  # a place for who waits, while the first is still in use
        assert await waiting == 7
        assert not running[2].done()
        running[2].cancel()
        await asyncio.wait(running)
        source.driver.limit_connections(1)
        await until(lambda: open_connections(source) == 1)
        assert await asyncio.gather(*(source.cell(f"SELECT {n}") for n in range(4))) == [0, 1, 2, 3]
        assert open_connections(source) == 1


async def test_a_connection_that_the_server_ended_is_replaced(either: Opener) -> None:
    async with either(pool_size=1) as source:
        whose = "SELECT connection_id()" if source.is_mysql else "SELECT pg_backend_pid()"
        first = await source.cell(whose)
        end = f"KILL {first}" if source.is_mysql else f"SELECT pg_terminate_backend({first})"
        source.server.run(end)
        connection = source.driver._pool._idle[0][0]
        while connection.is_usable:
            await asyncio.sleep(0)
        assert await source.cell(whose) != first
        assert open_connections(source) == 1


async def test_a_connection_that_lay_idle_is_asked_for_a_sign_of_life(
    either: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.sql.drivers.network.pool._TRUSTED_IDLE_S", 0.0)
    async with either(pool_size=1) as source:
        whose = "SELECT connection_id()" if source.is_mysql else "SELECT pg_backend_pid()"
        first = await source.cell(whose)
        assert await source.cell(whose) == first
        connection = source.driver._pool._idle[0][0]
        connection._wire.stream._transport.abort()  # the peer is gone and nobody has told us yet
        assert await source.cell(whose) != first


async def test_idle_connections_are_closed_after_a_while(
    either: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.sql.drivers.network.pool._IDLE_LIMIT_S", 0.05)
    async with either(pool_size=4) as source:
        await asyncio.gather(*(source.cell("SELECT 7") for _ in range(8)))
        while open_connections(source):
            await asyncio.sleep(0.01)
        assert await source.cell("SELECT 7") == 7


async def test_a_session_ended_under_a_statement_is_told_and_the_next_call_works(either: Opener) -> None:
    async with either(pool_size=1) as source:
        task = asyncio.create_task(source.run(f"{source.sleep} /* ended-here */"))
        await source.until_running("ended-here", 1)
        source.server.run(
            "SELECT id INTO @id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%ended%';"
            "KILL @id"
            if source.is_mysql
            else "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%ended-here%'"
            " AND pid <> pg_backend_pid()"
        )
        with pytest.raises(SourceError) as caught:
            await task
        assert caught.value.code.code == "source.unavailable"
        assert await source.cell("SELECT 7") == 7
