"""The recorder with a real DuckDB file: nothing settled is missing, nothing is doubled."""

import asyncio
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from recorder.happenings import NOW_S, Open, Record, a_session, day_file, opened, settled
from waiting import until

from callgate.model.errors import CallgateError, SetupError
from callgate.model.events import ExchangeOpened, SessionClosed
from callgate.model.exchange import Outcome
from callgate.ports.record_reader import EventFilter
from callgate.recorder import recorder as recorder_module
from callgate.recorder.journal.frames import CALLS
from callgate.recorder.journal.journal import read_frames, segments


def rows(folder: Path, sql: str) -> list[Any]:
    with duckdb.connect(str(day_file(folder)), read_only=True) as connection:
        return connection.execute(sql).fetchall()


async def test_a_settled_call_is_visible_to_the_next_read(open_recorder: Open) -> None:
    recorder = open_recorder(True)
    session = a_session()
    recorder.emit(opened(session))
    for number in range(3):
        recorder.emit(settled(session, NOW_S + number, sql=f"SELECT {number}"))
        (newest, *_) = await recorder.source_requests(None)
        assert newest.sql == f"SELECT {number}"
        assert (newest.source_id, newest.tool_name, newest.client, newest.ok) == (
            "demo",
            "demo__query",
            "probe/1",
            True,
        )
        assert newest.duration_ms == pytest.approx(4.5)
    await recorder.close()


async def test_requests_are_newest_first_and_at_most_a_hundred_per_source(open_recorder: Open) -> None:
    recorder = open_recorder(True)
    session = a_session()
    for number in range(120):
        for source in ("a", "b"):
            recorder.emit(settled(session, NOW_S + number, source_id=source, sql=f"{number}"))
    everything = await recorder.source_requests(None)
    only_a = await recorder.source_requests("a")
    assert len(everything) == 200
    assert [entry.sql for entry in only_a] == [str(number) for number in range(119, 19, -1)]
    assert await recorder.source_requests("unknown") == []
    await recorder.close()


async def test_closing_writes_everything_and_the_tables_hold_it(open_recorder: Open, tmp_path: Path) -> None:
    recorder = open_recorder(True)
    session = a_session()
    recorder.emit(opened(session))
    recorder.emit(settled(session))
    recorder.emit(settled(session, NOW_S + 5, outcome=Outcome.TOOL_ERROR, error="no such table"))
    session.ended_at = NOW_S + 9
    recorder.emit(SessionClosed(session))
    await recorder.close()
    assert rows(
        tmp_path,
        "SELECT session_id, client_name, era, tool_call_count, error_count, ended_at IS NULL FROM sessions",
    ) == [("s-1", "probe", "modern", 2, 1, False)]
    assert rows(
        tmp_path, "SELECT ok, outcome, error, statement_type, tables, rows FROM rpc_events ORDER BY ts"
    ) == [
        (True, "answered", None, "SELECT", ["t"], 1),
        (False, "tool_error", "no such table", "SELECT", ["t"], 1),
    ]
    assert (
        rows(tmp_path, "SELECT server_name, ok, round(duration_ms) FROM rpc_event_upstreams")
        == [("demo", True, 2.0)] * 2
    )
    assert not list((tmp_path / "journal").iterdir()), "drained segments are gone"


async def test_two_processes_write_and_the_holder_reads_both(open_recorder: Open) -> None:
    holder, guest = open_recorder(True), open_recorder(False)
    await holder.source_requests(None)  # it holds the store from here on
    guest.emit(settled(a_session("guest"), sql="from the guest"))
    await guest.close()
    assert [entry.sql for entry in await holder.source_requests(None)] == ["from the guest"]
    await holder.close()


async def test_who_does_not_hold_the_store_says_where_to_ask(open_recorder: Open) -> None:
    holder, second = open_recorder(True), open_recorder(True)
    await holder.source_requests(None)
    second.emit(settled(a_session(), sql="in the second"))
    with pytest.raises(SetupError) as caught:
        await second.source_requests(None)
    assert caught.value.code.code == "setup.record_elsewhere"
    await holder.close()
    assert [entry.sql for entry in await second.source_requests(None)] == ["in the second"], "it takes over"
    await second.close()


