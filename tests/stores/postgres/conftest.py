"""Tests of what only PostgreSQL has. Each has a database of its own."""

from collections.abc import Iterator

import pytest
from databases.database import Database
from stores.kinds import PostgresKind


@pytest.fixture
def kind(postgres: Database) -> Iterator[PostgresKind]:
    made = PostgresKind(postgres)
    yield made
    made.close()
