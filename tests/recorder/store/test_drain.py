"""Draining: what was read is stored once, and nothing unread is thrown away."""

import fcntl
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import msgspec
import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorder.happenings import NOW_S, REDACTOR, a_session, journalled, settled

from callgate.recorder.build_rows import event_row
from callgate.recorder.journal.frames import EVENTS, GAPS, frame
from callgate.recorder.journal.journal import JournalWriter, read_frames
from callgate.recorder.rows import GapRow
from callgate.recorder.store.drain import drain
from callgate.recorder.store.store import Store
from callgate.recorder.store.tokens import TokenCounter


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "days", date(2026, 5, 1))
    yield store
    store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "journal").mkdir()
    return tmp_path / "journal"


def a_segment(folder: Path) -> Path:
    writer = JournalWriter(folder)
    for _ in range(3):
        row = event_row(settled(a_session()).exchange, REDACTOR, 1000)
        writer.append([journalled(EVENTS, row)])
    writer.close()
    return writer.path


def count(store: Store) -> int:
    found = store.cursor().execute("SELECT count(*) FROM rpc_events").fetchone()
    assert found is not None
    return found[0]


def test_a_segment_read_to_its_end_is_removed(folder: Path, store: Store) -> None:
    a_segment(folder)
    drain(folder, store, TokenCounter())
    assert count(store) == 3
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
        drain(folder, store, TokenCounter())
    readable = 0 if damage == "no magic" else 2
    assert count(store) == readable + 3
    assert [path.name for path in folder.iterdir()] == [segment.with_suffix(".damaged").name]
    assert segment.with_suffix(".damaged").read_bytes() == data
    assert [segment.stem in record.getMessage() for record in caplog.records] == [True]
    assert not healthy.exists()


def test_a_gap_reaches_its_table(folder: Path, store: Store) -> None:
    writer = JournalWriter(folder)
    gap = GapRow(1_000_000, 2_000_000, 7, "not recorded: No space left on device")
    writer.append([journalled(GAPS, gap)])
    writer.close()
    drain(folder, store, TokenCounter())
    told = store.cursor().execute('SELECT epoch("from"), epoch("to"), count, reason FROM gaps')
    assert told.fetchall() == [(1.0, 2.0, 7, "not recorded: No space left on device")]
    assert list(folder.iterdir()) == []


NO_BODIES = [b"", b""]


@pytest.mark.parametrize(
    "odd",
    [
        frame(b"?", b"[]", 0),
        frame(EVENTS, b"[{", 1, NO_BODIES),
        frame(EVENTS, b"\xff\xfe", 1, NO_BODIES),
        frame(EVENTS, b'[{"id":"01890000-0000-7000-8000-000000000001"}]', 2, NO_BODIES * 2),
    ],
)
def test_a_frame_of_another_version_counts_as_a_gap_and_hides_nothing(
    folder: Path, store: Store, odd: bytearray
) -> None:
    row = event_row(settled(a_session()).exchange, REDACTOR, 1000)
    writer = JournalWriter(folder)
    for _ in range(2):
        writer.append([journalled(EVENTS, row), odd])
    writer.close()
    drain(folder, store, TokenCounter())
    assert count(store) == 2
    assert store.cursor().execute("SELECT sum(count), any_value(reason) FROM gaps").fetchall() == [
        (2, "journalled rows could not be read")
    ]
    assert list(folder.iterdir()) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(8))
@given(cuts=st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_replay_from_any_cut_stores_every_whole_row_once(tmp_path: Path, cuts: list[float]) -> None:
    """A journal that grows in pieces, read after each of them, by a store that is opened anew each time."""
    with tempfile.TemporaryDirectory(dir=tmp_path) as name:
        folder, whole = Path(name) / "journal", a_journal()
        folder.mkdir()
        segment, stored = folder / "1-a.000000.journal", []
        with segment.open("wb") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)  # its writer lives
            for cut in (*sorted(cuts), 1.0, 1.0):
                writer.write(whole[writer.tell() : int(len(whole) * cut)])
                writer.flush()
                store = Store(Path(name) / "days", date(2026, 5, 1))
                drain(folder, store, TokenCounter())
                stored = store.cursor().execute("SELECT id::VARCHAR FROM rpc_events ORDER BY ts").fetchall()
                store.close()
                present = [found for found in read_frames(segment, 0) if found.kind == EVENTS]
                assert [row[0] for row in stored] == [
                    row["id"] for found in present for row in msgspec.json.decode(found.rows_json)
                ]
        assert len(stored) == 20


def a_journal() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        writer = JournalWriter(Path(name))
        for number in range(10):
            rows = [
                event_row(settled(a_session(), NOW_S + 2 * number + step).exchange, REDACTOR, 1000)
                for step in range(2)
            ]
            writer.append([journalled(EVENTS, *rows)])
        writer.close()
        return writer.path.read_bytes()
