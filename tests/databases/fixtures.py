"""The fixtures `mariadb` and `postgres`: one server each for a test run, started by the first test that asks.

Tests share it, so each creates the databases and users it changes under names of its own.
"""

from collections.abc import Iterator

import pytest

from databases.database import Database
from databases.mariadb import mariadb_server
from databases.postgres import postgres_server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Database]:
    with mariadb_server() as database:
        yield database


@pytest.fixture(scope="session")
def postgres() -> Iterator[Database]:
    with postgres_server() as database:
        yield database
