"""Frames: what goes in comes out, bodies byte for byte, and the store gets whole row groups."""

import struct
import zlib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorder.happenings import NOW_S, ROW_REDACTOR, a_session, read_back, settled

from callgate.recorder.build_rows import event_row
from callgate.recorder.flush.batch import ROW_GROUP_ROWS, Batch
from callgate.recorder.flush.drain import Drain
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Group
from callgate.recorder.journal.frames import EVENTS, HEAD, OPENED, Bodies, Frame, frame, joined, read_frame
from callgate.recorder.journal.journal import JournalWriter, read_frames, segments
from callgate.recorder.rows import EventRow
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.duckdb.store import Store


def rows(count: int, body: bytes = b'{"a":"x"}') -> list[EventRow]:
    made: list[EventRow] = []
    for number in range(count):
        reply = b'{"n":%d,"b":%b}' % (number, body)
        row = event_row(settled(a_session(), NOW_S + number, reply=reply).exchange)
        made.append(row)
    return made


def laid_out(pairs: list[tuple[bytes, bytes]]) -> list[bytes]:
    return [request for request, _ in pairs] + [response for _, response in pairs]


@given(
    rows_json=st.binary(max_size=20),
    bodies=st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9)), max_size=5),
    wanted=st.integers(0, ROW_GROUP_ROWS - 1),
)
def test_a_frame_comes_back_as_it_was(
    rows_json: bytes, bodies: list[tuple[bytes, bytes]], wanted: int
) -> None:
    made = bytes(frame(EVENTS, rows_json, len(bodies), laid_out(bodies), wanted_rows=wanted))
    found = read_frame(made[HEAD.size :], 7)
    assert (found.rows_json, found.count, found.wanted_rows, found.end) == (rows_json, len(bodies), wanted, 7)
    assert found.bodies is not None
    for place, (request, response) in enumerate(bodies):
        expected = tuple(body.decode(errors="replace") or None for body in (request, response))
        assert found.bodies.texts(place) == expected


@given(st.lists(st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=5)), max_size=4), min_size=1))
def test_bodies_of_several_frames_are_those_of_one(several: list[list[tuple[bytes, bytes]]]) -> None:
    def bodies_of(pairs: list[tuple[bytes, bytes]]) -> Bodies:
        found = read_frame(bytes(frame(EVENTS, b"[]", len(pairs), laid_out(pairs))[HEAD.size :]), 0).bodies
        assert found is not None
        return found

    together = joined([bodies_of(pairs) for pairs in several])
    at_once = bodies_of([pair for pairs in several for pair in pairs])
    assert (together.count, bytes(together.offsets), bytes(together.data)) == (
        at_once.count,
        bytes(at_once.offsets),
        bytes(at_once.data),
    )


@pytest.mark.parametrize("offsets", [(0, 1, 9), (1, 1, 2), (0, 2, 1), (-1, 1, 2), (0, 0, 0)])
def test_bodies_that_do_not_fit_are_not_handed_to_the_store(offsets: tuple[int, ...]) -> None:
    head = struct.pack("<cxHII", EVENTS, 0, 1, 4)
    with pytest.raises(ValueError, match="do not fit"):
        read_frame(head + b"[{}]" + struct.pack("<3i", *offsets) + b"ab", 0)
    with pytest.raises(ValueError, match="do not fit"):
        read_frame(head + b"[{}]", 0)
    with pytest.raises(ValueError, match="head"):
        read_frame(head[:5], 0)


def test_a_frame_of_another_form_ends_its_segment_whatever_its_checksum_says(tmp_path: Path) -> None:
    odd = struct.pack("<cxHII", EVENTS, 0, 1, 4) + b"[{}]"
    writer = JournalWriter(tmp_path)
    writer.append([frame(EVENTS, b"[]", 0), HEAD.pack(len(odd), zlib.crc32(odd)) + odd])
    writer.close()
    assert len(list(read_frames(writer.path, 0))) == 1


