"""What one gateway does for all: the lease, open calls of writers that fell silent, parts of sessions."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from stores.kinds import PostgresKind
from stores.test_flush import Writer, at, event, opened

from callgate.recorder.journal.frames import EVENTS, OPENED, SESSIONS
from callgate.recorder.rows import SessionRow
from callgate.recorder.stores.postgres import leases
from callgate.recorder.stores.postgres.record_store import PostgresStore

SEEN = "SELECT id::text, outcome FROM rpc_events ORDER BY id"
SUMS = "SELECT session_id, tool_call_count, error_count, total_tokens, ended_at FROM sessions ORDER BY 1"
COUNTED = "SELECT sum(events) FROM callgate_store.batches"


@pytest.fixture
def stores(kind: PostgresKind, tmp_path: Path) -> Iterator[list[PostgresStore]]:
    """Two gateways' on one database, each with a folder of its own."""
    made: list[PostgresStore] = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        made.append(kind.store(tmp_path / name))
        made[-1].open()
        made[-1].begin_round()
    yield made
    for store in made:
        store.close()


def tend(store: PostgresStore) -> None:
    """As a gateway does that was connected all the time."""
    store._tended_mono = store._opened_mono = float("-inf")
    store.tend()
    store.tended()


def fall_silent(kind: PostgresKind, writer: str) -> None:
    kind.database.run(
        f"UPDATE callgate_store.writers SET seen_at = now() - interval '3 minutes' WHERE writer = '{writer}';"
        "DELETE FROM callgate_store.leases"
    )


async def test_a_lease_has_one_holder_until_it_is_over(
    kind: PostgresKind, stores: list[PostgresStore]
) -> None:
    connections = [await asyncpg.connect(kind.database.dsn) for _ in range(8)]

    async def take(number: int, for_s: float = 30.0) -> bool:
        return await leases.take(connections[number], "work", f"holder {number}", for_s)

    taken = await asyncio.gather(*(take(number) for number in range(8)))
    assert sum(taken) == 1
    holder = taken.index(True)
    assert await take(holder)  # who holds it makes it longer
    assert await take(holder, -1.0)  # ... or gives it up
    taken = await asyncio.gather(*(take(number) for number in range(8) if number != holder))
    assert sum(taken) == 1
    for connection in connections:
        await connection.close()


async def test_live_readers_do_not_wait_for_each_other(
    kind: PostgresKind, stores: list[PostgresStore]
) -> None:
    first, second = [await asyncpg.connect(kind.database.dsn) for _ in range(2)]
    await leases.watch(first)
    await second.execute("SET lock_timeout = '2s'")
    async with first.transaction():
        await leases.watch(first)
        await leases.watch(second)  # LockNotAvailableError, if the other one had locked the row
    for connection in (first, second):
        await connection.close()


def test_who_has_no_lease_leaves_the_upkeep_to_its_holder(
    kind: PostgresKind, stores: list[PostgresStore]
) -> None:
    here, there = stores
    Writer(here, "1-dead").write((OPENED, [opened(1, "1-dead")]))
    tend(there)  # it holds the lease from now on
    kind.database.run("UPDATE callgate_store.writers SET seen_at = now() - interval '3 minutes'")
    tend(here)
    assert kind.ask(here, SEEN) == [(event(1).id, None)]
    tend(there)
    assert kind.ask(here, SEEN) == [(event(1).id, "lost")]


