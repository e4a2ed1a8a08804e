"""Rows of other processes on the same folder are told live too, and numbered so that nobody skips one."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from recorder.happenings import NOW_S, a_session, opened, settled
from stores.conftest import OpenRecord
from stores.kinds import KeptRecord

from callgate.ports.row_feed import FeedRow, Missed
from callgate.recorder.feed import Feed
from callgate.recorder.flush.foreign_rows import ForeignGroup
from callgate.recorder.group_rows import Group
from callgate.recorder.rows import EventRow

PATIENCE_S = 120.0  # only against a hang


async def hear(record: KeptRecord, settled_rows: int, is_listening: asyncio.Event) -> list[FeedRow]:
    """Until so many calls were told as settled."""
    heard: list[FeedRow] = []
    async with asyncio.timeout(PATIENCE_S), aclosing(record.feed.listen()) as feed:
        await record.feed.ready()
        is_listening.set()
        async for row in feed:
            assert isinstance(row, FeedRow), row
            heard.append(row)
            if sum(one.happening == "exchange_settled" for one in heard) == settled_rows:
                break
    return heard


async def test_what_another_process_recorded_is_told_by_who_keeps_the_store(open_record: OpenRecord) -> None:
    keeper, other = open_record(True), open_record(False)
    await keeper.source_requests()  # it holds the store now
    is_listening = asyncio.Event()
    hearing = asyncio.create_task(hear(keeper, 2, is_listening))
    await is_listening.wait()
    other.emit(opened(a_session("theirs")))
    other.emit(settled(a_session("theirs"), params=b'{"arguments":{"password":"hunter2"}}'))
    other.emit(settled(a_session("theirs"), NOW_S + 1, sql="two"))
    heard = await hearing
    # A shared store tells of other processes' calls when they are settled.
    second = "exchange_settled" if keeper.traits.tells_live else "exchange_started"
    assert [(one.happening, one.row["session_id"]) for one in heard[:2]] == [
        ("session_created", "theirs"),
        (second, "theirs"),
    ]
    told = [one.row for one in heard if one.happening == "exchange_settled"]
    assert [row["sql"] for row in told] == ["SELECT 1", "two"]
    assert "hunter2" not in repr(heard)


async def test_numbers_increase_as_rows_are_told_and_the_record_has_the_same(
    open_record: OpenRecord, tmp_path: Path
) -> None:
    keeper, other = open_record(True), open_record(False)
    await keeper.source_requests()
    calls = 300
    is_listening = asyncio.Event()
    hearing = asyncio.create_task(hear(keeper, 2 * calls, is_listening))
    await is_listening.wait()
    for number in range(calls):
        for record, name in ((keeper, "ours"), (other, "theirs")):
            record.emit(settled(a_session(name), NOW_S + number))
        if number % 20 == 0:
            await keeper.source_requests()  # drains both: now theirs come first, now ours
    await keeper.source_requests()
    told = [one for one in await hearing if one.happening == "exchange_settled"]
    seqs = [one.row["seq"] for one in told]
    assert seqs == sorted(set(seqs))
    stored = await keeper.reader.events_after(0, 10_000)
    assert [(row["seq"], row["id"]) for row in stored] == [(one.row["seq"], one.row["id"]) for one in told]
    assert {one.row["session_id"] for one in told} == {"ours", "theirs"}


def numbered(*seqs: int) -> list[EventRow]:
    return [EventRow(f"e-{seq}", seq, "s-1", "tools/call", "probe", seq=seq, was_open=True) for seq in seqs]


def group(*seqs: int) -> Group:
    return Group(events=numbered(*seqs))


async def told_by(feed: Feed, count: int) -> list[int | str]:
    heard: list[int | str] = []
    async with asyncio.timeout(PATIENCE_S), aclosing(feed.listen()) as rows:
        async for row in rows:
            if isinstance(row, Missed):
                heard.append(f"missed {row.count}")
            elif row.happening == "exchange_settled":
                heard.append(row.seq)
            if len(heard) == count:
                break
    return heard


async def test_our_own_rows_wait_while_earlier_numbers_of_others_are_being_stored() -> None:
    feed = Feed()
    listening = asyncio.create_task(told_by(feed, 4))
    await asyncio.sleep(0)
    feed.tell(group(1))
    feed.hold()  # 2 and 3 are on their way
    feed.tell(group(4))
    feed.release(ForeignGroup(events=numbered(2, 3)))
    assert await listening == [1, 2, 3, 4]


async def test_a_store_that_failed_holds_nothing_back() -> None:
    feed = Feed()
    listening = asyncio.create_task(told_by(feed, 2))
    await asyncio.sleep(0)
    feed.hold()
    feed.tell(group(4))
    feed.release(None)
    feed.tell(group(5))
    assert await listening == [4, 5]


async def test_who_comes_back_is_told_nothing_beyond_a_row_that_may_still_be_missing(
    open_record: OpenRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = open_record(True)
    for number in range(5):
        record.emit(settled(a_session(), NOW_S + number))
    stored = await record.reader.events_after(0, 100)
    assert len(stored) == 5
    monkeypatch.setattr(record.recorder.sequence, "reached", lambda: stored[2]["seq"])
    # A shared store numbers what is stored: a row that is still missing gets a higher number.
    told = stored if record.traits.tells_live else stored[:3]
    assert await record.reader.events_after(0, 100) == told
