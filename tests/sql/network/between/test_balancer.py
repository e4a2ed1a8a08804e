"""Several servers behind one address: each new connection may reach another one (HAProxy in TCP mode)."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest
from databases.balancer import balancer_of
from databases.database import Database
from databases.mariadb import mariadb_server
from databases.postgres import postgres_server
from sql.network.conftest import Source, address_of, open_driver
from waiting import until

from callgate.model.errors import SourceError
from callgate.sql.settings import Mode

_MAKE = {"mariadb": mariadb_server, "postgres": postgres_server}
_ACCOUNT = {
    "mariadb": "ALTER USER callgate@'%' IDENTIFIED BY '{}'",
    "postgres": "ALTER ROLE callgate PASSWORD '{}'",
}


@pytest.fixture(scope="module", params=["mariadb", "postgres"])
def balanced(request: pytest.FixtureRequest) -> Iterator[tuple[Database, tuple[Database, Database]]]:
    """The balancer, and the two servers behind it, which have one account."""
    first: Database = request.getfixturevalue(request.param)
    with _MAKE[request.param]() as second:
        second.run(_ACCOUNT[request.param].format(first.password))
        with balancer_of(first, second) as balancer:
            yield balancer, (first, replace(second, password=first.password))


def through(
    balancer: Database, pool_size: int, mode: Mode = Mode.READ_ONLY, timeout_s: float = 30.0
) -> AbstractAsyncContextManager[Source]:
    """MySQL itself wants the password for an account's first login; this server is ours."""
    address = replace(address_of(balancer), fetches_server_key=True)
    return open_driver(balancer, address=address, pool_size=pool_size, mode=mode, timeout_s=timeout_s)


def running_at(source: Source, servers: tuple[Database, ...], mark: str) -> int:
    return sum(Source(source.driver, server, source.address).running(mark) for server in servers)


async def test_both_servers_are_used(balanced: tuple[Database, tuple[Database, Database]]) -> None:
    balancer, servers = balanced
    ports = "SELECT @@port" if balancer.scheme == "mysql" else "SELECT inet_server_port()"
    async with through(balancer, pool_size=4) as source:
        found = await asyncio.gather(*(source.cell(ports) for _ in range(8)))
        assert {int(str(port)) for port in found} == {server.port for server in servers}


@pytest.mark.parametrize("mode", [Mode.READ_ONLY, Mode.WRITE])
async def test_a_stopped_statement_is_gone_whichever_server_runs_it(
    balanced: tuple[Database, tuple[Database, Database]], mode: Mode
) -> None:
    balancer, servers = balanced
    mark = f"balanced-{mode}"
    # Far: the server's own limit is not what ends it.
    async with through(balancer, pool_size=8, mode=mode, timeout_s=600) as source:
        tasks = [asyncio.create_task(source.run(f"{source.sleep} /* {mark} */")) for _ in range(8)]
        await until(lambda: asyncio.to_thread(_is_count, source, servers, mark, 8))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await until(lambda: asyncio.to_thread(_is_count, source, servers, mark, 0))
        assert await source.cell("SELECT 7") == 7


def _is_count(source: Source, servers: tuple[Database, ...], mark: str, count: int) -> bool:
    return running_at(source, servers, mark) == count


async def test_a_time_out_is_told_as_that(balanced: tuple[Database, tuple[Database, Database]]) -> None:
    balancer, servers = balanced
    async with through(balancer, pool_size=1, timeout_s=0.3) as source:
        with pytest.raises(SourceError) as caught:
            await source.run(f"{source.sleep} /* balanced-late */")
        assert caught.value.code.code == "source.timeout"
        await until(lambda: asyncio.to_thread(_is_count, source, servers, "balanced-late", 0))


@pytest.mark.parametrize("balanced", ["mariadb"], indirect=True)
async def test_to_write_the_server_that_takes_writes_is_used(
    balanced: tuple[Database, tuple[Database, Database]],
) -> None:
    """After a failover the server that is named first may have become the replica."""
    first, second = balanced[1]
    address = replace(address_of(first), others=((second.host, second.port),), fetches_server_key=True)
    first.run("SET GLOBAL read_only = 1")
    try:
        for mode, wanted in ((Mode.WRITE, second), (Mode.READ_ONLY, first)):
            async with open_driver(first, address=address, mode=mode) as source:
                assert await source.cell("SELECT @@port") == wanted.port
        second.run("SET GLOBAL read_only = 1")
        async with open_driver(first, address=address, mode=Mode.WRITE) as source:
            assert await source.cell("SELECT @@port") == first.port  # to read, at least
    finally:
        for server in (first, second):
            server.run("SET GLOBAL read_only = 0")
