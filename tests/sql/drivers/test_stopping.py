"""Time-out, cancellation, many callers and closing: the worker is free again, and nothing is left behind."""

import asyncio
import threading

import pytest
from sql.conftest import Asker, OpenShop
from waiting import until

from callgate.sql.drivers.workers.pool import WorkerPool
from callgate.sql.engines.sqlite.driver.connection import FileConnection
from callgate.sql.engines.sqlite.driver.driver import SqliteDriver
from callgate.sql.settings import Mode

RUNAWAY = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
# 2,048 calls in a row, twenty seconds' worth, where SQLite looks at no flag: an alias is copied, not shared.
DOUBLINGS = ", ".join(f"c{n} AS (SELECT v+v+v+v+v+v+v+v AS v FROM c{n - 1})" for n in range(1, 4))
CALLS_IN_A_ROW = f"""
WITH b AS (SELECT replace(hex(zeroblob(10000)), '00', 'aaaaaa') AS x, {{needle}} AS y LIMIT 1),
c0 AS (SELECT {{call}} AS v FROM b), {DOUBLINGS} SELECT v+v+v+v FROM c3"""


def pool_of(source: Asker) -> WorkerPool[FileConnection]:
    driver = source.server._driver
    assert isinstance(driver, SqliteDriver)
    return driver._calls._pool


def is_running(source: Asker) -> bool:
    return any(worker._current is not None for worker in pool_of(source)._busy)


async def test_a_runaway_query_is_stopped_and_its_worker_is_free_again(opened: OpenShop) -> None:
    async with opened(pool_size=1, timeout_s=0.2) as source:
        answer = await source.query(RUNAWAY)
        assert answer.code == "source.timeout"
        assert "Query execution timeout exceeded (200 ms)" in answer.text
        assert "LIMIT" in answer.text
        after = await source.query("SELECT count(*) FROM orders")
        assert after.structured["rows"] == [[1450]]
        assert pool_of(source)._opened == 1
        assert not pool_of(source)._abandoned


async def test_a_cancelled_query_is_stopped_and_its_worker_is_free_again(opened: OpenShop) -> None:
    async with opened(pool_size=1) as source:
        task = asyncio.create_task(source.query(RUNAWAY))
        await until(lambda: is_running(source))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        after = await source.query("SELECT count(*) FROM orders")
        assert after.structured["rows"] == [[1450]]


async def test_a_query_cancelled_in_any_moment_leaves_the_pool_usable(opened: OpenShop) -> None:
    async with opened(pool_size=2) as source:
        await source.query("SELECT 1")
        for turns in range(40):
            task = asyncio.create_task(source.query(RUNAWAY))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        answers = await asyncio.gather(*(source.query("SELECT 1") for _ in range(8)))
        assert all(answer.structured["rows"] == [[1]] for answer in answers)


async def test_a_late_cancellation_does_not_hit_the_next_caller(opened: OpenShop) -> None:
    async with opened(pool_size=1) as source:
        for _ in range(50):
            first = asyncio.create_task(source.query("SELECT count(*) FROM order_items"))
            second = asyncio.create_task(
                source.query("SELECT count(*) FROM orders o, customers c WHERE c.id < 20")
            )
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            first.cancel()
            assert not (await second).is_error
            with pytest.raises(asyncio.CancelledError):
                await first


@pytest.mark.parametrize(
    ("call", "needle"),
    [
        ("x LIKE y", "'%' || printf('%.*c', 450, 'a') || 'b'"),
        ("x GLOB y", "'*' || printf('%.*c', 450, 'a') || 'b'"),
        ("length(replace(x, y, ''))", "replace(hex(zeroblob(10000)), '00', 'aaa') || 'b'"),
        ("length(trim(x, '" + "b" * 180 + "a'))", "1"),
    ],
)
async def test_calls_in_a_row_that_look_at_no_interrupt_are_stopped_all_the_same(
    opened: OpenShop, call: str, needle: str
) -> None:
    async with opened(pool_size=1, timeout_s=0.2) as source:
        answer = await source.query(CALLS_IN_A_ROW.format(call=call, needle=needle))
        assert answer.code == "source.timeout"
        assert not pool_of(source)._abandoned
        after = await source.query("SELECT count(*), replace('abc', 'b', 'x') LIKE '%x%' FROM orders")
        assert after.structured["rows"] == [[1450, 1]]
        assert pool_of(source)._opened == 1


async def test_a_transaction_that_is_stopped_is_rolled_back(opened: OpenShop) -> None:
    async with opened(pool_size=1, timeout_s=0.2, mode=Mode.WRITE) as source:
        answer = await source.query(f"BEGIN; DELETE FROM order_items; {RUNAWAY}; COMMIT")
        assert answer.code == "source.timeout"
        left = await source.query("SELECT count(*) FROM order_items")
        assert left.structured["rows"] == [[3097]]


async def test_waiting_for_a_worker_has_its_limit_too(opened: OpenShop) -> None:
    async with opened(pool_size=1, timeout_s=0.2) as source:
        tasks = [asyncio.create_task(source.query(RUNAWAY)) for _ in range(3)]
        answers = await asyncio.gather(*tasks)
        assert {answer.code for answer in answers} == {"source.timeout"}
        assert not (await source.query("SELECT 1")).is_error


async def test_sixty_four_callers_on_four_connections_all_get_their_own_answer(opened: OpenShop) -> None:
    async with opened(pool_size=4) as source:
        answers = await asyncio.gather(
            *(source.query(f"SELECT {n} AS n, count(*) FROM order_totals") for n in range(64))
        )
        assert [answer.structured["rows"][0] for answer in answers] == [[n, 1450] for n in range(64)]
        assert pool_of(source)._opened == 4
        assert len(pool_of(source)._idle) == 4


async def test_one_caller_after_the_other_needs_one_connection(opened: OpenShop) -> None:
    async with opened(pool_size=4) as source:
        for n in range(20):
            assert (await source.query(f"SELECT {n}")).structured["rows"] == [[n]]
        assert pool_of(source)._opened == 1


async def test_closing_leaves_no_thread(opened: OpenShop) -> None:
    before = set(threading.enumerate())
    async with opened(pool_size=4) as source:
        await asyncio.gather(*(source.query(f"SELECT {n}") for n in range(16)))
        assert set(threading.enumerate()) - before
    assert set(threading.enumerate()) == before


async def test_closing_stops_what_runs_and_what_waits(opened: OpenShop) -> None:
    before = set(threading.enumerate())
    async with opened(pool_size=1) as source:
        running = asyncio.create_task(source.query(RUNAWAY))
        await until(lambda: is_running(source))
        waiting = asyncio.create_task(source.query("SELECT 1"))
        await until(lambda: len(pool_of(source)._waiting) == 1)
    assert {(await running).code, (await waiting).code} == {"source.unavailable"}
    assert set(threading.enumerate()) == before


async def test_closing_an_unused_source_is_fine(opened: OpenShop) -> None:
    async with opened():
        pass
