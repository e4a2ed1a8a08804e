"""While the journal cannot be written: rows wait, the bound holds, and what had to go is counted."""

from pathlib import Path

import pytest
from recorder.full_disk import files_end_at
from recorder.happenings import NOW_S, a_session, opened, settled

from callgate.model.events import Event
from callgate.recorder.backlog import Backlog
from callgate.recorder.encode_event import EncodedRow, encode_event
from callgate.recorder.journal import JournalWriter, read_frames
from callgate.recorder.redact import Redactor
from callgate.recorder.rows import EventRow, GapRow, Row, SessionRow, moment

BODY = b'{"name":"%b"}' % (b"x" * 3000)


def encoded(event: Event) -> EncodedRow:
    row = encode_event(event, Redactor())
    assert row is not None
    return row


def call(number: int) -> EncodedRow:
    return encoded(settled(a_session(), NOW_S + number, params=BODY, reply=BODY, sql=f"SELECT {number}"))


@pytest.fixture
def journal(tmp_path: Path) -> JournalWriter:
    return JournalWriter(tmp_path)


def fail_to_write(backlog: Backlog, journal: JournalWriter) -> None:
    with files_end_at(journal.path.stat().st_size + 50), pytest.raises(OSError):
        backlog.write_to(journal)


def written(journal: JournalWriter) -> list[Row]:
    journal.close()
    return [row for row, _ in read_frames(journal.path, 0)]


def test_rows_wait_in_their_order_until_they_can_be_written(journal: JournalWriter) -> None:
    backlog = Backlog()
    backlog.add(encoded(opened(a_session())))
    for number in range(3):
        backlog.add(call(number))
        fail_to_write(backlog, journal)
    backlog.write_to(journal)
    session, *calls = written(journal)
    assert isinstance(session, SessionRow)
    assert [row.sql for row in calls if isinstance(row, EventRow)] == [f"SELECT {n}" for n in range(3)]
    assert (len(backlog), backlog.size_bytes, len(calls)) == (0, 0, 3)


def test_the_oldest_bodies_go_first_and_are_counted(journal: JournalWriter) -> None:
    limit = 4 * len(call(0).payload)
    backlog = Backlog(limit)
    backlog.add(call(0))
    fail_to_write(backlog, journal)
    for number in range(1, 6):
        backlog.add(call(number))
        assert backlog.size_bytes <= limit
    backlog.write_to(journal)
    *calls, gap = written(journal)
    have_bodies = [row.request_json is not None for row in calls if isinstance(row, EventRow)]
    assert len(have_bodies) == 6, "no row is missing"
    lost = have_bodies.count(False)
    assert have_bodies == [False] * lost + [True] * (6 - lost)
    assert gap == GapRow(
        moment(NOW_S), moment(NOW_S + lost - 1), lost, "recorded without bodies: File too large"
    )


def test_then_the_oldest_rows_go_and_each_is_counted_once(journal: JournalWriter) -> None:
    backlog = Backlog(len(call(0).payload))
    backlog.add(call(0))
    fail_to_write(backlog, journal)
    for number in range(1, 100):
        backlog.add(call(number))
    backlog.write_to(journal)
    *calls, bodiless, missing = written(journal)
    assert isinstance(bodiless, GapRow)
    assert isinstance(missing, GapRow)
    assert [row.sql for row in calls if isinstance(row, EventRow)] == [
        f"SELECT {n}" for n in range(missing.count, 100)
    ]
    assert bodiless.count == len(calls)
    assert missing == GapRow(
        moment(NOW_S), moment(NOW_S + missing.count - 1), missing.count, "not recorded: File too large"
    )


def test_a_gap_is_written_once(journal: JournalWriter) -> None:
    backlog = Backlog()
    backlog.count_missing(moment(NOW_S), "no row could be made of it")
    fail_to_write(backlog, journal)
    backlog.write_to(journal)
    backlog.write_to(journal)
    assert written(journal) == [
        GapRow(moment(NOW_S), moment(NOW_S), 1, "not recorded: no row could be made of it")
    ]


def test_a_row_larger_than_a_frame_loses_its_bodies_and_hides_nothing(
    journal: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.backlog.MAX_PAYLOAD_BYTES", 5000)
    backlog = Backlog()
    backlog.add(call(0))
    backlog.write_to(journal)
    event, gap = written(journal)
    assert isinstance(event, EventRow)
    assert (event.sql, event.request_json) == ("SELECT 0", None)
    assert isinstance(gap, GapRow)
    assert gap.reason == "recorded without bodies: larger than the journal takes"
