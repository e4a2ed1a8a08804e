"""The recorder in trouble: bad events, a full disk, a broken store. It says so once, and goes on."""

import asyncio
import logging
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from recorder.full_disk import files_end_at
from recorder.happenings import NOW_S, Open, Record, a_session, day_file, settled, today_file
from recorder.no_descriptors import no_descriptors

from callgate.model.errors import RefusedError, SetupError

DEADLINE_S = 20.0  # only against a hang


@pytest.fixture
async def recorder(open_recorder: Open) -> Record:
    return open_recorder(True)


async def statements(recorder: Record) -> list[str]:
    return [entry.sql for entry in reversed(await recorder.source_requests(None))]


async def refusal(recorder: Record) -> SetupError:
    with pytest.raises(SetupError) as caught:
        await recorder.source_requests(None)
    return caught.value


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("depth", [600, 5_000])
async def test_deep_nesting_keeps_no_call_out_of_the_record(recorder: Record, depth: int) -> None:
    nested = b'{"token":1,"a":' + b"[" * depth + b"]" * depth + b"}"
    recorder.emit(settled(a_session(), NOW_S, sql="before"))
    recorder.emit(settled(a_session(), NOW_S + 1, sql="nested", params=nested, reply=nested))
    recorder.emit(settled(a_session(), NOW_S + 2, sql="after"))
    assert await statements(recorder) == ["before", "nested", "after"]


async def test_an_event_of_which_no_row_can_be_made_is_a_gap(recorder: Record, tmp_path: Path) -> None:
    bad = settled(a_session())
    bad.exchange.settlement = None
    recorder.emit(bad)
    recorder.emit(settled(a_session(), sql="after"))
    assert await statements(recorder) == ["after"]
    await recorder.close()
    with duckdb.connect(str(day_file(tmp_path)), read_only=True) as connection:
        assert connection.execute("SELECT count, reason FROM gaps").fetchall() == [
            (1, "not recorded: no row could be made of it")
        ]


@pytest.mark.parametrize("store_is_there", [True, False])
async def test_a_full_disk_loses_nothing_and_is_told_of_once(
    recorder: Record, tmp_path: Path, caplog: pytest.LogCaptureFixture, store_is_there: bool
) -> None:
    if store_is_there:
        recorder.emit(settled(a_session(), NOW_S, sql="0"))
        assert await statements(recorder) == ["0"]
    (segment,) = (tmp_path / "journal").glob("*.journal")
    with files_end_at(segment.stat().st_size + 100):
        for number in (1, 2, 3):
            recorder.emit(settled(a_session(), NOW_S + number, sql=str(number)))
            error = await refusal(recorder)
            assert error.code.code == "setup.state_folder"
            assert "cannot be written" in error.message
            assert "File too large" in (recorder.problem() or "")
    assert await statements(recorder) == (["0"] if store_is_there else []) + ["1", "2", "3"]
    assert recorder.problem() is None
    assert len([text for text in complaints(caplog) if "cannot be written" in text]) == 1


