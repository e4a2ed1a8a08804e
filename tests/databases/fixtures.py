"""Fixtures `mariadb`, `postgres`, `pgbouncer`, `clickhouse`: one server each for a test run.

It is started when first asked for. Tests share it, so each creates the databases and users it changes under
names of its own. scripts/test-engines puts other servers, and proxies in front of them, into their places.
"""

from collections.abc import Iterator

import pytest

from databases.clickhouse import ClickhouseDatabase, clickhouse_server, given_server
from databases.database import Database
from databases.mariadb import mariadb_server
from databases.pgbouncer import pooler_of
from databases.postgres import postgres_server
from databases.proxies import in_front_of


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Database]:
    with mariadb_server() as database, in_front_of(database) as seen:
        yield seen


@pytest.fixture(scope="session")
def postgres() -> Iterator[Database]:
    with postgres_server() as database, in_front_of(database) as seen:
        yield seen


@pytest.fixture(scope="session")
def pgbouncer(postgres: Database) -> Iterator[Database]:
    with pooler_of(postgres) as database:
        yield database


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[ClickhouseDatabase]:
    if (given := given_server()) is not None:
        yield given
        return
    with clickhouse_server() as database:
        yield database


@pytest.fixture(scope="session")
def clickhouse_engine() -> Iterator[ClickhouseDatabase]:
    """One that can be told to fail."""
    with clickhouse_server() as database:
        yield database
