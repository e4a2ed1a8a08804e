"""What waited while the store was away: what is written now comes first, then the oldest."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from recorder.happenings import journalled
from stores.kinds import PostgresKind
from stores.test_flush import event, opened

from callgate.ports.record_store import StoreBusyError
from callgate.recorder.flush.drain import Drain
from callgate.recorder.journal import journal
from callgate.recorder.journal.frames import EVENTS, OPENED
from callgate.recorder.journal.journal import JournalWriter
from callgate.recorder.stores.postgres.record_store import PostgresStore
from callgate.recorder.stores.postgres.schema import BACKLOG_LOCK

STORED = "SELECT right(id::text, 3) FROM callgate_store.rpc_events ORDER BY batch, place"


@pytest.fixture
def store(kind: PostgresKind, tmp_path: Path) -> Iterator[PostgresStore]:
    store = kind.store(tmp_path)
    store.open()
    store.begin_round()
    yield store
    store.close()


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JournalWriter]:
    """Each row begins a segment of its own."""
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    writer = JournalWriter(tmp_path)
    yield writer
    writer.close()


def test_what_is_written_now_is_stored_before_the_backlog_and_that_oldest_first(
    kind: PostgresKind, store: PostgresStore, writer: JournalWriter, tmp_path: Path
) -> None:
    for number in range(1, 5):
        writer.append([journalled(EVENTS, event(number))])
    Drain(tmp_path, store).run()
    assert kind.database.run(STORED).split() == ["004", "001", "002", "003"]


def test_a_call_whose_end_is_stored_before_its_beginning_is_not_open(
    kind: PostgresKind, store: PostgresStore, writer: JournalWriter, tmp_path: Path
) -> None:
    writer.append([journalled(OPENED, opened(1, "1-a"), opened(2, "1-a"))])
    writer.append([journalled(EVENTS, event(1, was_open=True))])
    Drain(tmp_path, store).run()
    seen = "SELECT right(id::text, 1), outcome FROM rpc_events ORDER BY id"
    assert kind.ask(store, seen) == [("1", "answered"), ("2", None)]


def test_a_backlog_waits_for_a_place_and_what_is_written_now_does_not(
    kind: PostgresKind, store: PostgresStore, writer: JournalWriter, tmp_path: Path
) -> None:
    loop = asyncio.new_event_loop()
    others = loop.run_until_complete(asyncpg.connect(kind.database.dsn))
    loop.run_until_complete(others.execute("BEGIN"))
    for place in range(16):
        loop.run_until_complete(others.execute(f"SELECT pg_advisory_xact_lock({BACKLOG_LOCK}, {place})"))
    for number in range(1, 4):
        writer.append([journalled(EVENTS, event(number))])
    drain = Drain(tmp_path, store)
    with pytest.raises(StoreBusyError) as caught:
        drain.run()
    assert "no place is free" in store.trouble(caught.value).message
    assert kind.database.run(STORED).split() == ["003"]
    loop.run_until_complete(others.execute("ROLLBACK; BEGIN; SELECT pg_advisory_xact_lock(1, 1)"))
    drain.run()
    assert kind.database.run(STORED).split() == ["003", "001", "002"]
    loop.run_until_complete(others.close())
    loop.close()
