"""SQL calls a second on PostgreSQL: through PgBouncer in transaction mode, beside a direct connection.

Both are asked in turns, in one process: what the machine does meanwhile meets both. A call is judged, run and
answered as for a client; HTTP and the record are left out, which would make the difference smaller.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from databases.pgbouncer import pooler_of
from databases.postgres import postgres_server

from callgate.model.envelope import Envelope, Era
from callgate.model.exchange import Hop
from callgate.model.identity import LOCAL
from callgate.model.reply import tell_nobody
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.sql.server.open_source import open_source
from callgate.sql.server.server import SqlServer
from callgate.sql.settings import ServerAddress, SourceSettings, Tls, TlsMode

CALLERS = 16
ENVELOPE = Envelope(Era.LEGACY, "2025-11-25")
CLIENT = Asker(ENVELOPE, Session("bench", LOCAL, "http", ENVELOPE, 0.0, 0.0), b"1")


async def query(server: SqlServer, sql: str) -> list[list[object]]:
    params = {"name": "query", "arguments": {"query": sql}}
    hop = Hop(server.name, "tools/call", json.dumps(params).encode(), started_mono=0.0)
    reply = await server.ask(hop, CLIENT, tell_nobody)
    assert reply.result is not None, reply
    return json.loads(reply.result)["structuredContent"]["rows"]


async def calls_per_second(server: SqlServer, seconds: float) -> float:
    ends_at, done = time.perf_counter() + seconds, 0

    async def call(number: int) -> None:
        nonlocal done
        while time.perf_counter() < ends_at:
            number += CALLERS
            rows = await query(server, f"SELECT name FROM shop.goods WHERE id = {number % 1000}")
            assert rows == [[f"good {number % 1000}"]]
            done += 1

    began = time.perf_counter()
    await asyncio.gather(*map(call, range(CALLERS)))
    return done / (time.perf_counter() - began)


async def compare(
    direct_port: int, pooled_port: int, server: SourceSettings, rounds: int, seconds: float
) -> None:
    assert server.server is not None
    ways = {
        name: open_source(replace(server, server=replace(server.server, port=port)))
        for name, port in (("direct", direct_port), ("PgBouncer", pooled_port))
    }
    measured: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            measured[name].append(await calls_per_second(way, seconds))
    for way in ways.values():
        await way.close()
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
        where = (direct.host, direct.port, direct.user, direct.password, direct.database)
        address = ServerAddress(*where, tls=Tls(TlsMode.OFF))
        settings = SourceSettings("bench", "postgres", server=address, pool_size=4)
        asyncio.run(compare(direct.port, pooled.port, settings, options.rounds, options.seconds))


if __name__ == "__main__":
    main()
