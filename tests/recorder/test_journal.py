"""The journal: what was written whole is read back, whatever happens to the end of the file."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorder.happenings import a_session, settled

from callgate.recorder.journal import JournalWriter, is_abandoned, read_frames, segments
from callgate.recorder.redact import Redactor
from callgate.recorder.rows import EventRow, event_row


def row(number: int) -> EventRow:
    return event_row(settled(a_session(), sql=f"SELECT {number}").exchange, Redactor())


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    writer = JournalWriter(tmp_path)
    writer.append([row(number) for number in range(5)])
    writer.close()
    return writer.path


def test_rows_come_back_as_they_were_and_from_any_offset(journal: Path) -> None:
    frames = list(read_frames(journal, 0))
    assert [frame.sql for frame, _ in frames if isinstance(frame, EventRow)] == [
        f"SELECT {n}" for n in range(5)
    ]
    _, after_third = frames[2]
    assert len(list(read_frames(journal, after_third))) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(share=st.floats(0, 1))
def test_a_cut_loses_only_the_frames_it_cuts(journal: Path, share: float) -> None:
    whole = journal.read_bytes()
    ends = [end for _, end in read_frames(journal, 0)]
    cut = int(len(whole) * share)
    copy = journal.with_suffix(".cut")
    copy.write_bytes(whole[:cut])
    assert len(list(read_frames(copy, 0))) == sum(end <= cut for end in ends)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_flipped_byte_never_yields_a_wrong_row(journal: Path, share: float) -> None:
    whole = bytearray(journal.read_bytes())
    whole[int(len(whole) * share)] ^= 0xFF
    copy = journal.with_suffix(".flipped")
    copy.write_bytes(whole)
    good = [frame for frame, _ in read_frames(journal, 0)]
    assert [frame for frame, _ in read_frames(copy, 0)] == good[: len(list(read_frames(copy, 0)))]


def test_a_segment_is_abandoned_once_its_writer_is_gone(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    assert not is_abandoned(writer.path)
    writer.close()
    assert is_abandoned(writer.path)


def test_a_full_segment_is_followed_by_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.recorder.journal.SEGMENT_BYTES", 2000)
    writer = JournalWriter(tmp_path)
    for number in range(10):
        writer.append([row(number)])
    writer.close()
    assert len(segments(tmp_path)) > 1
    assert sum(len(list(read_frames(path, 0))) for path in segments(tmp_path)) == 10
