"""The tables: made by one, refused when they are from the future, and dropped a day at a time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
from stores.kinds import PostgresKind
from stores.test_flush import Writer, event

from callgate.model.errors import SetupError
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.retention import Retention
from callgate.recorder.journal.frames import EVENTS
from callgate.recorder.stores.postgres import migrations
from callgate.recorder.stores.postgres.migrations import SCHEMA_VERSION, STEPS
from callgate.recorder.stores.postgres.numbering import NumberedRows
from callgate.recorder.stores.postgres.partitions import partition_name
from callgate.recorder.stores.postgres.reads import PostgresReads
from callgate.recorder.stores.postgres.record_store import PostgresStore
from callgate.recorder.stores.postgres.schema import PARTED
from callgate.recorder.stores.postgres.write_batch import BatchRows, rows_of

ROUNDS, AT_ONCE = 20, 3


def make_tables(kind: PostgresKind, steps: int) -> None:
    """As a Callgate of that version would have left them."""

    async def make() -> None:
        connection = await asyncpg.connect(kind.database.dsn)
        async with connection.transaction():
            for number, (step, min_reader) in enumerate(STEPS[:steps], 1):
                await step(connection)
                await connection.execute(
                    "INSERT INTO callgate_store.schema_versions VALUES ($1, $2, now())", number, min_reader
                )
        await connection.close()

    asyncio.run(make())


@pytest.mark.parametrize("steps", [0, 1])
def test_of_those_that_start_at_once_one_makes_or_changes_the_tables(
    kind: PostgresKind, tmp_path: Path, steps: int
) -> None:
    stores = [kind.store(tmp_path) for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(len(stores)) as pool:
        for _ in range(ROUNDS):
            make_tables(kind, steps)
            list(pool.map(PostgresStore.open, stores))
            list(pool.map(PostgresStore.begin_round, stores))
            versions = "SELECT version FROM callgate_store.schema_versions ORDER BY 1"
            assert kind.database.run(versions).split() == [str(n + 1) for n in range(SCHEMA_VERSION)]
            for store in stores:
                store.close()
                store._partitions_until = None
            kind.database.run("DROP SCHEMA callgate_store, callgate CASCADE")


def test_a_migration_waits_in_short_turns_for_who_reads_the_table(
    kind: PostgresKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "_LOCK_S", 0.1)
    monkeypatch.setattr(migrations, "_PAUSE_S", 0.01)
    make_tables(kind, 1)
    store = kind.store(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        with kind.reading("SELECT count(*) FROM callgate_store.batches"):
            opening = pool.submit(store.open)
            # Others may read and write the table while it waits: it is behind nobody for long.
            for _ in range(5):
                kind.database.run(
                    "INSERT INTO callgate_store.batches VALUES (DEFAULT, gen_random_uuid(), 0, 1, 0, 'w')"
                )
            assert not opening.done()
        opening.result()
    assert kind.database.run("SELECT count(*), count(number) FROM callgate_store.batches") == "5\t0"
    store.close()


def test_a_gateway_of_the_version_before_writes_beside_one_of_this_version(
    kind: PostgresKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the columns that it knows, and no others."""
    store = kind.store(tmp_path)
    store.open()
    store.begin_round()
    known = kind.database.run(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'callgate_store.rpc_events'::regclass"
        " AND attnum > 0 AND attname NOT IN ('place', 'batch', 'stored_on')"
    ).split()

    def rows_of_version_1(batch: Batch) -> BatchRows:
        rows = rows_of(batch)
        names, values = rows.tables["rpc_events"]
        kept = [place for place, name in enumerate(names) if name in known]
        rows.tables["rpc_events"] = (
            [names[place] for place in kept],
            [tuple(row[place] for place in kept) for row in values],
        )
        return rows

    Writer(store, "1-new").write((EVENTS, [event(1), event(2)]))
    monkeypatch.setattr("callgate.recorder.stores.postgres.record_store.rows_of", rows_of_version_1)
    Writer(store, "2-old").write((EVENTS, [event(4, seq=8), event(3, seq=7)]))
    assert kind.ask(store, "SELECT count(*) FROM rpc_events") == [(4,)]

    async def told() -> list[tuple[int, str]]:
        reads = PostgresReads(store.thread, store.address)
        rows = await NumberedRows(reads).all_after(0, 3) + await NumberedRows(reads).all_after(1 << 17, 3)
        await reads.close()
        return [(row["seq"], row["id"][-1]) for row in rows]

    first = 1 << 16
    assert asyncio.run(told()) == [
        (first, "1"), (first + 1, "2"), (2 * first, "3"), (2 * first + 1, "4"),
    ]  # fmt: skip
    store.close()


