"""The pool when work cannot be interrupted: workers are given up, and their places are given out again."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from waiting import until

from callgate.sql.drivers.workers.job import Stopped
from callgate.sql.drivers.workers.pool import WorkerPool, WorkersBusy


class DeafConnection:
    """A connection that hears no interrupt, as SQLite does not inside one call of a function."""

    def interrupt(self) -> None:
        pass

    def close(self) -> None:
        pass


class Doors:
    """Work that stands before a door until the test opens it."""

    def __init__(self) -> None:
        self.opened = [threading.Event() for _ in range(4)]

    def stand_before(self, number: int) -> Callable[[DeafConnection, object], int]:
        def work(_connection: DeafConnection, _job: object) -> int:
            self.opened[number].wait()
            return number

        return work

    def open_all(self) -> None:
        for event in self.opened:
            event.set()


@pytest.fixture
def doors() -> Iterator[Doors]:
    doors = Doors()
    yield doors
    doors.open_all()


@pytest.fixture
async def pool(doors: Doors) -> AsyncIterator[WorkerPool[DeafConnection]]:
    # A fifth of a second for each job, and a second of grace before its worker is given up.
    pool: WorkerPool[DeafConnection] = WorkerPool("test", 1, 0.2, lambda held: held or DeafConnection())
    yield pool
    doors.open_all()
    await pool.close()


async def given_up(pool: WorkerPool[DeafConnection], doors: Doors, number: int) -> None:
    with pytest.raises(Stopped):
        await pool.run(doors.stand_before(number))


async def test_a_worker_that_does_not_come_back_is_replaced(
    pool: WorkerPool[DeafConnection], doors: Doors
) -> None:
    await given_up(pool, doors, 0)
    assert len(pool._abandoned) == 1
    assert await pool.run(lambda _connection, _job: "served") == "served"
    doors.opened[0].set()
    await until(lambda: not pool._abandoned)
    assert (pool._opened, len(pool._idle)) == (1, 1)


async def test_a_pool_of_one_goes_on_after_two_that_did_not_come_back(
    pool: WorkerPool[DeafConnection], doors: Doors
) -> None:
    await given_up(pool, doors, 0)
    await given_up(pool, doors, 1)
    assert len(pool._abandoned) == 2
    assert await pool.run(lambda _connection, _job: "served") == "served"


@pytest.fixture
def two_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.sql.drivers.workers.pool.MOST_ABANDONED", 2)


@pytest.mark.usefixtures("two_at_most")
async def test_when_too_many_are_given_up_callers_are_told_that_the_source_is_busy(
    pool: WorkerPool[DeafConnection], doors: Doors
) -> None:
    await given_up(pool, doors, 0)
    await given_up(pool, doors, 1)
    with pytest.raises(WorkersBusy):
        await pool.run(lambda _connection, _job: "served")


@pytest.mark.usefixtures("two_at_most")
async def test_a_waiting_caller_is_served_as_soon_as_a_given_up_worker_comes_back(
    pool: WorkerPool[DeafConnection], doors: Doors
) -> None:
    await given_up(pool, doors, 0)
    await given_up(pool, doors, 1)
    pool._timeout_s = 60.0  # the caller has all the time he needs: only a free place can serve him
    waiting = asyncio.create_task(pool.run(lambda _connection, _job: "served"))
    await until(lambda: len(pool._waiting) == 1)
    doors.opened[0].set()
    assert await asyncio.wait_for(waiting, timeout=20) == "served"
    assert len(pool._abandoned) == 1


async def test_a_given_up_worker_that_comes_back_after_closing_opens_no_other(
    pool: WorkerPool[DeafConnection], doors: Doors
) -> None:
    await given_up(pool, doors, 0)
    await pool.close()
    doors.opened[0].set()
    await until(lambda: not pool._abandoned)
    assert (pool._opened, pool._idle) == (0, [])
