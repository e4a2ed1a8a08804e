"""An insert whose answer never came: its rows are there once, whatever became of it."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from databases.clickhouse import clickhouse_server
from examples import examples
from recorder.happenings import read_back
from stores.kinds import ClickhouseKind
from stores.test_flush import event, segment_of

from callgate.ports.record_store import AlreadyStoredError
from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import EVENTS, GAPS, OPENED, SESSIONS
from callgate.recorder.rows import GapRow, SessionRow
from callgate.recorder.stores.clickhouse.connection import StoreUser
from callgate.recorder.stores.clickhouse.insert_rows import INSERT, batch_name, insert_of, rows_of
from callgate.recorder.stores.clickhouse.record_store import ClickhouseStore

SEGMENT = segment_of("1-a")
FAULTS = ("before", "during", "half", "after", "told", "refused")
_COUNTS = "SELECT count(), uniqExact(id) FROM rpc_events"


def batch_at(place: int) -> Batch:
    """Three calls, one of them open before, their session, and a gap."""
    batch, start = Batch(), 100 * place
    first = 10 * place
    settled = [event(first), event(first + 1), event(first + 2 - 10, was_open=True)]
    batch.add(SEGMENT, read_back(EVENTS, *settled[: 3 if place else 2], end=start + 40), start)
    batch.add(SEGMENT, read_back(OPENED, event(first + 2, outcome=None, ok=None), end=start + 60))
    batch.add(SEGMENT, read_back(SESSIONS, SessionRow("s-1", 1, first, writer="1-a"), end=start + 80))
    batch.add(SEGMENT, read_back(GAPS, GapRow(1, 2, 1, "x"), end=start + 100))
    return batch


def bring(store: ClickhouseStore, place: int, attempts: int = 1) -> bool:
    """As the flush does it: whether the batch is stored, as far as is known."""
    for _ in range(attempts + 1):
        try:
            if store.watermarks([SEGMENT]).get(SEGMENT, 0) >= 100 * (place + 1):
                return True
            store.write(batch_at(place))
        except AlreadyStoredError:
            continue
        except store.failures:
            return False
    return False


def opened(kind: ClickhouseKind, folder: Path) -> ClickhouseStore:
    store = kind.store(folder)
    store.open()
    return store


def test_failures_of_every_kind_lose_and_double_nothing(kind: ClickhouseKind, tmp_path: Path) -> None:
    """EXAMPLES_TIMES=4: two hundred of them."""
    chance = random.Random(17)
    store = opened(kind, tmp_path)
    before, place = kind.database.fail_next([]), 0
    faults: list[str] = []
    while kind.database.fail_next(faults) < before + examples(50):
        while not bring(store, place, len(faults)):
            store.close()
            if chance.random() < 0.5:  # the process died, and another comes
                store = kind.store(tmp_path)
            store.open()
        faults = [chance.choice(FAULTS) for _ in range(chance.choice((1, 1, 2, 3)))]
        place += 1
    calls = 3 * place  # the last of them still open
    assert kind.ask(store, _COUNTS) == [(calls, calls)]
    assert kind.ask(store, "SELECT count(), sum(count) FROM gaps") == [(place, place)]
    assert kind.ask(store, "SELECT tool_call_count FROM sessions") == [(calls - 1,)]
    assert kind.ask(store, "SELECT count() FROM rpc_events WHERE outcome IS NULL") == [(1,)]
    store.tend()
    store.tended()
    assert list((tmp_path / "inserts").glob("*.insert")) == []
    store.close()


def forget_tokens(kind: ClickhouseKind) -> None:
    """As hours, or thousands of other inserts, do."""
    for window in (0, 10_000):
        kind.database.run(
            f"ALTER TABLE callgate_record MODIFY SETTING non_replicated_deduplication_window = {window}"
        )


def test_a_second_try_long_after_doubles_nothing(kind: ClickhouseKind, tmp_path: Path) -> None:
    store = opened(kind, tmp_path)
    assert bring(store, 0)
    kind.database.fail_next(["after"])
    assert not bring(store, 1)
    (kept,) = (tmp_path / "inserts").glob("*.insert")
    sent = kept.read_bytes().partition(b"\n")[2]
    forget_tokens(kind)
    later = opened(kind, tmp_path)
    assert bring(later, 1)
    assert kind.ask(later, _COUNTS) == [(6, 6)]
    # What would have happened without a look: the engine takes the same bytes again.
    kind.database.insert(INSERT, sent)
    assert kind.ask(later, _COUNTS) != [(6, 6)]
    later.close()


def test_an_attempt_that_is_still_on_its_way_is_the_same_insert(kind: ClickhouseKind, tmp_path: Path) -> None:
    """The first attempt arrives after the second one: the token says that they are one."""
    store = opened(kind, tmp_path)
    kind.database.fail_next(["before"])
    assert not bring(store, 0)
    (kept,) = (tmp_path / "inserts").glob("*.insert")
    head, _, body = kept.read_bytes().partition(b"\n")
    token = head.decode().partition('"batch":"')[2].partition('"')[0]
    assert bring(store, 0)
    kind.database.insert(INSERT, body, insert_deduplication_token=token, async_insert="0")
    assert kind.ask(store, "SELECT count() FROM callgate_record") == [(body.count(b"\n"),)]
    store.close()


def test_other_rows_under_a_known_token_are_noticed_and_sent(
    kind: ClickhouseKind, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(kind, tmp_path)
    store.begin_round()
    batch = batch_at(0)
    rows = rows_of(batch, "1-a", store._folder_id)
    assert store._today is not None
    made = insert_of(batch_name(batch.reached, batch.began), "1-a", rows, store._today)
    other = b'{"row_kind":"else","stored_on":"%b"}' % str(store._today).encode()
    kind.database.insert(INSERT, other, insert_deduplication_token=made.batch, async_insert="0")
    assert bring(store, 0)
    assert kind.ask(store, _COUNTS) == [(3, 3)]
    assert "dropped them" in caplog.text
    store.close()


def test_a_changed_batch_is_another_insert(kind: ClickhouseKind, tmp_path: Path) -> None:
    store = opened(kind, tmp_path)
    store.begin_round()
    assert store._today is not None
    names = {
        insert_of("1-a@0-100", "1-a", [{"row_kind": "gap", "gap_count": count}], store._today).batch
        for count in (1, 2)
    }
    assert len(names) == 2
    store.close()


def test_a_server_that_dies_with_the_answer_has_the_rows_once(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "record"
    folder.mkdir()
    with clickhouse_server(data) as server:
        kind = ClickhouseKind(server)
        store = opened(kind, folder)
        assert bring(store, 0)
        server.fail_next(["dies"])
        assert not bring(store, 1)
        store.close()
    with clickhouse_server(data) as server:
        kind.address = replace(kind.address, port=server.port, login=StoreUser(server.user, server.password))
        store = opened(kind, folder)
        assert bring(store, 1)
        assert bring(store, 2)
        assert kind.ask(store, _COUNTS) == [(9, 9)]
        store.close()


def test_several_processes_on_one_folder_store_a_batch_once(kind: ClickhouseKind, tmp_path: Path) -> None:
    stores = [opened(kind, tmp_path) for _ in range(4)]
    for place in range(5):
        with ThreadPoolExecutor(len(stores)) as pool:
            assert all(pool.map(lambda store, at=place: bring(store, at, attempts=3), stores))
    assert kind.ask(stores[0], _COUNTS) == [(15, 15)]
    for store in stores:
        store.close()


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_intent_loses_nothing(kind: ClickhouseKind, tmp_path: Path, damage: str) -> None:
    store = opened(kind, tmp_path)
    kind.database.fail_next(["before"])
    assert not bring(store, 0)
    (kept,) = (tmp_path / "inserts").glob("*.insert")
    data = bytearray(kept.read_bytes())
    data[-20] ^= 0x01
    kept.write_bytes({"cut": data[:-30], "flipped": bytes(data), "empty": b""}[damage])
    assert bring(store, 0)
    assert kind.ask(store, _COUNTS) == [(3, 3)]
    assert kept.stat().st_mode & 0o777 == 0o600 if kept.exists() else True
    store.close()
