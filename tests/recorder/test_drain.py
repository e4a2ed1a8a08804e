"""Draining: what was read is stored once, and nothing unread is thrown away."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from recorder.happenings import a_session, settled

from callgate.recorder.drain import drain
from callgate.recorder.journal import JournalWriter, encode_row
from callgate.recorder.redact import Redactor
from callgate.recorder.rows import GapRow, event_row, moment
from callgate.recorder.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "record.duckdb")
    yield store
    store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "journal").mkdir()
    return tmp_path / "journal"


def a_segment(folder: Path) -> Path:
    writer = JournalWriter(folder)
    writer.append([encode_row(event_row(settled(a_session()).exchange, Redactor())) for _ in range(3)])
    writer.close()
    return writer.path


def count(store: Store) -> int:
    found = store.cursor().execute("SELECT count(*) FROM rpc_events").fetchone()
    assert found is not None
    return found[0]


def test_a_segment_read_to_its_end_is_removed(folder: Path, store: Store) -> None:
    a_segment(folder)
    assert drain(folder, store) == 3
    assert list(folder.iterdir()) == []
    assert store.watermarks() == {}


@pytest.mark.parametrize("damage", ["cut", "flipped", "no magic"])
def test_a_damaged_segment_is_kept_and_told_of_once(
    folder: Path, store: Store, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    segment, healthy = a_segment(folder), a_segment(folder)
    data = bytearray(segment.read_bytes())
    if damage == "cut":
        data = data[:-10]
    else:
        data[-10 if damage == "flipped" else 0] ^= 0xFF
    segment.write_bytes(data)
    for _ in range(3):
        drain(folder, store)
    readable = 0 if damage == "no magic" else 2
    assert count(store) == readable + 3
    assert [path.name for path in folder.iterdir()] == [segment.with_suffix(".damaged").name]
    assert segment.with_suffix(".damaged").read_bytes() == data
    assert [segment.stem in record.getMessage() for record in caplog.records] == [True]
    assert not healthy.exists()


def test_a_gap_reaches_its_table(folder: Path, store: Store) -> None:
    writer = JournalWriter(folder)
    writer.append([encode_row(GapRow(moment(1.0), moment(2.0), 7, "not recorded: No space left on device"))])
    writer.close()
    drain(folder, store)
    assert store.cursor().execute("SELECT * FROM gaps").fetchall() == [
        (moment(1.0), moment(2.0), 7, "not recorded: No space left on device")
    ]
    assert list(folder.iterdir()) == []
