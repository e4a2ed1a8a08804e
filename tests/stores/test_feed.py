"""The row feed: what is recorded is heard, redacted and in order; who is slow misses, and is told so."""

import asyncio
from contextlib import aclosing

import pytest
from recorder.happenings import NOW_S, a_session, opened, settled
from stores.kinds import KeptRecord

from callgate.model.events import SessionClosed
from callgate.ports.row_feed import FeedRow, Missed


async def hear(record: KeptRecord, count: int, heard: list[FeedRow | Missed], ready: asyncio.Event) -> None:
    await record.source_requests()  # the store is open
    async with aclosing(record.feed.listen()) as feed:
        await record.feed.ready()
        ready.set()
        async for row in feed:
            heard.append(row)
            if len(heard) == count:
                return


async def test_a_call_is_heard_from_its_session_to_its_end(record: KeptRecord) -> None:
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
    begun, settled_at = ["session_created", "exchange_started"], ["exchange_settled", "session_updated"]
    # What a shared store tells is told when it is stored, and the rest at once.
    late, soon = ([*settled_at], ["session_closed"])
    assert [row.happening for row in rows] == begun + (
        soon + late if record.traits.tells_live else late + soon
    )
    by_happening = {row.happening: row.row for row in rows}
    assert by_happening["exchange_settled"]["outcome"] == "answered"
    assert by_happening["exchange_started"]["id"] == by_happening["exchange_settled"]["id"]
    assert "outcome" not in by_happening["exchange_started"]
    assert "hunter2" not in repr(heard)
    assert by_happening["exchange_settled"]["seq"] == max(
        row.seq for row in rows if row.happening != "session_updated"
    )


async def test_of_a_long_body_its_first_characters_are_told(record: KeptRecord) -> None:
    for letter in ("x", "ü", "漢", "🎉"):
        heard, ready = list[FeedRow | Missed](), asyncio.Event()
        listening = asyncio.create_task(hear(record, 3, heard, ready))
        await ready.wait()
        record.emit(settled(a_session(), params=f'"{letter * 5000}"'.encode()))
        await listening
        (last,) = [one for one in heard if isinstance(one, FeedRow) and one.happening == "exchange_settled"]
        assert last.row["request_json"] == '"' + letter * 2047


async def test_a_slow_listener_misses_rows_and_a_quick_one_does_not(
    record: KeptRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.listeners._MAX_WAITING", 10)
    await record.source_requests()
    feed = record.feed
    async with aclosing(feed.listen()) as slow:
        await feed.ready()
        first = asyncio.ensure_future(anext(slow))
        await asyncio.sleep(0)  # it listens
        session = a_session()
        for number in range(30):
            record.emit(settled(session, NOW_S + number))
        await record.source_requests()
        told = [await first]
        while not isinstance(told[-1], Missed):
            told.append(await anext(slow))
    assert len(told) < 60  # thirty calls that began and ended
    assert told[-1].count > 0


async def test_nobody_listens_to_a_feed_that_was_left(record: KeptRecord) -> None:
    async with aclosing(record.feed.listen()) as feed:
        waiting = asyncio.ensure_future(anext(feed))
        await asyncio.sleep(0)
        assert record.feed.has_listeners
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert not record.feed.has_listeners


async def test_nothing_behind_a_gap_is_heard_before_the_gap_is_told(
    record: KeptRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.listeners._MAX_WAITING", 4)
    await record.source_requests()
    feed = record.feed
    session = a_session()
    async with aclosing(feed.listen()) as slow, aclosing(feed.listen()) as other:
        await feed.ready()
        for number in range(10):
            record.emit(settled(session, NOW_S + number))
        while not isinstance(await anext(other), Missed):
            pass  # by then the slow one has missed some too
        told = [await anext(slow)]  # which makes room
        record.emit(settled(session, NOW_S + 20))
        await record.source_requests()
        while not isinstance(told[-1], Missed):
            told.append(await anext(slow))
    assert len(told) == 4 + 1
    assert isinstance(told[-1], Missed)
    assert told[-1].count > 0
