"""PgBouncer in transaction mode: the pins of every call hold, and what is stopped is gone from the server.

    scripts/chaos pooler [--calls 10000] [--stops 100]

64 callers beside four other clients, which go on changing whatever session they get. Then statements that are
stopped, half by their time limit and half by their caller: how long the server's list of sessions shows them
after the caller has its answer. Exits with 1 if a pin did not hold, or a statement was there after a second.
"""

import argparse
import asyncio
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import asyncpg
from databases.database import Database
from databases.pgbouncer import pooler_of
from databases.postgres import postgres_server
from sql.network.conftest import address_of, open_driver
from sql.network.postgres.pooled_sessions import AS_PINNED, together
from waiting import until

from callgate.model.errors import SourceError

_GONE_S = 1.0
_AT_ONCE = 4  # PgBouncer has so many sessions
_RUNNING = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%' || $1 || '%'"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--stops", type=int, default=100)
    options = parser.parse_args()
    with postgres_server() as server, pooler_of(server) as pooler:
        sys.exit(asyncio.run(_run(server, pooler, options.calls, options.stops)))


async def _run(server: Database, pooler: Database, calls: int, stops: int) -> int:
    async with open_driver(server, address=address_of(pooler), pool_size=16) as source:
        found, changed = await together(source, pooler, calls)
    held = found[AS_PINNED]
    print(f"pins: {held:,} of {calls:,} calls, while others changed sessions {changed:,} times")
    late_s = await _stopped(server, pooler, stops, timeout_s=2.0)
    left_s = await _stopped(server, pooler, stops, timeout_s=600)
    for how, took_s in (("by their time limit", late_s), ("by their caller", left_s)):
        gone = sum(one <= _GONE_S for one in took_s)
        print(f"stopped {how}: {gone} of {len(took_s)} gone within 1 s, the last after {max(took_s):.2f} s")
    return 0 if held == calls and max(late_s + left_s) <= _GONE_S else 1


async def _stopped(server: Database, pooler: Database, count: int, timeout_s: float) -> list[float]:
    watcher = await asyncpg.connect(
        host=server.host, port=server.port, user=server.user, password=server.password, database="postgres"
    )
    lock = asyncio.Lock()
    took_s: list[float] = []

    async def is_running(mark: str) -> bool:
        async with lock:
            return bool(await watcher.fetchval(f"{_RUNNING} AND pid <> pg_backend_pid()", mark))

    async def is_gone(mark: str) -> bool:
        return not await is_running(mark)

    async with open_driver(server, address=address_of(pooler), timeout_s=timeout_s) as source:
        for first in range(0, count, _AT_ONCE):

            async def one(mark: str) -> None:
                call = asyncio.create_task(source.run(f"SELECT pg_sleep(100) /* {mark} */"))
                await until(lambda: is_running(mark))
                if timeout_s > 2:
                    call.cancel()
                with suppress(SourceError, asyncio.CancelledError):
                    await call
                ended = time.perf_counter()
                await until(lambda: is_gone(mark))
                took_s.append(time.perf_counter() - ended)

            marks = [f"stop-{timeout_s}-{number}-" for number in range(first, min(first + _AT_ONCE, count))]
            await asyncio.gather(*map(one, marks))
    await watcher.close()
    return took_s


if __name__ == "__main__":
    main()