async def test_a_second_start_continues_the_same_record(open_recorder: Open) -> None:
    for expected in (1, 2):
        recorder = open_recorder(True)
        recorder.emit(settled(a_session()))
        assert len(await recorder.source_requests(None)) == expected
        await recorder.close()


async def test_no_listed_secret_reaches_journal_or_store(open_recorder: Open, tmp_path: Path) -> None:
    recorder = open_recorder(True)
    secret = "hunter2-hunter2"
    recorder.emit(
        settled(
            a_session(),
            params=b'{"name":"demo__query","arguments":{"Password":"%b","deep":[{"token":"%b"}]}}'
            % ((secret.encode(),) * 2),
            reply=b'{"content":[{"type":"text","text":"{\\"api_key\\":\\"%b\\"}"}]}' % secret.encode(),
            sql=f"-- mysql://root:{secret}@db/x",
            error=f"cannot reach postgres://me:{secret}@db/x",
        )
    )
    await recorder.source_requests(None)
    on_disk = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"demo__query" in on_disk
    assert secret.encode() not in on_disk
    await recorder.close()


async def test_a_folder_that_cannot_be_written_is_a_setup_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(SetupError) as caught:
        Record(blocked / "record")
    assert caught.value.code.code == "setup.state_folder"


async def test_a_reply_waits_until_its_call_is_in_the_journal(tmp_path: Path) -> None:
    record = Record(tmp_path)
    for number in range(5):
        event = settled(a_session(), NOW_S + number)
        record.emit(event)
        written = record.recorder.written()
        assert written is not None
        await written
        journal = b"".join(path.read_bytes() for path in (tmp_path / "journal").iterdir())
        assert event.exchange.exchange_id.encode() in journal
    await record.close()


def frames_of_calls(folder: Path) -> list[int]:
    """How many calls each of them has."""
    (segment,) = segments(folder / "journal")
    return [frame.count for frame in read_frames(segment, 0) if frame.kind == CALLS]


async def test_calls_of_several_turns_share_a_write_where_several_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_GATHER_S", 3600.0)  # as long as each turn brings more
    record, session = Record(tmp_path), a_session()
    record.emit(settled(session, NOW_S))
    await until(lambda: record.recorder.waiting_bytes == 0)  # the thread writes the session with it
    for _ in range(2):
        record.emit(settled(session, NOW_S))
    await asyncio.sleep(0)
    before = frames_of_calls(tmp_path)
    assert before[-1] == 2, "one turn, one write"
    for _ in range(5):
        record.emit(settled(session, NOW_S))
        await asyncio.sleep(0)
        assert frames_of_calls(tmp_path) == before
    written = record.recorder.written()
    assert written is not None
    await written
    assert frames_of_calls(tmp_path) == [*before, 5]
    assert len(await record.source_requests()) == 8
    await record.close()


async def test_a_call_that_came_alone_does_not_make_the_next_one_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_GATHER_S", 3600.0)
    record, session = Record(tmp_path), a_session()
    record.emit(settled(session, NOW_S))
    await until(lambda: record.recorder.waiting_bytes == 0)
    for _ in range(3):
        record.emit(settled(session, NOW_S))
        await asyncio.sleep(0)
        assert record.recorder.waiting_bytes == 0
    await record.close()


@pytest.mark.parametrize("body_bytes", [10, 20_000])
async def test_calls_without_an_end_do_not_put_off_the_write_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body_bytes: int
) -> None:
    monkeypatch.setattr(recorder_module, "_GATHER_S", 3600.0)
    record, session = Record(tmp_path), a_session()
    told: list[int] = []
    for number in range(600):
        for _ in range(2):
            record.emit(settled(session, NOW_S, reply=b'"%b"' % (b"x" * body_bytes)))
        record.recorder.when_written(told.append, number)
        await asyncio.sleep(0)
        if told:
            break
    assert told
    await record.close()


async def test_with_an_interval_no_reply_waits(tmp_path: Path) -> None:
    record = Record(tmp_path, waits_for_journal=False)
    record.emit(settled(a_session()))
    assert record.recorder.written() is None
    assert len(await record.source_requests()) == 1
    await record.close()