def test_tables_from_the_future_are_left_alone(kind: PostgresKind, tmp_path: Path) -> None:
    store = kind.store(tmp_path)
    store.open()
    store.close()
    kind.database.run("INSERT INTO callgate_store.schema_versions VALUES (99, 99, now())")
    with pytest.raises(SetupError) as caught:
        store.open()
    assert caught.value.code.code == "setup.store_newer"
    kind.database.run("UPDATE callgate_store.schema_versions SET min_reader = 1")
    store.open()
    store.close()


def test_tables_that_somebody_removed_are_named(kind: PostgresKind, tmp_path: Path) -> None:
    store = kind.store(tmp_path)
    store.open()
    kind.database.run("DROP TABLE callgate_store.batches CASCADE")
    with pytest.raises(store.failures) as caught:
        store.watermarks(["a"])
    assert store.trouble(caught.value).code.code == "setup.store_schema"
    store.close()


TODAY = datetime.now(UTC).date()


def grown(kind: PostgresKind, tmp_path: Path, retention: Retention) -> PostgresStore:
    """A store with a row and its bodies on each of five days."""
    store = PostgresStore(tmp_path, kind.address, retention)
    kind.stores.append(store)
    store.open()
    store.begin_round()
    Writer(store).write((EVENTS, [event(1, request_json=b"{}")]))
    for age in range(1, 5):
        add_day(kind, age)
    return store


def add_day(kind: PostgresKind, age: int) -> None:
    """A call with a body, stored so many days ago."""
    day = TODAY - timedelta(days=age)
    for table in PARTED:
        name = f"callgate_store.{partition_name(table, day)}"
        kind.database.run(
            f"CREATE TABLE {name} (LIKE callgate_store.{table} INCLUDING ALL);"
            f"ALTER TABLE callgate_store.{table} ATTACH PARTITION {name} FOR VALUES IN ('{day}')"
        )
    kind.database.run(
        "INSERT INTO callgate_store.rpc_events (id, ts, method, client, stored_on, batch)"
        f" VALUES (gen_random_uuid(), '{day}', 'tools/call', 'x', '{day}', 1);"
        "INSERT INTO callgate_store.rpc_bodies (id, leg, request_json, stored_on)"
        f" SELECT id, 0, '[]', stored_on FROM callgate_store.rpc_events WHERE stored_on = '{day}'"
    )


def counts(kind: PostgresKind) -> tuple[int, int]:
    """Events, and those that still have their bodies."""
    told = kind.database.run("SELECT count(*), count(request_json) FROM callgate.rpc_events")
    events, bodies = told.split("\t")
    return int(events), int(bodies)


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        (Retention(30 * 86400, 10**12), (5, 5)),
        (Retention(2 * 86400, 10**12), (3, 3)),
        (Retention(30 * 86400, 10**12, keep_bodies_s=86400), (5, 2)),
        (Retention(30 * 86400, 1), (1, 1)),
    ],
)
def test_what_is_too_old_or_too_much_goes_whole(
    kind: PostgresKind, tmp_path: Path, retention: Retention, kept: tuple[int, int]
) -> None:
    store = grown(kind, tmp_path, retention)
    assert counts(kind) == (5, 5)
    store.tend()
    store.tended()
    assert counts(kind) == kept
    store.close()


def test_a_reader_of_a_day_that_goes_keeps_no_flush_waiting(
    kind: PostgresKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.stores.postgres.record_store._TEND_LIMIT_S", 1.0)
    store = grown(kind, tmp_path, Retention(86400, 10**12))
    writer = Writer(store, "2-b")
    with kind.reading("SELECT count(*) FROM callgate_store.rpc_events"):
        store.tend()
        for number in range(2, 5):
            writer.write((EVENTS, [event(number)]))
        store.tended()  # it was put off
        assert counts(kind)[0] >= 4
    store._tended_mono = float("-inf")
    store.tend()
    store.tended()
    assert counts(kind)[0] == 2 + 3
    store.close()
