"""The tables: made by whoever comes first, refused when from the future, dropped a day at a time."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from recorder.happenings import NOW_S, a_session, opened, settled
from recorder.redact.test_secrets import planted
from recorder.secret_samples import found_in
from stores.kinds import ClickhouseKind
from stores.postgres.way import way_to
from stores.test_flush import Writer, event

from callgate.model.errors import SetupError
from callgate.recorder.flush.retention import Retention
from callgate.recorder.journal.frames import EVENTS
from callgate.recorder.rows import HopRow
from callgate.recorder.stores.clickhouse.record_store import ClickhouseStore

TODAY = datetime.now(UTC).date()


def test_of_those_that_come_at_once_all_find_the_tables(kind: ClickhouseKind, tmp_path: Path) -> None:
    stores = [kind.store(tmp_path) for _ in range(8)]
    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(ClickhouseStore.open, stores))
    assert kind.database.run("SELECT count() FROM callgate_versions FINAL") == "1"
    for number, store in enumerate(stores):
        Writer(store, f"{number}-a").write((EVENTS, [event(number)]))
        store.close()
    assert kind.database.run("SELECT count() FROM rpc_events") == "8"


def test_tables_from_the_future_are_left_alone(kind: ClickhouseKind, tmp_path: Path) -> None:
    store = kind.store(tmp_path)
    store.open()
    store.close()
    kind.database.run("INSERT INTO callgate_versions SELECT 99, 99, now()")
    with pytest.raises(SetupError) as caught:
        store.open()
    assert caught.value.code.code == "setup.store_newer"
    with pytest.raises(SetupError):
        store.check()


def test_a_table_that_somebody_removed_is_named(kind: ClickhouseKind, tmp_path: Path) -> None:
    store = kind.store(tmp_path)
    store.open()
    kind.database.run("DROP TABLE callgate_record SYNC")
    with pytest.raises(store.failures) as caught:
        store.watermarks(["a"])
    assert store.trouble(caught.value).code.code == "setup.store_schema"
    store.close()


def grown(kind: ClickhouseKind, tmp_path: Path, retention: Retention) -> ClickhouseStore:
    """A store with a row, its bodies and those of its leg on each of five days."""
    store = ClickhouseStore(tmp_path, kind.address, retention)
    store.open()
    leg = HopRow("demo", True, request_json="[]")
    Writer(store).write((EVENTS, [event(1, request_json=b"{}", hops=[leg])]))
    names = kind.database.run(
        "SELECT arrayStringConcat(groupArray(name), ', ') FROM system.columns"
        " WHERE database = currentDatabase() AND table = 'callgate_record' AND name != 'stored_on'"
    )
    for age in range(1, 5):
        kind.database.run(
            f"INSERT INTO callgate_record ({names}, stored_on) SELECT {names}, today() - {age}"
            f" FROM callgate_record WHERE stored_on = '{TODAY}'"
        )
    return store


def counts(kind: ClickhouseKind) -> tuple[int, int, int]:
    """Events, those that still have their bodies, and legs that have."""
    told = kind.database.run("SELECT count(), count(request_json) FROM rpc_events")
    legs = kind.database.run("SELECT count(request_json) FROM rpc_event_upstreams")
    events, bodies = told.split("\t")
    return int(events), int(bodies), int(legs)


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        (Retention(30 * 86400, 10**12), (5, 5, 5)),
        (Retention(2 * 86400, 10**12), (3, 3, 3)),
        (Retention(30 * 86400, 10**12, keep_bodies_s=86400), (5, 2, 2)),
        (Retention(30 * 86400, 1), (1, 1, 1)),
    ],
)
def test_what_is_too_old_or_too_much_goes_whole(
    kind: ClickhouseKind, tmp_path: Path, retention: Retention, kept: tuple[int, int, int]
) -> None:
    store = grown(kind, tmp_path, retention)
    assert counts(kind) == (5, 5, 5)
    for _ in range(2):
        store._tended_mono = float("-inf")
        store.tend()
        store.tended()
        assert counts(kind) == kept
    store.close()


async def test_no_planted_secret_is_on_the_wire_or_reaches_the_engines_files(
    kind: ClickhouseKind, tmp_path: Path
) -> None:
    calls = planted()
    with way_to(kind.address.port) as way:
        kind.address = replace(kind.address, port=way.port)
        way.heard = bytearray()
        record = kind.record(tmp_path)
        record.emit(opened(a_session()))
        for event_settled, _, _ in calls:
            record.emit(event_settled)
        record.emit(settled(a_session(), NOW_S, params=b'{"note":"a word to be found"}'))
        assert (await record.reader.extent()).events == len(calls) + 1
        await record.close()
    # Files are compressed: what a table holds is looked at as text too.
    held = kind.database.run("SELECT * FROM callgate_record FORMAT JSONEachRow").encode()
    files = b"".join(path.read_bytes() for path in kind.database.socket.rglob("*") if path.is_file())
    assert len(calls) >= 1000
    for where in (bytes(way.heard), held):
        assert b"a word to be found" in where
    assert found_in(bytes(way.heard) + held + files, {secret for _, secret, _ in calls}) == set()


def test_the_oldest_day_is_told(kind: ClickhouseKind, tmp_path: Path) -> None:
    store = grown(kind, tmp_path, Retention())
    told = kind.database.run("SELECT min(partition) FROM system.parts WHERE database = currentDatabase()")
    assert told == str(TODAY - timedelta(days=4))
    store.close()
