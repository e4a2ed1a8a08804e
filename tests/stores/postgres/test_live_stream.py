"""The live stream of several gateways on one store: every settled call once, in one order, at any of them."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from api.conftest import Stage
from api.test_events import listening
from databases.database import Database
from recorder.happenings import NOW_S, a_session, read_back, settled
from stores.kinds import KeptRecord, PostgresKind, make_tables
from stores.test_flush import event, segment_of
from waiting import until

from callgate.ports.row_feed import FeedRow
from callgate.postgres_connection import transaction
from callgate.recorder.feed import Feed
from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import EVENTS
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.shared_feed import SharedFeed, StoredRows
from callgate.recorder.stores.postgres.connection import Connection
from callgate.recorder.stores.postgres.numbering import NumberedPage, NumberedRows
from callgate.recorder.stores.postgres.reads import PostgresReads
from callgate.recorder.stores.postgres.write_batch import rows_of, store_rows
from callgate.wire.framing.sse import SseEvent

WRITERS, BATCHES, ROWS = 32, 5, 2


@pytest.fixture(params=["direct", "pooled"])
def kind(request: pytest.FixtureRequest, postgres: Database) -> Any:
    """PostgreSQL as it is, and through PgBouncer in transaction mode."""
    pooler = request.getfixturevalue("pgbouncer") if request.param == "pooled" else None
    made = PostgresKind(postgres, pooler)
    yield made
    made.close()


@pytest.fixture
async def gateways(kind: PostgresKind, tmp_path: Path) -> AsyncIterator[list[Stage]]:
    """Three, each with a state folder of its own."""
    records: list[KeptRecord] = []
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        records.append(kind.record(tmp_path / name))
        await records[-1].reader.extent()  # the store is open
    yield [Stage(record) for record in records]
    for record in records:
        await record.close()


async def told_elsewhere(*_: Any) -> None:
    """A writer that commits at once."""


class OneWriter:
    """A gateway's flush, of which a test decides when it commits."""

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection = connection
        self._number = number
        self._reached = 0

    async def write(self, place: int, before_commit: Callable[[], Any] = told_elsewhere) -> list[str]:
        """The ids of its calls."""
        first = (self._number * BATCHES + place) * ROWS
        rows = [event(first + row, session_id=f"s-{self._number}") for row in range(ROWS)]
        batch = Batch()
        segment = segment_of(f"{self._number}-w")
        batch.add(segment, read_back(EVENTS, *rows, end=self._reached + 100), self._reached)
        self._reached += 100
        async with transaction(self._connection, limit_s=60, lock_s=60):
            await store_rows(self._connection, rows_of(batch), "elsewhere")
            await before_commit()
        return [row.id for row in rows]


class BySequence:
    """What this store does not do: a reader that goes on by the number which a batch got from a sequence."""

    def __init__(self, reads: PostgresReads) -> None:
        self._reads = reads

    async def end(self) -> int:
        return (await self._page(0)).reached

    async def after(self, seq: int, limit: int) -> NumberedPage:
        return await self._page(seq)

    async def sessions(self, session_ids: Any) -> list[Any]:
        return []

    async def _page(self, seq: int) -> NumberedPage:
        async def read(connection: Connection) -> NumberedPage:
            found = await connection.fetch(
                "SELECT id::text AS id, session_id, batch AS seq FROM callgate_store.rpc_events"
                " WHERE batch > $1 ORDER BY batch, place",
                seq,
            )
            rows = [dict(row) for row in found]
            return NumberedPage(rows, rows[-1]["seq"] if rows else seq, has_more=False)

        return await self._reads.run(read, ReadKind.LIVE)


@pytest.mark.parametrize(("numbered_by", "tells_all"), [(NumberedRows, True), (BySequence, False)])
async def test_a_batch_that_commits_after_a_later_one_is_told_because_the_reader_numbers(
    kind: PostgresKind, tmp_path: Path, numbered_by: Callable[[PostgresReads], StoredRows], tells_all: bool
) -> None:
    store = kind.store(tmp_path)
    await asyncio.to_thread(make_tables, store)
    reads = PostgresReads(store.thread, store.address)
    feed = SharedFeed(Feed(), numbered_by(reads))
    connections = [await asyncpg.connect(kind.database.dsn) for _ in range(2)]
    slow, quick = (OneWriter(connection, number) for number, connection in enumerate(connections))
    told: list[str] = []

    async def hear(count: int) -> None:
        while len(told) < count:
            row = await anext(rows)
            if isinstance(row, FeedRow) and row.happening == "exchange_settled":
                told.append(row.row["id"])

    async with aclosing(feed.listen()) as rows:
        await feed.ready()

        async def a_later_one_is_told() -> None:
            quick_ones.extend(await quick.write(0))
            await hear(ROWS)

        quick_ones: list[str] = []
        slow_ones = await slow.write(0, a_later_one_is_told)
        quick_ones += await quick.write(1)
        await hear(3 * ROWS if tells_all else 2 * ROWS)
        assert sorted(told) == sorted(quick_ones + slow_ones if tells_all else quick_ones)
    for connection in connections:
        await connection.close()
    await feed.close()
    await reads.close()


def settled_ids(events: list[SseEvent]) -> list[str]:
    return [json.loads(one.data)["data"]["id"] for one in events if one.event == "tool_calls.settled"]