def test_rows_keep_their_bodies_for_whoever_is_told_them() -> None:
    (row,) = rows(1)
    body = row.response_json
    Framer(ROW_REDACTOR).frames_of(Group(events=[row]))
    assert body is not None
    assert row.response_json == body


def test_a_writer_says_how_much_a_row_group_still_wants() -> None:
    framer, made = Framer(ROW_REDACTOR), rows(1)
    wanted: list[int] = []
    for count in (2000, 48, 1):
        assert framer.room_rows >= count
        (written,) = framer.frames_of(Group(events=made * count))
        wanted.append(read_frame(bytes(written[HEAD.size :]), 0).wanted_rows)
    assert wanted == [48, 0, ROW_GROUP_ROWS - 1]
    assert framer.room_rows == ROW_GROUP_ROWS - 1


def test_a_batch_ends_with_a_row_group_so_that_the_next_begins_with_one() -> None:
    batch = Batch()
    batch.add("a", _events(2000, 0))
    assert batch.is_complete, "it began in the middle of a row group"
    batch = Batch()
    for wanted in (1048, 48):
        batch.add("a", _events(1000, wanted))
        assert not batch.is_complete
    batch.add("b", _events(48, 0))
    assert not batch.is_complete, "a few small ones make one transaction"
    assert batch.reached == {"a": 5, "b": 5}


def test_large_bodies_do_not_wait_for_a_row_group_that_would_not_fit_in_memory() -> None:
    batch = Batch()
    batch.add("a", _events(100, ROW_GROUP_ROWS - 100, 10 * 1024 * 1024))
    assert batch.is_complete
    batch = Batch()
    batch.add("a", _events(1000, ROW_GROUP_ROWS - 1000, 10 * 1024 * 1024))
    assert not batch.is_complete


def _events(count: int, wanted: int, size: int = 0) -> Frame:
    bodies = [(b"x" * size, b"")] + [(b"", b"")] * (count - 1)
    return read_frame(
        bytes(frame(EVENTS, b"[]", count, laid_out(bodies), wanted_rows=wanted)[HEAD.size :]), 5
    )


def test_every_row_gets_its_own_bodies_over_segments_pieces_and_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.journal.journal.SEGMENT_BYTES", 200_000)
    monkeypatch.setattr("callgate.recorder.stores.duckdb.write_batch._PIECE_BYTES", 50_000)
    (tmp_path / "journal").mkdir()
    writer, framer = JournalWriter(tmp_path / "journal"), Framer(ROW_REDACTOR)
    waiting = rows(2500, b'"%b"' % (b"x" * 200))
    expected = {row.id: (row.request_json, row.response_json) for row in waiting}
    while waiting:
        count = min(130, framer.room_rows)
        writer.append(framer.frames_of(Group(events=waiting[:count])))
        waiting = waiting[count:]
    assert len(segments(tmp_path / "journal")) > 2
    store = DuckdbStore(tmp_path)
    store.open()
    Drain(tmp_path / "journal", store).run()
    assert store.opened is not None
    stored = store.opened.cursor().execute("SELECT id::VARCHAR, request_json, response_json FROM rpc_events")
    found = {row[0]: (row[1].encode(), row[2].encode()) for row in stored.fetchall()}
    assert found == expected
    store.close()


def test_a_row_without_a_body_has_none_in_the_store(tmp_path: Path) -> None:
    (row,) = rows(1)
    row.request_json = None
    opened = EventRow("01890000-0000-7000-8000-000000000001", 1, "s-1", "ping", "probe/1", writer="w")
    store, batch = Store(tmp_path / "days", date(2026, 5, 1)), Batch()
    batch.add("a", read_back(EVENTS, row))
    batch.add("a", read_back(OPENED, opened))
    store.write(batch)
    found = store.cursor().execute("SELECT request_json, response_json FROM rpc_events ORDER BY outcome")
    assert row.response_json is not None
    assert found.fetchall() == [(None, row.response_json.decode()), (None, None)]
    store.close()
