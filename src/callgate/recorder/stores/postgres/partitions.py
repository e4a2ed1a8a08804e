"""A partition a day of each large table: made ahead, attached without waiting for readers, dropped whole.

Nothing here stops a flush: a partition is made as a table by itself and then attached, and detached
CONCURRENTLY before it is dropped. Both wait for readers, and neither keeps anybody out meanwhile.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

from callgate.postgres_connection import Connection, pg, transaction
from callgate.recorder.stores.postgres.migrations import has_table
from callgate.recorder.stores.postgres.schema import PARTED, PARTITION_LOCK, STORE

_LIMIT_S = 10.0
_FOUND = f"""
SELECT p.relname AS parent, c.relname AS name, i.inhdetachpending AS is_going,
    pg_total_relation_size(c.oid) AS size_bytes
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE n.nspname = '{STORE}' AND c.relkind = 'r' AND p.relkind = 'p'
"""  # noqa: S608
_NAME = re.compile(r"(\w+)_(\d{4})(\d{2})(\d{2})")


@dataclass(frozen=True, slots=True)
class Partition:
    table: str
    day: date
    size_bytes: int
    is_going: bool = False

    @property
    def name(self) -> str:
        return partition_name(self.table, self.day)


@dataclass(frozen=True, slots=True)
class DayOfPartitions:
    day: date
    partitions: tuple[Partition, ...]

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.partitions)


def partition_name(table: str, day: date) -> str:
    return f"{table}_{day:%Y%m%d}"


async def today_of(connection: Connection) -> date:
    """The database's day: what rows are stored under."""
    async with transaction(connection, limit_s=_LIMIT_S, lock_s=_LIMIT_S, read_only=True):
        return await connection.fetchval("SELECT (now() AT TIME ZONE 'UTC')::date")


async def make_ahead(connection: Connection, today: date, until: date | None = None) -> None:
    """Of that day and the next, or of all days until then."""
    last = until or today + timedelta(days=1)
    for age in range((last - today).days + 1):
        await make(connection, today + timedelta(days=age))


async def make(connection: Connection, day: date) -> None:
    """Nothing if they are there."""
    async with transaction(connection, limit_s=_LIMIT_S, lock_s=_LIMIT_S):
        if await is_there(connection, day):
            return
        await connection.execute(f"SELECT pg_advisory_xact_lock({PARTITION_LOCK})")
        if not await is_there(connection, day):
            for table in PARTED:
                await connection.execute(_made(table, day))


async def is_there(connection: Connection, day: date) -> bool:
    return await has_table(connection, partition_name(PARTED[-1], day))


def _made(table: str, day: date) -> str:
    name = f"{STORE}.{partition_name(table, day)}"
    return (
        f"CREATE TABLE {name} (LIKE {STORE}.{table} INCLUDING ALL);"
        f"ALTER TABLE {STORE}.{table} ATTACH PARTITION {name} FOR VALUES IN ('{day.isoformat()}')"
    )


async def found(connection: Connection) -> list[DayOfPartitions]:
    """Newest first. Inside of the caller's transaction."""
    days: dict[date, list[Partition]] = {}
    for row in await connection.fetch(_FOUND):
        if match := _NAME.fullmatch(row["name"]):
            day = date(int(match[2]), int(match[3]), int(match[4]))
            days.setdefault(day, []).append(Partition(row["parent"], day, row["size_bytes"], row["is_going"]))
    return [DayOfPartitions(day, tuple(days[day])) for day in sorted(days, reverse=True)]


async def drop(connection: Connection, partition: Partition) -> None:
    """Outside of a transaction. May wait for those who read it; who gives up has it finished by the next."""
    name, parent = f"{STORE}.{partition.name}", f"{STORE}.{partition.table}"
    way = "FINALIZE" if partition.is_going else "CONCURRENTLY"
    with suppress(pg.UndefinedTableError):  # somebody else was first
        await connection.execute(f"ALTER TABLE {parent} DETACH PARTITION {name} {way}")
    await connection.execute(f"DROP TABLE IF EXISTS {name}")
