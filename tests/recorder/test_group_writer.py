"""The loop writes what is short, the thread the rest; nothing is lost or doubled between them."""

import math
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from recorder.full_disk import files_end_at
from recorder.happenings import ROW_REDACTOR, a_session, opened, settled

from callgate.model.events import ExchangeOpened
from callgate.recorder import group_writer
from callgate.recorder.asides import Asides
from callgate.recorder.call_columns import read_event_rows
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Group
from callgate.recorder.group_writer import GroupWriter
from callgate.recorder.intake import Intake
from callgate.recorder.journal.frames import CALLS, EVENTS
from callgate.recorder.journal.journal import JournalWriter, read_frames
from callgate.recorder.rows import EventRow
from callgate.recorder.sequence import Sequence

SECRET = b"hunter2-hunter2"


class Stage:
    """A writer with a real journal, of which one session is known already."""

    def __init__(self, folder: Path) -> None:
        self.intake, self.sequence, self.told = Intake(), Sequence(), list[Group]()
        self.journal = JournalWriter(folder)
        framer = Framer(ROW_REDACTOR)
        self.writer = GroupWriter(
            self.intake, Asides(), self.sequence, framer, self.journal, self.told.append
        )
        self.session = a_session()
        self.intake.put(opened(self.session))
        self.write_all()

    def put(self, sql: str, **changed: Any) -> None:
        self.intake.put(settled(self.session, sql=sql, **changed))

    def write_all(self) -> None:
        self.writer.write_all(tells_counts=False)

    def rows(self) -> list[EventRow]:
        rows: list[EventRow] = []
        for frame in read_frames(self.journal.path, 0):
            if frame.kind == EVENTS:
                rows += msgspec.json.decode(frame.rows_json, type=list[EventRow])
            elif frame.kind == CALLS:
                rows += read_event_rows(frame.rows_json, frame.bodies.requests if frame.bodies else ())
        return rows

    def statements(self) -> list[str | None]:
        rows = self.rows()
        numbers = [row.seq or 0 for row in rows]
        assert numbers == sorted(set(numbers)), "rows are told and stored in the order of their numbers"
        return [row.sql for row in rows]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(group_writer, "_SLOW_S", math.inf)  # the machine may be busy
    return Stage(tmp_path)


def test_small_calls_are_in_the_journal_when_the_loop_has_written(stage: Stage) -> None:
    assert stage.writer.write_short(), "nothing to do"
    for number in range(3):
        stage.put(str(number))
    lasting = settled(stage.session)
    lasting.exchange.settlement, lasting.exchange.opened_mono = None, time.monotonic() - 1
    stage.intake.put(ExchangeOpened(lasting.exchange))
    assert stage.writer.write_short()
    assert stage.statements() == ["0", "1", "2"]
    told = stage.told[-1]
    told.spell_out_calls()
    assert ([row.sql for row in told.events], [row.id for row in told.opened]) == (
        ["0", "1", "2"],
        [lasting.exchange.exchange_id],
    )
    assert stage.writer.missing_events == 0


def test_a_secret_is_left_to_the_thread_and_never_in_the_journal(stage: Stage) -> None:
    stage.put("before")
    stage.put("with", params=b'{"password":"%b"}' % SECRET)
    assert not stage.writer.write_short()
    stage.put("after")
    assert not stage.writer.write_short(), "nothing overtakes what waits"
    assert stage.statements() == []
    assert stage.writer.missing_events == 3
    with stage.sequence.lock:
        stage.sequence.number([row := EventRow("id", 0, None, "ping", "other")])  # of another process
    stage.write_all()
    assert stage.statements() == ["before", "with", "after"]
    assert all((found.seq or 0) > (row.seq or 0) for found in stage.rows()), "that one is told already"
    assert SECRET not in stage.journal.path.read_bytes()
    stage.put("next")
    assert stage.writer.write_short()


@pytest.mark.parametrize(
    "changed", [{"reply": b'"%b"' % (b"x" * 300_000)}, {"server_version": "password=hunter2-hunter2"}]
)
def test_what_takes_long_is_left_to_the_thread(stage: Stage, changed: dict[str, Any]) -> None:
    stage.put("long", **changed)
    assert not stage.writer.write_short()
    assert stage.statements() == []
    stage.write_all()
    assert stage.statements() == ["long"]


def test_a_session_is_left_to_the_thread(stage: Stage) -> None:
    stage.intake.put(settled(a_session("another"), sql="first"))
    assert not stage.writer.write_short()
    stage.write_all()
    assert stage.statements() == ["first"]
    assert [row.session_id for row in stage.told[-1].sessions] == ["another"]


def test_the_loop_does_not_wait_for_the_thread_or_for_who_numbers_rows(stage: Stage) -> None:
    stage.put("0")
    with stage.sequence.lock:
        assert not stage.writer.write_short()
    with stage.writer._lock:
        assert not stage.writer.write_short()
    assert stage.statements() == []
    assert stage.writer.write_short()
    assert stage.statements() == ["0"]


def test_what_the_loop_could_not_write_is_written_once_by_the_thread(stage: Stage) -> None:
    with files_end_at(stage.journal.path.stat().st_size + 100):
        stage.put("0")
        assert not stage.writer.write_short()
        assert not stage.writer.write_short()
        with pytest.raises(OSError, match="File too large"):
            stage.write_all()
    stage.put("1")
    assert not stage.writer.write_short()
    stage.write_all()
    assert stage.statements() == ["0", "1"]
    assert [row.sql for group in stage.told for row in group.calls.event_rows()] == ["0", "1"]


def test_after_a_slow_write_the_thread_writes_for_a_while(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_writer, "_SLOW_S", -1.0)
    stage.put("0")
    assert stage.writer.write_short()
    stage.put("1")
    assert not stage.writer.write_short()
    stage.write_all()
    assert stage.statements() == ["0", "1"]


def test_calls_beyond_a_row_group_are_frames_of_their_own(stage: Stage) -> None:
    for number in range(2100):
        stage.put(str(number))
        if number % 400 == 399:
            assert stage.writer.write_short()
    assert stage.writer.write_short()
    assert stage.statements() == [str(number) for number in range(2100)]
    frames = [frame for frame in read_frames(stage.journal.path, 0) if frame.kind == CALLS]
    assert [frame.wanted_rows for frame in frames] == [1648, 1248, 848, 448, 48, 0, 1996]
