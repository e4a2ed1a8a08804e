"""Tests of what only ClickHouse has. Each has a database of its own, at an engine that fails when told to."""

from collections.abc import Iterator

import pytest
from databases.clickhouse import ClickhouseDatabase
from stores.kinds import ClickhouseKind


@pytest.fixture
def kind(clickhouse_engine: ClickhouseDatabase) -> Iterator[ClickhouseKind]:
    clickhouse_engine.fail_next([])
    made = ClickhouseKind(clickhouse_engine)
    yield made
    made.close()