async def read_all(gateways: list[Stage], chance: random.Random, count: int, told: list[str]) -> None:
    """Cut at random, and back with the id of the last event at another gateway."""
    last_id = "0"
    while len(told) < count:
        wanted = min(chance.randint(1, 60), count - len(told))
        async with listening(chance.choice(gateways), headers={"last-event-id": last_id}) as listener:
            await listener.until(lambda events, wanted=wanted: len(settled_ids(events)) >= wanted)
        told += settled_ids(listener.events)
        last_id = next((one.event_id for one in reversed(listener.events) if one.event_id), last_id)


async def test_readers_that_are_cut_and_come_back_elsewhere_are_told_every_call_once_in_one_order(
    kind: PostgresKind, gateways: list[Stage]
) -> None:
    chance = random.Random(17)
    count = WRITERS * BATCHES * ROWS
    tellings: list[list[str]] = [[] for _ in gateways]
    readers = [asyncio.create_task(read_all(gateways, chance, count, told)) for told in tellings]
    async with AsyncExitStack() as stack:
        connections = [await asyncpg.connect(kind.database.dsn) for _ in range(WRITERS)]
        for connection in connections:
            stack.push_async_callback(connection.close)
        slow, *quick = (OneWriter(connection, number) for number, connection in enumerate(connections))

        async def write_slowly() -> None:
            for place in range(BATCHES):
                before = max(map(len, tellings))
                # Others have committed meanwhile, and somebody was told of them, or nobody else writes.
                await slow.write(
                    place,
                    lambda before=before: until(
                        lambda: max(map(len, tellings)) > before or all(one.done() for one in writing)
                    ),
                )

        async def write(writer: OneWriter) -> None:
            for place in range(BATCHES):
                await writer.write(place)
                await asyncio.sleep(chance.random() / 5)  # they come at all times

        writing = [asyncio.create_task(write(one)) for one in quick]
        await asyncio.gather(write_slowly(), *writing)
        await asyncio.wait_for(asyncio.gather(*readers), 120)
    assert sorted(tellings[0]) == sorted(event(number).id for number in range(count))
    assert tellings[0] == tellings[1] == tellings[2]


async def test_a_call_at_one_gateway_is_told_at_another_and_writers_flush_sooner(
    kind: PostgresKind, gateways: list[Stage]
) -> None:
    here, there, _ = gateways
    async with listening(there) as listener:
        for number in range(3):
            here.emit(settled(here.session, NOW_S + number, sql=f"SELECT {number}"))
            await listener.until(lambda events, number=number: len(settled_ids(events)) > number)
        (created,) = await listener.types("sessions.created")
        assert created["session_id"] == here.session.session_id
        # Whoever flushes reads that somebody follows the stream.
        assert any(store.is_watched for store in kind.stores)
    watched = "SELECT count(*) FROM callgate_store.leases WHERE name = 'watched'"
    assert kind.database.run(watched) == "1"


async def test_while_nobody_listens_nothing_is_numbered_and_nothing_is_read(
    kind: PostgresKind, gateways: list[Stage]
) -> None:
    numbered = "SELECT count(number) FROM callgate_store.batches"
    unnumbered = "SELECT count(*) - count(number) > 0 FROM callgate_store.batches"
    here, there, _ = gateways
    feed = there.record.feed
    assert isinstance(feed, SharedFeed)
    here.emit(settled(a_session(), NOW_S))
    await here.record.reader.extent()
    assert (kind.database.run(numbered), kind.database.run(unnumbered)) == ("0", "t")
    assert not feed.is_reading
    async with listening(there):
        assert kind.database.run(numbered) != "0"
    await until(lambda: not feed.is_reading)
    before = kind.database.run(numbered)
    here.emit(settled(a_session(), NOW_S))
    await here.record.reader.extent()
    assert (kind.database.run(numbered), kind.database.run(unnumbered)) == (before, "t")


async def test_an_id_of_another_record_begins_with_what_happens_now(gateways: list[Stage]) -> None:
    here, there, _ = gateways
    here.emit(settled(here.session, NOW_S, sql="before"))
    await here.record.reader.extent()
    async with listening(there, headers={"last-event-id": "1794733000670498"}) as listener:
        here.emit(settled(here.session, NOW_S, sql="now"))
        await listener.until(lambda events: len(settled_ids(events)) == 1)
        (told,) = await listener.types("tool_calls.settled")
        assert told["sql"] == "now"


async def test_a_store_that_forgot_its_last_numbers_is_followed_from_where_it_is(
    kind: PostgresKind, gateways: list[Stage]
) -> None:
    """As after a failover to a standby that lacks the last commits."""
    here, there, _ = gateways
    feed = there.record.feed
    assert isinstance(feed, SharedFeed)
    async with listening(there) as listener:
        for number in range(1, 4):
            here.emit(settled(here.session, NOW_S, sql="before"))
            await listener.until(lambda events, number=number: len(settled_ids(events)) == number)
        reached = feed.reached or 0
        kind.database.run(
            "DELETE FROM callgate_store.batches; DELETE FROM callgate_store.rpc_events;"
            "ALTER SEQUENCE callgate_store.batch_order RESTART"
        )
        await until(lambda: (feed.reached or reached) < reached)
        here.emit(settled(here.session, NOW_S, sql="after"))  # with it, what the store has forgotten
        await listener.until(lambda events: any(b'"after"' in one.data for one in events))