async def test_a_client_that_left_while_it_waited_troubles_nobody(open_recorder: Open) -> None:
    record = open_recorder(True)
    record.emit(settled(a_session()))
    left, stayed = record.recorder.written(), record.recorder.written()
    assert isinstance(left, asyncio.Future)
    assert stayed is not None
    left.cancel()
    await stayed
    assert len(await record.source_requests()) == 1


async def test_a_reply_that_fails_does_not_keep_the_next_one_waiting(open_recorder: Open) -> None:
    record = open_recorder(True)
    told: asyncio.Queue[str] = asyncio.Queue()

    def fail(text: str) -> None:
        raise ValueError(text)

    record.emit(settled(a_session()))
    record.recorder.when_written(fail, "the client's socket is gone")
    record.recorder.when_written(told.put_nowait, "told")
    assert await asyncio.wait_for(told.get(), 30) == "told"


async def test_a_call_that_lasts_is_in_the_record_before_it_ends_and_once_afterwards(
    open_recorder: Open, tmp_path: Path
) -> None:
    record = open_recorder(True)
    event = settled(a_session())
    exchange, settlement = event.exchange, event.exchange.settlement
    assert settlement is not None
    exchange.settlement, exchange.opened_mono = None, time.monotonic() - 1
    record.emit(ExchangeOpened(exchange))
    (found,) = (await record.reader.events(EventFilter(), 10)).rows
    assert (found["outcome"], found["ok"], found["id"]) == (None, None, exchange.exchange_id)
    assert await record.source_requests() == [], "it is not settled"
    exchange.settlement = settlement
    record.emit(event)
    (found,) = (await record.reader.events(EventFilter(), 10)).rows
    assert (found["outcome"], found["id"]) == ("answered", exchange.exchange_id)


@pytest.mark.parametrize("letter", ["x", "漢"])
async def test_bodies_are_cut_at_their_limit_and_say_so(tmp_path: Path, letter: str) -> None:
    record = Record(tmp_path)
    record.emit(settled(a_session(), reply=f'"{letter * 300_000}"'.encode()))
    (listed,) = (await record.reader.events(EventFilter(), 10)).rows
    found = await record.reader.event(listed["id"])
    assert found is not None
    assert found["response_json"] == '"' + letter * 262_143
    assert (found["response_bytes"], found["is_cut"]) == (300_000 * len(letter.encode()) + 2, True)
    await record.close()


@pytest.mark.parametrize(
    "reply", ['"漢字 grüße 🎉"'.encode(), b'"\xff\xc3"', b'"\xed\xa0\x80"', b'"\xc0\xaf"']
)
async def test_a_body_is_kept_as_it_is_but_for_what_is_no_text(tmp_path: Path, reply: bytes) -> None:
    record = Record(tmp_path)
    record.emit(settled(a_session(), reply=reply))
    (listed,) = (await record.reader.events(EventFilter(), 10)).rows
    found = await record.reader.event(listed["id"])
    assert found is not None
    assert found["response_json"] == reply.decode(errors="replace")
    await record.close()


async def test_who_reads_a_record_that_was_closed_is_told_so_and_does_not_wait(open_recorder: Open) -> None:
    record = open_recorder(True)
    record.emit(settled(a_session()))
    await record.close()
    with pytest.raises(SetupError, match="is closed"):
        await record.source_requests()
    assert record.recorder.written() is None


async def test_who_reads_while_the_record_closes_is_answered(open_recorder: Open) -> None:
    record = open_recorder(True)
    closing = asyncio.create_task(record.close())
    reads = [asyncio.create_task(record.source_requests()) for _ in range(3)]
    while not closing.done():
        reads.append(asyncio.create_task(record.source_requests()))
        await asyncio.sleep(0)
    answers = await asyncio.gather(*reads, return_exceptions=True)
    assert all(isinstance(answer, list | CallgateError) for answer in answers), answers


async def test_a_reply_whose_row_the_thread_took_before_it_waited_does_not_wait_for_the_next_call(
    open_recorder: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_IDLE_S", 3600.0)  # nobody else wakes the thread
    recorder = open_recorder(True).recorder
    for _ in range(3):
        recorder.emit(settled(a_session()))
        await until(lambda: recorder.waiting_bytes == 0)
        first, second = recorder.written(), recorder.written()
        assert first is not None
        assert second is not None
        await asyncio.wait_for(asyncio.gather(first, second), 30)
