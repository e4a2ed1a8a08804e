"""Draining: what was read is stored once, and nothing unread is thrown away."""

import fcntl
import tempfile
import uuid
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorder.happenings import NOW_S, a_session, journalled, settled
from stores.kinds import StoreKind

from callgate.ports.record_store import RecordStore
from callgate.recorder.build_rows import event_row
from callgate.recorder.flush import batch as batches
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.drain import Drain, RoundCutError
from callgate.recorder.journal.frames import EVENTS, GAPS, frame
from callgate.recorder.journal.journal import JournalWriter, read_frames
from callgate.recorder.read.pages import EPOCH
from callgate.recorder.rows import GapRow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "journal").mkdir()
    return tmp_path / "journal"


def a_segment(folder: Path) -> Path:
    writer = JournalWriter(folder)
    for _ in range(3):
        row = event_row(settled(a_session()).exchange)
        writer.append([journalled(EVENTS, row)])
    writer.close()
    return writer.path


def each_frame_is_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_ENOUGH_BYTES", 1)
    monkeypatch.setattr(batches, "_MAX_BYTES", 1)


def count(kind: StoreKind, store: RecordStore[Batch]) -> int:
    return kind.ask(store, "SELECT count(*) FROM rpc_events")[0][0]


def left_in(folder: Path, store: RecordStore[Batch]) -> list[Path]:
    """What a store that may forget its last commits has no more need of either."""
    drain = Drain(folder, store)
    drain.stored.needs_room = True
    drain.run()
    return list(folder.iterdir())


def test_a_segment_read_to_its_end_is_removed(
    folder: Path, kind: StoreKind, store: RecordStore[Batch]
) -> None:
    a_segment(folder)
    Drain(folder, store).run()
    assert count(kind, store) == 3
    assert bool(list(folder.iterdir())) == bool(store.traits.keeps_segments_s)
    assert left_in(folder, store) == []
    assert count(kind, store) == 3


@pytest.mark.parametrize("damage", ["cut", "flipped", "no magic"])
def test_a_damaged_segment_is_kept_and_told_of_once(
    folder: Path, kind: StoreKind, store: RecordStore[Batch], damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    segment, healthy = a_segment(folder), a_segment(folder)
    data = bytearray(segment.read_bytes())
    if damage == "cut":
        data = data[:-10]
    else:
        data[-10 if damage == "flipped" else 0] ^= 0xFF
    segment.write_bytes(data)
    for _ in range(3):
        Drain(folder, store).run()
    left_in(folder, store)
    readable = 0 if damage == "no magic" else 2
    assert count(kind, store) == readable + 3
    assert [path.name for path in folder.iterdir()] == [segment.with_suffix(".damaged").name]
    assert segment.with_suffix(".damaged").read_bytes() == data
    assert [segment.stem in record.getMessage() for record in caplog.records] == [True]
    assert not healthy.exists()


def test_a_gap_reaches_its_table(folder: Path, kind: StoreKind, store: RecordStore[Batch]) -> None:
    writer = JournalWriter(folder)
    gap = GapRow(1_000_000, 2_000_000, 7, "not recorded: No space left on device")
    writer.append([journalled(GAPS, gap)])
    writer.close()
    Drain(folder, store).run()
    told = kind.ask(store, 'SELECT "from", "to", count, reason FROM gaps')
    first, last = (EPOCH + timedelta(seconds=second) for second in (1, 2))
    assert told == [(first, last, 7, "not recorded: No space left on device")]
    assert left_in(folder, store) == []


def test_a_round_that_is_cut_keeps_what_it_stored_and_the_next_stores_the_rest_once(
    folder: Path, kind: StoreKind, store: RecordStore[Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    each_frame_is_a_batch(monkeypatch)
    segment = a_segment(folder)
    drain = Drain(folder, store)
    for stored in (1, 2, 3):
        with pytest.raises(RoundCutError):
            drain.run(is_cut=lambda: True)
        assert (count(kind, store), drain.rows, segment.exists()) == (stored, stored, True)
    assert left_in(folder, store) == []
    assert count(kind, store) == 3


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
    folder: Path, kind: StoreKind, store: RecordStore[Batch], odd: bytearray
) -> None:
    row = event_row(settled(a_session()).exchange)
    writer = JournalWriter(folder)
    for _ in range(2):
        writer.append([journalled(EVENTS, row), odd])
    writer.close()
    Drain(folder, store).run()
    assert count(kind, store) == 2
    assert kind.ask(store, "SELECT sum(count), min(reason) FROM gaps") == [
        (2, "journalled rows could not be read")
    ]
    assert left_in(folder, store) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(8))
@given(cuts=st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_replay_from_any_cut_stores_every_whole_row_once(
    kind: StoreKind, tmp_path: Path, cuts: list[float]
) -> None:
    """A journal that grows in pieces, read after each of them, by a store that is opened anew each time."""
    with tempfile.TemporaryDirectory(dir=tmp_path) as name:
        folder, (whole, ids) = Path(name) / "journal", a_journal()
        folder.mkdir()
        segment, stored = folder / f"1-{uuid.uuid4().hex[:12]}.000000.journal", []
        with segment.open("wb") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)  # its writer lives
            for cut in (*sorted(cuts), 1.0, 1.0):
                writer.write(whole[writer.tell() : int(len(whole) * cut)])
                writer.flush()
                store = kind.store(Path(name))
                store.open()
                store.begin_round()
                Drain(folder, store).run()
                stored = [row for row in stored_ids(kind, store) if row in ids]
                store.close()
                present = [found for found in read_frames(segment, 0) if found.kind == EVENTS]
                assert stored == [
                    row["id"] for found in present for row in msgspec.json.decode(found.rows_json)
                ]
        assert len(stored) == 20


def stored_ids(kind: StoreKind, store: RecordStore[Batch]) -> list[str]:
    return [str(row[0]) for row in kind.ask(store, "SELECT id FROM rpc_events ORDER BY ts")]


def a_journal() -> tuple[bytes, set[str]]:
    """And the ids of its rows: a store that is shared has those of the examples before."""
    ids: set[str] = set()
    with tempfile.TemporaryDirectory() as name:
        writer = JournalWriter(Path(name))
        for number in range(10):
            rows = [event_row(settled(a_session(), NOW_S + 2 * number + step).exchange) for step in range(2)]
            ids.update(row.id for row in rows)
            writer.append([journalled(EVENTS, *rows)])
        writer.close()
        return writer.path.read_bytes(), ids
