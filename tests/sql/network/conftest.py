"""A driver on a real MariaDB or PostgreSQL, and a witness: the server's own client, which is not ours.

`either` runs a test on both engines; `maria` and `post` on one.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypedDict, Unpack

import pytest
from databases.database import Database
from event_loops import LoopFactories, loop_factories
from waiting import until

from callgate.sql.drivers.driver import Cell, StatementResult
from callgate.sql.drivers.network.driver import NetworkDriver
from callgate.sql.drivers.network.plain_reads import PlainReadDriver
from callgate.sql.engines.engine import find_engine
from callgate.sql.engines.mysql.driver.driver import mysql_driver
from callgate.sql.engines.postgres.driver.driver import postgres_driver
from callgate.sql.guard.judgement import Bound, Statement
from callgate.sql.guard.policy import Limits, Policy
from callgate.sql.settings import Mode, ServerAddress, Tls, TlsMode

# Sockets and TLS are the event loop's work: what touches them is tested under both.
_UNDER_BOTH_LOOPS = ("test_running.py", "test_stopping.py", "test_tls.py")

_SLEEPS = {"mysql": "SELECT SLEEP(100)", "postgresql": "SELECT pg_sleep(100)"}
_RUNNING = {
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%{mark}%'"
    " AND id <> connection_id()",
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%{mark}%' AND state = 'active'"
    " AND pid <> pg_backend_pid()",
}


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> LoopFactories:
    return loop_factories(item, _UNDER_BOTH_LOOPS)


def address_of(database: Database) -> ServerAddress:
    return ServerAddress(
        database.host,
        database.port,
        database.user,
        database.password,
        database.database,
        tls=Tls(TlsMode.PREFER),
        fetches_server_key=database.flavour == "mysql",  # passwords on a line without TLS
    )


@dataclass
class Source:
    """What a test talks to: one driver, asked without any guard."""

    driver: NetworkDriver[Any]
    server: Database
    address: ServerAddress

    @property
    def is_mysql(self) -> bool:
        return self.server.scheme == "mysql"

    @property
    def sleep(self) -> str:
        return _SLEEPS[self.server.scheme]

    async def run(self, sql: str, *values: Bound, is_write: bool = False) -> StatementResult:
        return (await self.run_all(sql, values=values, is_write=is_write))[-1]

    async def run_all(
        self, *texts: str, values: tuple[Bound, ...] = (), is_write: bool = False
    ) -> tuple[StatementResult, ...]:
        return await self.driver.run(
            tuple(
                Statement(text, text.split()[0].upper(), is_write=is_write, parameters=values)
                for text in texts
            )
        )

    async def rows(self, sql: str, *values: Bound) -> list[tuple[Cell, ...]]:
        return list((await self.run(sql, *values)).rows)

    async def cell(self, sql: str, *values: Bound) -> Cell:
        ((cell,),) = await self.rows(sql, *values)
        return cell

    def running(self, mark: str) -> int:
        """How many sessions run a statement with this text, says the server."""
        return int(self.server.run(_RUNNING[self.server.scheme].format(mark=mark)))

    async def until_running(self, mark: str, count: int) -> None:
        async def is_so() -> bool:
            return await asyncio.to_thread(self.running, mark) == count

        await until(is_so)

    def table(self, name: str, columns: str = "id int PRIMARY KEY, name varchar(40)") -> str:
        """A table of the test's own, made anew."""
        self.server.run(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({columns});")
        return name


class LimitOptions(TypedDict, total=False):
    """Fields of `guard.policy.Limits`."""

    timeout_s: float
    max_rows: int
    character_limit: int
    cell_bytes: int


class Options(LimitOptions, total=False):
    pool_size: int
    mode: Mode
    address: ServerAddress | None
    user: tuple[str, str] | None


class Opener(Protocol):
    """The fixtures `either`, `maria` and `post`."""

    def __call__(self, **options: Unpack[Options]) -> AbstractAsyncContextManager[Source]: ...


@asynccontextmanager
async def open_driver(
    server: Database,
    *,
    pool_size: int = 4,
    mode: Mode = Mode.READ_ONLY,
    address: ServerAddress | None = None,
    user: tuple[str, str] | None = None,
    **limits: Unpack[LimitOptions],
) -> AsyncIterator[Source]:
    found = find_engine(server.scheme)
    assert found is not None
    policy = Policy(found.dialect, mode=mode, limits=Limits(**limits))
    where = address or address_of(server)
    if user is not None:
        where = replace(where, user=user[0], password=user[1])
    make = mysql_driver if server.scheme == "mysql" else postgres_driver
    driver = make("test", where, policy, pool_size)
    try:
        yield Source(driver, server, where)
    finally:
        await driver.close()


def _opener(server: Database) -> Opener:
    def opened(**options: Unpack[Options]) -> AbstractAsyncContextManager[Source]:
        return open_driver(server, **options)

    return opened


@pytest.fixture(params=["mariadb", "postgres"])
def either(request: pytest.FixtureRequest) -> Opener:
    return _opener(request.getfixturevalue(request.param))


@pytest.fixture(params=["awaited", "begun"])
def how_reads_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` of a driver that can do without a task for a plain read: with one, or without."""
    if request.param == "begun":
        monkeypatch.setattr(PlainReadDriver, "run", run_begun, raising=False)


async def run_begun(
    driver: PlainReadDriver[Any], statements: Sequence[Statement]
) -> tuple[StatementResult, ...]:
    told: asyncio.Future[StatementResult | None] = asyncio.get_running_loop().create_future()
    read = driver.begin(statements[0], told.set_result) if len(statements) == 1 else None
    if read is None:
        return await NetworkDriver.run(driver, statements)
    try:
        result = await told
    except asyncio.CancelledError:
        read.cancel()
        raise
    results = await read.rest()
    assert result is None or results == (result,)
    return results


@pytest.fixture
def maria(mariadb: Database) -> Opener:
    return _opener(mariadb)


@pytest.fixture
def post(postgres: Database) -> Opener:
    return _opener(postgres)