async def test_rows_that_never_found_room_are_told_of_at_the_end(
    open_recorder: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = open_recorder(False)
    with files_end_at(100):
        recorder.emit(settled(a_session()))
        await recorder.close()
    assert "1 events could not be recorded before the end" in complaints(caplog)


async def test_a_broken_store_is_named_once_and_journalling_goes_on(
    open_recorder: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = today_file(tmp_path)
    store.write_bytes(b"not a database" * 1000)
    recorder, problem = open_recorder(True), ""
    for number in range(3):
        recorder.emit(settled(a_session(), NOW_S + number, sql=str(number)))
        error = await refusal(recorder)
        assert error.code.code == "setup.state_folder"
        assert f"{store} cannot be opened" in error.message
        assert "move it" in error.hint
        problem = f"{error.message}. {error.hint}"
    assert recorder.problem() == problem
    assert complaints(caplog) == [f"✗ {recorder.problem()}"]
    assert not any(record.exc_info for record in caplog.records), "an operator reads this, not a programmer"
    store.rename(tmp_path / "moved")
    assert await statements(recorder) == ["0", "1", "2"]
    assert recorder.problem() is None
    await recorder.close()


async def test_a_log_left_behind_by_a_store_moved_away_is_no_obstacle(
    open_recorder: Open, tmp_path: Path
) -> None:
    today_file(tmp_path).with_suffix(".duckdb.wal").write_bytes(b"of another file")
    recorder = open_recorder(True)
    assert await statements(recorder) == []
    await recorder.close()
    assert today_file(tmp_path).with_suffix(".duckdb.wal.left").read_bytes() == b"of another file"


async def test_no_stale_rows_after_the_store_could_not_be_brought_up_to_date(
    recorder: Record, tmp_path: Path
) -> None:
    recorder.emit(settled(a_session(), NOW_S, sql="old"))
    assert await statements(recorder) == ["old"]
    assert recorder.store.opened is not None
    recorder.store.opened.cursor().execute(
        f'ALTER TABLE "{day_file(tmp_path).stem}".rpc_event_upstreams DROP COLUMN cached'
    )
    recorder.emit(settled(a_session(), NOW_S + 1, sql="new"))
    for _ in range(2):
        assert re.search("cannot be (brought up to date|opened)", (await refusal(recorder)).message)
    assert recorder.store.opened is None
    with duckdb.connect(str(day_file(tmp_path))) as connection:
        connection.execute("ALTER TABLE rpc_event_upstreams ADD COLUMN cached BOOLEAN")
    assert await statements(recorder) == ["old", "new"], "neither lost nor doubled"


async def test_a_store_that_cannot_be_read_is_no_bug_of_ours(recorder: Record) -> None:
    assert await statements(recorder) == []
    assert recorder.store.opened is not None
    recorder.store.opened.cursor().execute("DROP VIEW rpc_events")
    assert "cannot be read" in (await refusal(recorder)).message


async def test_a_store_that_another_program_has_open_is_not_called_damaged(
    open_recorder: Open, tmp_path: Path
) -> None:
    await open_recorder(True).close()
    script = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(day_file(tmp_path))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        recorder = open_recorder(True)
        error = await refusal(recorder)
        assert "Close the program" in error.hint
        other.communicate()
    assert await statements(recorder) == []
    await recorder.close()


async def test_calls_are_refused_while_they_cannot_be_recorded_if_the_operator_says_so(
    tmp_path: Path,
) -> None:
    strict, lenient = Record(tmp_path / "a", refuses_unrecorded=True), Record(tmp_path / "b")
    for record in (strict, lenient):
        record.recorder.admit()
    with files_end_at(10):
        for record in (strict, lenient):
            record.emit(settled(a_session()))
            await refusal(record)
        with pytest.raises(RefusedError) as caught:
            strict.recorder.admit()
        assert caught.value.code.code == "refused.unrecorded"
        assert str(tmp_path) not in f"{caught.value.message} {caught.value.hint}"
        lenient.recorder.admit()
    for record in (strict, lenient):
        assert len(await record.source_requests()) == 1
        record.recorder.admit()
        await record.close()


async def test_a_reply_does_not_wait_for_a_disk_that_is_full(recorder: Record) -> None:
    with files_end_at(10):
        recorder.emit(settled(a_session()))
        written = recorder.recorder.written()
        assert written is not None
        await written
    assert len(await recorder.source_requests()) == 1


async def test_without_descriptors_the_store_says_so_and_catches_up_afterwards(recorder: Record) -> None:
    recorder.emit(settled(a_session(), NOW_S, sql="before"))
    assert await statements(recorder) == ["before"]
    with no_descriptors():
        recorder.emit(settled(a_session(), NOW_S + 1, sql="during"))
        error = await refusal(recorder)
        assert "Too many open files" in error.message
        assert "Too many open files" in (recorder.problem() or "")
    assert await statements(recorder) == ["before", "during"]
    async with asyncio.timeout(DEADLINE_S):
        while recorder.problem() is not None:  # the journal reaches the disk a moment later
            await asyncio.sleep(0.01)


async def test_a_look_at_the_journals_that_fails_does_not_end_the_store(recorder: Record) -> None:
    """The store's thread looks several times a second by itself, without anybody asking."""
    with no_descriptors():
        async with asyncio.timeout(DEADLINE_S):
            while recorder.problem() is None:
                await asyncio.sleep(0.01)
    recorder.emit(settled(a_session(), NOW_S, sql="after"))
    assert await statements(recorder) == ["after"]
    assert recorder.problem() is None


async def test_who_waits_for_the_store_is_told_though_another_cannot_be(recorder: Record) -> None:
    told: list[bool] = []

    def fail(problem: SetupError | None) -> None:
        raise ValueError("cannot be told")

    recorder.recorder.keeper.flush(fail)
    recorder.recorder.keeper.flush(lambda problem: told.append(problem is None))
    assert await statements(recorder) == []
    async with asyncio.timeout(DEADLINE_S):
        while not told:
            await asyncio.sleep(0.01)
    assert told == [True]
