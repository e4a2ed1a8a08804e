"""Sessions of a pooler that other clients leave changed, and what every call of ours must find in them.

`together` is the trial of the tests and of `scripts/chaos pooler`: many callers beside other clients that go
on changing whatever session they get.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from databases.database import Database
from sql.network.conftest import Source

POOL = 4  # sessions that PgBouncer has with the server, and clients that change them
CALLERS = 64
# What other clients leave behind in a session, and PgBouncer does not put back for the next one.
POISON = """
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE;
SET standard_conforming_strings = off; SET backslash_quote = on; SET transform_null_equals = on;
SET statement_timeout = 0; SET lock_timeout = 0; SET default_transaction_read_only = off;
SET DateStyle = 'German'; SET bytea_output = 'escape'; SET extra_float_digits = 0
"""
_PINS = """
SELECT current_setting('standard_conforming_strings'), current_setting('backslash_quote'),
  current_setting('transform_null_equals'), current_setting('default_transaction_read_only'),
  current_setting('transaction_read_only'), current_setting('bytea_output'),
  current_setting('extra_float_digits'), split_part(current_setting('DateStyle'), ',', 1),
  current_setting('client_encoding'), current_setting('statement_timeout') <> '0'
"""
AS_PINNED = ("on", "safe_encoding", "off", "on", "on", "hex", "3", "ISO", "UTF8", True)


@asynccontextmanager
async def other_client(pgbouncer: Database) -> AsyncIterator[asyncpg.Connection]:
    client = await asyncpg.connect(
        host=pgbouncer.host,
        port=pgbouncer.port,
        user=pgbouncer.user,
        password=pgbouncer.password,
        database=pgbouncer.database,
        statement_cache_size=0,
    )
    try:
        yield client
    finally:
        client.terminate()


async def poison(pgbouncer: Database) -> None:
    """Every session that PgBouncer has: all of them are held at the same time."""
    met = asyncio.Barrier(POOL)

    async def one() -> None:
        async with other_client(pgbouncer) as client:
            await client.execute("BEGIN")
            await met.wait()
            await client.execute(f"{POISON}; COMMIT")

    async with asyncio.timeout(30):
        await asyncio.gather(*(one() for _ in range(POOL)))


async def together(source: Source, pgbouncer: Database, calls: int) -> tuple[Counter[object], int]:
    """What the callers found in their sessions and how often; and how many changes others made meanwhile."""
    await poison(pgbouncer)
    found: Counter[object] = Counter()
    left = iter(range(calls))
    changed = 0

    async def caller() -> None:
        for _ in left:
            found[(await source.rows(_PINS))[0]] += 1

    async def other() -> None:
        nonlocal changed
        async with other_client(pgbouncer) as client:
            while True:
                await client.execute(f"BEGIN; {POISON}; COMMIT")
                changed += 1

    others = [asyncio.create_task(other()) for _ in range(POOL)]
    try:
        await asyncio.gather(*(caller() for _ in range(CALLERS)))
    finally:
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    return found, changed
