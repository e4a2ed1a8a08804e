"""One table's description in a schema of 5,000 tables, on MariaDB and PostgreSQL (goal: 100 ms).

    scripts/bench schema [--tables 5000] [--rounds 20]

Starts private servers as the tests do. Making the tables takes half a minute. Each figure is the middle and
the slowest of the rounds. An account that may only read asks too: some of MariaDB's lists are closed to it.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1] / "tests")  # instead of this folder, which has a module sql

from databases.database import Database  # noqa: E402
from databases.mariadb import mariadb_server  # noqa: E402
from databases.postgres import postgres_server  # noqa: E402
from sql.conftest import Asker  # noqa: E402  # pyright: ignore[reportMissingImports] - see above

from callgate.sql.server.open_source import open_source  # noqa: E402
from callgate.sql.settings import ServerAddress, SourceSettings, Tls, TlsMode  # noqa: E402

_READER = {
    "mysql": "CREATE USER reader@'%' IDENTIFIED BY 'reader'; GRANT SELECT ON many.* TO reader@'%';",
    "postgresql": "CREATE ROLE reader LOGIN PASSWORD 'reader'; GRANT USAGE ON SCHEMA many TO reader;"
    " GRANT SELECT ON ALL TABLES IN SCHEMA many TO reader;",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with mariadb_server("--skip-sync-frm") as server:
        _measure("MariaDB", server, options.tables, options.rounds)
    with postgres_server() as server:
        _measure("PostgreSQL", server, options.tables, options.rounds)


def _measure(title: str, server: Database, tables: int, rounds: int) -> None:
    first = "CREATE DATABASE many" if server.scheme == "mysql" else "CREATE SCHEMA many"
    server.run(f"{first}; CREATE TABLE many.parent (id int PRIMARY KEY);")
    for start in range(0, tables, 500):
        server.run(
            "".join(
                f"CREATE TABLE many.t{number} (id int PRIMARY KEY, of int REFERENCES many.parent (id));"
                if number % 100 == 0
                else f"CREATE TABLE many.t{number} (id int PRIMARY KEY, name varchar(20));"
                for number in range(start, min(start + 500, tables))
            )
        )
    server.run(_READER[server.scheme])
    address = ServerAddress(
        server.host, server.port, server.user, server.password, server.database, tls=Tls(TlsMode.OFF)
    )
    print(f"{title}, {tables:,} tables, {rounds} rounds: milliseconds, middle and slowest")
    for account in (address, replace(address, user="reader", password="reader", database="many")):
        # The reader's database is its schema on PostgreSQL.
        database = server.database if server.scheme == "postgresql" else account.database
        asyncio.run(_ask(server.scheme, replace(account, database=database), tables, rounds))


async def _ask(scheme: str, address: ServerAddress, tables: int, rounds: int) -> None:
    engine = "mysql" if scheme == "mysql" else "postgres"
    source = open_source(SourceSettings("it", engine, server=address))
    names = iter(range(tables // 2, tables))

    async def page_of_one_table() -> None:
        await source.schema.table("many", f"t{next(names)}")

    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "one table": lambda: Asker(source).read(f"{engine}://many/t{next(names)}"),
        "one table with the keys that lead to it": page_of_one_table,
        "a page of 2,000 tables": lambda: source.schema.tables("many", 2_000),
    }
    try:
        for what, ask in asked.items():
            await ask()
            took_ms: list[float] = []
            for _ in range(rounds):
                began = time.perf_counter()
                await ask()
                took_ms.append((time.perf_counter() - began) * 1_000)
            print(f"  {address.user:10} {what:42} {statistics.median(took_ms):7.1f} {max(took_ms):7.1f}")
    finally:
        await source.close()


if __name__ == "__main__":
    main()