def test_open_calls_of_a_writer_without_a_sign_of_life_are_lost_and_of_others_are_not(
    kind: PostgresKind, stores: list[PostgresStore]
) -> None:
    here, there = stores
    for number, name in ((1, "1-dead"), (2, "2-alive")):
        Writer(there, name).write(
            (SESSIONS, [SessionRow(f"s-{number}", 5, number, writer=name)]),
            (OPENED, [opened(number, name, session_id=f"s-{number}", request_bytes=8)]),
        )
    tend(here)
    assert kind.ask(here, SEEN) == [(event(1).id, None), (event(2).id, None)]
    for name in ("1-dead", "2-alive"):
        fall_silent(kind, name)
    there._noted_mono = float("-inf")
    there.note_living(["2-alive"])
    for _ in range(2):
        tend(here)
        assert kind.ask(here, SEEN) == [(event(1).id, "lost"), (event(2).id, None)]
        assert kind.ask(here, SUMS) == [("s-1", 1, 1, 2, at(1)), ("s-2", 0, 0, 0, None)]
        kind.database.run("DELETE FROM callgate_store.leases")


def test_who_just_connected_takes_nobody_for_dead(kind: PostgresKind, stores: list[PostgresStore]) -> None:
    here, there = stores
    Writer(there, "1-back-soon").write((OPENED, [opened(1, "1-back-soon")]))
    fall_silent(kind, "1-back-soon")
    here.tend()
    here.tended()
    assert kind.ask(here, SEEN) == [(event(1).id, None)]


def test_the_true_end_of_a_call_replaces_the_one_that_was_assumed(
    kind: PostgresKind, stores: list[PostgresStore]
) -> None:
    here, there = stores
    writer = Writer(there, "1-cut-off")
    writer.write(
        (SESSIONS, [SessionRow("s-1", 1, 3, writer="1-cut-off")]),
        (OPENED, [opened(1, "1-cut-off", request_json=b"{}"), opened(2, "1-cut-off")]),
    )
    fall_silent(kind, "1-cut-off")
    tend(here)
    assert kind.ask(here, SEEN) == [(event(1).id, "lost"), (event(2).id, "lost")]
    assert kind.database.run(COUNTED) == "2"
    ended: dict[str, Any] = {"was_open": True, "request_tokens": 3, "response_tokens": 4, "ts": 9}
    writer.write((EVENTS, [event(1, request_json=b"[]", **ended)]))
    assert kind.ask(here, SEEN) == [(event(1).id, "answered"), (event(2).id, "lost")]
    bodies = "SELECT request_json FROM rpc_events WHERE request_json IS NOT NULL"
    assert kind.ask(here, bodies) == [("[]",)]
    assert kind.database.run(COUNTED) == "2"
    # The session goes on: it was ended for a gateway that was taken for dead.
    assert kind.ask(here, SUMS) == [("s-1", 2, 1, 7, None)]


def test_parts_of_a_session_that_is_over_become_one_row_and_nothing_else_changes(
    kind: PostgresKind, stores: list[PostgresStore]
) -> None:
    here, there = stores
    for store, name in ((here, "1-a"), (there, "2-b")):
        number = 1 if store is here else 2
        for session, ended in (("s-over", 9), ("s-open", None)):
            Writer(store, f"{name}-{session}").write(
                (SESSIONS, [SessionRow(session, number, 9, ended, client_name="probe", writer=name)]),
                (EVENTS, [event(number + 10 * (ended or 0), session_id=session, request_tokens=5)]),
            )
    before = kind.ask(here, "SELECT * FROM sessions ORDER BY session_id")
    parts = "SELECT session_id, count(*) FROM callgate_store.session_parts GROUP BY 1 ORDER BY 1"
    assert kind.database.run(parts) == "s-open\t2\ns-over\t2"
    for _ in range(2):
        tend(here)
        assert kind.database.run(parts) == "s-open\t2\ns-over\t1"
        assert kind.ask(here, "SELECT * FROM sessions ORDER BY session_id") == before
    # A late row of it makes a part again, which is folded too.
    Writer(there, "3-late").write(
        (SESSIONS, [SessionRow("s-over", 1, 9, 9)]), (EVENTS, [event(99, session_id="s-over")])
    )
    tend(here)
    assert kind.database.run(parts) == "s-open\t2\ns-over\t1"
    assert kind.ask(here, "SELECT tool_call_count FROM sessions WHERE session_id = 's-over'") == [(3,)]
