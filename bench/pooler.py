"""SQL calls a second on PostgreSQL: through PgBouncer in transaction mode, beside a direct connection.

Both are asked in turns, in one process: what the machine does meanwhile meets both. A call is judged, run and
answered as for a client; HTTP and the record are left out, which would make the difference smaller.
"""

import argparse
import asyncio
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.remove(str(Path(__file__).parent))  # its sql.py would hide the tests' own

from databases.pgbouncer import pooler_of
from databases.postgres import postgres_server
from sql.conftest import Asker
from sql.network.conftest import address_of

from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings

CALLERS = 16


async def calls_per_second(asker: Asker, seconds: float) -> float:
    ends_at, done = time.perf_counter() + seconds, 0

    async def call(number: int) -> None:
        nonlocal done
        while time.perf_counter() < ends_at:
            number += CALLERS
            answer = await asker.query(f"SELECT name FROM shop.goods WHERE id = {number % 1000}")
            assert answer.structured["rows"] == [[f"good {number % 1000}"]]
            done += 1

    began = time.perf_counter()
    await asyncio.gather(*map(call, range(CALLERS)))
    return done / (time.perf_counter() - began)


async def compare(
    direct_port: int, pooled_port: int, server: SourceSettings, rounds: int, seconds: float
) -> None:
    assert server.server is not None
    ways = {
        name: Asker(open_source(replace(server, server=replace(server.server, port=port))))
        for name, port in (("direct", direct_port), ("PgBouncer", pooled_port))
    }
    measured: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, asker in ways.items():
            measured[name].append(await calls_per_second(asker, seconds))
    for asker in ways.values():
        await asker.server.close()
    medians = {name: statistics.median(values) for name, values in measured.items()}
    for name, median in medians.items():
        print(f"{name:10} {median:8,.0f} calls/s")
    print(f"through PgBouncer: {100 * medians['PgBouncer'] / medians['direct']:.0f} % of a direct connection")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench pooler", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    with postgres_server() as direct, pooler_of(direct) as pooled:
        direct.run(
            "CREATE SCHEMA shop; CREATE TABLE shop.goods (id int PRIMARY KEY, name text);"
            "INSERT INTO shop.goods SELECT n, 'good ' || n FROM generate_series(0, 999) n"
        )
        settings = SourceSettings("bench", "postgres", server=address_of(direct), pool_size=4)
        asyncio.run(compare(direct.port, pooled.port, settings, options.rounds, options.seconds))


if __name__ == "__main__":
    main()
