"""Excerpts of the record: one principal's rows, as much of them as a statement can read, and nothing else."""

import asyncio
from pathlib import Path
from typing import Any

import duckdb
import pytest
from recorder.happenings import NOW_S, a_session, opened, settled
from stores.conftest import OpenRecord
from stores.kinds import KeptRecord

from callgate.model.identity import Principal
from callgate.ports.record_queries import RecordExcerpts

TABLES = ("sessions", "rpc_events", "rpc_event_upstreams", "gaps")


@pytest.fixture
async def record(open_record: OpenRecord) -> KeptRecord:
    """Five calls of one principal, three of another."""
    made = open_record(True)
    mine, theirs = a_session("mine"), a_session("theirs")
    theirs.principal = Principal("o'other")
    for session, count in ((mine, 5), (theirs, 3)):
        made.emit(opened(session))
        for number in range(count):
            made.emit(settled(session, NOW_S + number, sql=f"SELECT '{session.session_id} {number}'"))
    return made


@pytest.fixture
def taken(record: KeptRecord) -> RecordExcerpts:
    return record.excerpts


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with duckdb.connect(str(path), read_only=True) as found:
        return {table: found.execute(f"FROM {table}").fetchall() for table in TABLES}


def counts(path: Path) -> list[int]:
    return [len(rows) for rows in contents(path).values()]


async def test_an_excerpt_holds_the_rows_of_its_principal_only(taken: RecordExcerpts) -> None:
    everything = [f"FROM {table}" for table in TABLES]
    mine = await taken.take("local", everything)
    theirs = await taken.take("o'other", everything)
    nobodys = await taken.take("local' OR '1'='1", everything)
    assert [counts(one.path) for one in (mine, theirs, nobodys)] == [[1, 5, 5, 0], [1, 3, 3, 0], [0, 0, 0, 0]]
    assert "theirs" not in str(contents(mine.path))
    assert b"theirs" not in mine.path.read_bytes()
    assert mine.path.stat().st_mode & 0o777 == 0o600


async def test_bodies_are_copied_for_those_who_read_them_only(taken: RecordExcerpts) -> None:
    narrow = await taken.take("local", ["SELECT method, count(*) FROM rpc_events GROUP BY ALL"])
    wide = await taken.take("local", ["SELECT request_json FROM rpc_events"])
    bodies = "SELECT count(request_json), count(response_json), count(*) FROM rpc_events"
    for excerpt, found in ((narrow, (0, 0, 5)), (wide, (5, 5, 5))):
        with duckdb.connect(str(excerpt.path), read_only=True) as copied:
            assert copied.execute(bodies).fetchone() == found


async def test_a_history_that_is_too_long_is_cut_at_its_old_end_and_says_so(
    taken: RecordExcerpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.read.excerpt_limits.MAX_EVENTS", 2)
    excerpt = await taken.take("local", ["SELECT sql FROM rpc_events, gaps"])
    assert excerpt.left_out == 3
    found = contents(excerpt.path)
    assert {"SELECT 'mine 3'", "SELECT 'mine 4'"} == {
        cell for row in found["rpc_events"] for cell in row if "mine " in str(cell)
    }
    assert [row[2:] for row in found["gaps"]] == [(3, "older calls are left out")]


async def test_bodies_are_cut_by_their_bytes(taken: RecordExcerpts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.recorder.read.excerpt_limits.MAX_BODY_BYTES", 100)
    assert (await taken.take("local", ["FROM rpc_events"])).left_out > 0
    assert (await taken.take("local", ["SELECT ts FROM rpc_events"])).left_out == 0


async def test_an_excerpt_that_nobody_waits_for_any_more_leaves_no_file(
    taken: RecordExcerpts, record: KeptRecord
) -> None:
    taking = asyncio.create_task(taken.take("local", ["FROM rpc_events"]))
    await asyncio.sleep(0)
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    assert taking.cancelled()
    assert not record.passing_files()


async def test_an_excerpt_that_fails_leaves_no_file(taken: RecordExcerpts, record: KeptRecord) -> None:
    with pytest.raises(TypeError):
        await taken.take("local", [None])  # pyright: ignore[reportArgumentType]
    assert not record.passing_files()
