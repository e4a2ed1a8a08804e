"""How long a flush waits while a day of the record goes. For `bench/replicas.py`."""

import asyncio
import statistics
import threading
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import asyncpg
from _replica_gateways import Figure
from databases.database import Database
from stores.kinds import PostgresKind
from stores.test_flush import Writer, event

from callgate.recorder.flush.retention import Retention
from callgate.recorder.journal.frames import EVENTS
from callgate.recorder.stores.postgres import partitions, upkeep
from callgate.recorder.stores.postgres.schema import PARTED, STORE

GOAL_MS = 50
_OLD_DAYS = 3
_FLUSH_EVENTS = 50
_BATCH_EVENTS = 2_000
_KEEP_S = 7 * 86400.0


def retention(folder: Path, server: Database, events_a_day: int, seconds: float) -> list[Figure]:
    """Small flushes one after the other, without pause; then the same while three old days go."""
    kind = PostgresKind(server)
    store = kind.store(folder)
    store.open()
    store.begin_round()
    writer = Writer(store, "1-flushing")
    for first in range(0, events_a_day, _BATCH_EVENTS):
        rows = [event(number, request_json=b"x" * 300) for number in range(first, first + _BATCH_EVENTS)]
        writer.write((EVENTS, rows))
    asyncio.run(_age(kind))

    def flush() -> None:
        writer.write((EVENTS, [event(number) for number in range(_FLUSH_EVENTS)]))

    without = _flushes(flush, lambda: time.sleep(seconds))
    begun = time.monotonic()
    during = _flushes(flush, lambda: asyncio.run(_drop(kind)))
    took_s = time.monotonic() - begun
    store.close()
    kind.close()
    blocked_ms = max(during) - statistics.median(without)
    told = (
        f"{blocked_ms:.0f} ms (longest of {len(during)} flushes {max(during):.0f} ms while {_OLD_DAYS} days"
        f" of {events_a_day:,} events went in {took_s:.1f} s; without, longest {max(without):.0f} ms, median"
        f" {statistics.median(without):.1f} ms)"
    )
    what = "retention: how long a flush waits at most while days go"
    return [Figure(what, f"≤ {GOAL_MS} ms", told, blocked_ms <= GOAL_MS)]


def _flushes(flush: Callable[[], None], meanwhile: Callable[[], None]) -> list[float]:
    """Milliseconds of each that began meanwhile."""
    took: list[float] = []
    other = threading.Thread(target=meanwhile)
    other.start()
    while other.is_alive() or not took:
        begun = time.monotonic()
        flush()
        took.append((time.monotonic() - begun) * 1000)
    other.join()
    return took


async def _age(kind: PostgresKind) -> None:
    """The rows of today, again under each of the old days."""
    connection = await asyncpg.connect(kind.database.dsn)
    try:
        today = await partitions.today_of(connection)
        for back in range(_OLD_DAYS):
            await _copy(connection, today, today - timedelta(days=30 + back))
    finally:
        await connection.close()


async def _copy(connection: asyncpg.Connection, today: date, day: date) -> None:
    await partitions.make(connection, day)
    for table in PARTED:
        made, old = (f"{STORE}.{partitions.partition_name(table, one)}" for one in (today, day))
        await connection.execute(
            f"CREATE TEMP TABLE aged AS SELECT * FROM {made}; UPDATE aged SET stored_on = '{day}';"
            f"INSERT INTO {old} SELECT * FROM aged; DROP TABLE aged"
        )


async def _drop(kind: PostgresKind) -> None:
    connection = await asyncpg.connect(kind.database.dsn)
    try:
        today = await partitions.today_of(connection)
        dropped = await upkeep.drop_overdue(connection, Retention(_KEEP_S, 10**12), today)
        assert len(dropped) == _OLD_DAYS, dropped
    finally:
        await connection.close()
