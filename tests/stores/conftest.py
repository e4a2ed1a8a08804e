"""Every test that takes `kind` runs on each store."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from stores.kinds import ClickhouseKind, DuckdbKind, KeptRecord, PostgresKind, StoreKind

from callgate.ports.record_store import RecordStore
from callgate.recorder.flush.batch import Batch

KINDS = ["duckdb", "postgres", "clickhouse"]
POOLED = "pooled"  # PostgreSQL again, through PgBouncer in transaction mode
OpenRecord = Callable[[bool], KeptRecord]


def kind_of(request: pytest.FixtureRequest) -> StoreKind:
    if request.param == "postgres":
        return PostgresKind(request.getfixturevalue("postgres"))
    if request.param == "clickhouse":
        return ClickhouseKind(request.getfixturevalue("clickhouse"))
    if request.param == POOLED:
        return PostgresKind(request.getfixturevalue("postgres"), request.getfixturevalue("pgbouncer"))
    return DuckdbKind()


@pytest.fixture(params=[*KINDS, POOLED])
def kind(request: pytest.FixtureRequest) -> Iterator[StoreKind]:
    made = kind_of(request)
    yield made
    made.close()


@pytest.fixture(params=KINDS, scope="module")
def kind_of_module(request: pytest.FixtureRequest) -> Iterator[StoreKind]:
    """The same store for all tests of a module, which only read it."""
    made = kind_of(request)
    yield made
    made.close()


@pytest.fixture
def store(kind: StoreKind, tmp_path: Path) -> Iterator[RecordStore[Batch]]:
    """Open, and empty."""
    store = kind.store(tmp_path)
    store.open()
    store.begin_round()
    yield store
    store.close()


@pytest.fixture
async def open_record(kind: StoreKind, tmp_path: Path) -> AsyncIterator[OpenRecord]:
    """Records on one folder; whether it keeps the store. They end with their test, also when it fails."""
    opened: list[KeptRecord] = []

    def open_one(keeps_store: bool) -> KeptRecord:
        opened.append(kind.record(tmp_path, keeps_store))
        return opened[-1]

    yield open_one
    for record in opened:
        await record.close()


@pytest.fixture
async def record(open_record: OpenRecord) -> KeptRecord:
    return open_record(True)
