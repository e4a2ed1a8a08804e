"""Excerpts of the record: one principal's rows, as much of them as a statement can read, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from recorder.happenings import NOW_S, Open, Record, a_session, opened, settled

from callgate.model.identity import Principal
from callgate.recorder.read import excerpts
from callgate.recorder.read.excerpts import Excerpts
from callgate.recorder.read.wanted_rows import Wanted, wanted_by

TABLES = ("sessions", "rpc_events", "rpc_event_upstreams", "gaps")


@pytest.fixture
async def record(tmp_path: Path) -> AsyncIterator[Record]:
    """Five calls of one principal, three of another."""
    made = Record(tmp_path)
    mine, theirs = a_session("mine"), a_session("theirs")
    theirs.principal = Principal("o'other")
    for session, count in ((mine, 5), (theirs, 3)):
        made.emit(opened(session))
        for number in range(count):
            made.emit(settled(session, NOW_S + number, sql=f"SELECT '{session.session_id} {number}'"))
    yield made
    await made.close()


@pytest.fixture
def taken(record: Record) -> Excerpts:
    return Excerpts(record.reader, record.recorder.keeper.days_folder)


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with duckdb.connect(str(path), read_only=True) as found:
        return {table: found.execute(f"FROM {table}").fetchall() for table in TABLES}


def counts(path: Path) -> list[int]:
    return [len(rows) for rows in contents(path).values()]


async def test_an_excerpt_holds_the_rows_of_its_principal_only(taken: Excerpts) -> None:
    everything = [f"FROM {table}" for table in TABLES]
    mine = await taken.take("local", everything)
    theirs = await taken.take("o'other", everything)
    nobodys = await taken.take("local' OR '1'='1", everything)
    assert [counts(one.path) for one in (mine, theirs, nobodys)] == [[1, 5, 5, 0], [1, 3, 3, 0], [0, 0, 0, 0]]
    assert "theirs" not in str(contents(mine.path))
    assert b"theirs" not in mine.path.read_bytes()
    assert mine.path.stat().st_mode & 0o777 == 0o600


async def test_bodies_are_copied_for_those_who_read_them_only(taken: Excerpts) -> None:
    narrow = await taken.take("local", ["SELECT method, count(*) FROM rpc_events GROUP BY ALL"])
    wide = await taken.take("local", ["SELECT request_json FROM rpc_events"])
    bodies = "SELECT count(request_json), count(response_json), count(*) FROM rpc_events"
    for excerpt, found in ((narrow, (0, 0, 5)), (wide, (5, 5, 5))):
        with duckdb.connect(str(excerpt.path), read_only=True) as copied:
            assert copied.execute(bodies).fetchone() == found


async def test_a_history_that_is_too_long_is_cut_at_its_old_end_and_says_so(
    taken: Excerpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excerpts, "MAX_EVENTS", 2)
    excerpt = await taken.take("local", ["SELECT sql FROM rpc_events, gaps"])
    assert excerpt.left_out == 3
    found = contents(excerpt.path)
    assert {"SELECT 'mine 3'", "SELECT 'mine 4'"} == {
        cell for row in found["rpc_events"] for cell in row if "mine " in str(cell)
    }
    assert [row[2:] for row in found["gaps"]] == [(3, "older calls are left out")]


async def test_bodies_are_cut_by_their_bytes(taken: Excerpts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "MAX_BODY_BYTES", 100)
    assert (await taken.take("local", ["FROM rpc_events"])).left_out > 0
    assert (await taken.take("local", ["SELECT ts FROM rpc_events"])).left_out == 0


async def test_what_a_dead_process_left_behind_is_removed(tmp_path: Path, open_recorder: Open) -> None:
    days = tmp_path / "days"
    days.mkdir()
    for left in ("excerpt-0.part", "excerpt-0.part.wal", "export-0.part"):
        (days / left).write_bytes(b"")
    record = open_recorder(True)
    await record.source_requests()
    taken = Excerpts(record.reader, days)
    excerpt = await taken.take("local", ["SELECT 1"])
    assert list(days.glob("*.part*")) == [excerpt.path]


async def test_an_excerpt_that_nobody_waits_for_any_more_leaves_no_file(
    taken: Excerpts, record: Record
) -> None:
    taking = asyncio.create_task(taken.take("local", ["FROM rpc_events"]))
    await asyncio.sleep(0)
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    assert taking.cancelled()
    assert not list(record.recorder.keeper.days_folder.glob("excerpt-*"))


async def test_an_excerpt_that_fails_leaves_no_file(taken: Excerpts, record: Record) -> None:
    with pytest.raises(TypeError):
        await taken.take("local", [None])  # pyright: ignore[reportArgumentType]
    assert not list(record.recorder.keeper.days_folder.glob("excerpt-*"))


@pytest.mark.parametrize(
    ("sql", "tables", "bodies"),
    [
        ("SELECT count(*) FROM rpc_events", {"rpc_events"}, False),
        (
            "SELECT e.ts FROM rpc_events e JOIN sessions s USING (session_id)",
            {"rpc_events", "sessions"},
            False,
        ),
        ("SELECT client_name FROM sessions", {"sessions"}, False),
        ("SELECT response_json FROM main.rpc_event_upstreams", {"rpc_event_upstreams"}, True),
        ("SELECT Request_JSON FROM RPC_EVENTS", {"rpc_events"}, True),
        ("SELECT 1 FROM rpc_events e JOIN rpc_event_upstreams u USING (request_json)", None, True),
        ("FROM rpc_events", {"rpc_events"}, True),
        ("TABLE rpc_events", {"rpc_events"}, True),
        ("SELECT e FROM rpc_events e", {"rpc_events"}, True),
        ("SELECT COLUMNS('.*') FROM rpc_events", {"rpc_events"}, True),
        ("SELECT x FROM (SELECT #2 AS x FROM (SELECT * FROM rpc_events))", {"rpc_events"}, True),
        ("SELECT 1 FROM rpc_events NATURAL JOIN rpc_event_upstreams", None, True),
        ("SUMMARIZE rpc_events", {"rpc_events"}, True),
        ("PIVOT rpc_events ON method USING count(*)", set(TABLES), True),
        ("SELECT * FROM (PIVOT rpc_events ON method USING count(*))", set(TABLES), True),
        ("SELECT method, count(*) AS n FROM rpc_events GROUP BY 1 ORDER BY n", {"rpc_events"}, False),
        ("SELECT 1 AS e, e FROM rpc_events e", {"rpc_events"}, True),
        ("WITH t AS (FROM rpc_events) SELECT 1 AS t, t FROM t", set(TABLES), True),
        ("WITH t AS (SELECT ts AS seen FROM rpc_events) SELECT max(seen) FROM t", set(TABLES), False),
        ("EXPLAIN SELECT 1", set(TABLES), True),
        ("SELECT table_name FROM duckdb_tables()", set(TABLES), False),
        ("SELECT 1", set(TABLES), False),
        ("nonsense", set(TABLES), True),
    ],
)
def test_what_a_statement_can_read_is_found_out(sql: str, tables: set[str] | None, bodies: bool) -> None:
    with duckdb.connect(":memory:") as cursor:
        wanted = wanted_by(cursor, [sql])
    assert wanted == Wanted(frozenset(tables or {"rpc_events", "rpc_event_upstreams"}), bodies)
