"""The row feed: what is recorded is heard, redacted and in order; who is slow misses, and is told so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from recorder.happenings import NOW_S, Record, a_session, opened, settled

from callgate.model.events import SessionClosed
from callgate.ports.row_feed import FeedRow, Missed


@pytest.fixture
async def record(tmp_path: Path) -> AsyncIterator[Record]:
    record = Record(tmp_path)
    yield record
    await record.close()


async def hear(record: Record, count: int, heard: list[FeedRow | Missed], ready: asyncio.Event) -> None:
    async with aclosing(record.recorder.feed.listen()) as feed:
        asyncio.get_running_loop().call_soon(ready.set)  # by then we listen
        async for row in feed:
            heard.append(row)
            if len(heard) == count:
                return


async def test_a_call_is_heard_from_its_session_to_its_end(record: Record) -> None:
    heard, ready = list[FeedRow | Missed](), asyncio.Event()
    listening = asyncio.create_task(hear(record, 5, heard, ready))
    await ready.wait()
    session = a_session()
    record.emit(opened(session))
    record.emit(settled(session, params=b'{"password":"hunter2","name":"demo__query"}'))
    session.ended_at = NOW_S + 1
    record.emit(SessionClosed(session))
    await listening
    rows = [row for row in heard if isinstance(row, FeedRow)]
    assert [row.happening for row in rows] == [
        "session_created",
        "exchange_started",
        "exchange_settled",
        "session_updated",
        "session_closed",
    ]
    assert rows[2].row["outcome"] == "answered"
    assert rows[1].row["id"] == rows[2].row["id"]
    assert "outcome" not in rows[1].row
    assert "hunter2" not in repr(heard)
    assert [row.seq for row in rows] == sorted(row.seq for row in rows)


@pytest.mark.parametrize("letter", ["x", "ü", "漢", "🎉"])
async def test_of_a_long_body_its_first_characters_are_told(record: Record, letter: str) -> None:
    heard, ready = list[FeedRow | Missed](), asyncio.Event()
    listening = asyncio.create_task(hear(record, 2, heard, ready))
    await ready.wait()
    record.emit(settled(a_session(), reply=f'"{letter * 5000}"'.encode()))
    await listening
    last = heard[-1]
    assert isinstance(last, FeedRow)
    assert last.row["response_json"] == '"' + letter * 2047


async def test_a_slow_listener_misses_rows_and_a_quick_one_does_not(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.feed._MAX_WAITING", 10)
    feed = record.recorder.feed
    async with aclosing(feed.listen()) as slow:
        first = asyncio.ensure_future(anext(slow))
        await asyncio.sleep(0)  # it listens
        session = a_session()
        for number in range(30):
            record.emit(settled(session, NOW_S + number))
        await record.source_requests()
        told = [await first, *[await anext(slow) for _ in range(10)]]
    missed = [row for row in told if isinstance(row, Missed)]
    # Thirty calls that began and ended, and their session, which each group updates once.
    assert 60 + 1 <= len(told) - len(missed) + sum(row.count for row in missed) <= 60 + 30


async def test_nobody_listens_to_a_feed_that_was_left(record: Record) -> None:
    async with aclosing(record.recorder.feed.listen()) as feed:
        waiting = asyncio.ensure_future(anext(feed))
        await asyncio.sleep(0)
        assert record.recorder.feed.has_listeners
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert not record.recorder.feed.has_listeners


async def test_nothing_behind_a_gap_is_heard_before_the_gap_is_told(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.feed._MAX_WAITING", 4)
    feed = record.recorder.feed
    session = a_session()
    async with aclosing(feed.listen()) as slow:
        for number in range(10):
            record.emit(settled(session, NOW_S + number))
        await record.source_requests()
        told = [await anext(slow)]  # which makes room
        record.emit(settled(session, NOW_S + 20))
        await record.source_requests()
        while not isinstance(told[-1], Missed):
            told.append(await anext(slow))
    assert len(told) == 4 + 1
    assert isinstance(told[-1], Missed)
    assert told[-1].count > 10
