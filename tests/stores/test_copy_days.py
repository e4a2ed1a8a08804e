"""A record copied from one store to another: whole, exactly once, and comparable, wherever it was stopped."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from recorder.happenings import NOW_S, Record, a_session, opened, settled
from stores.kinds import PostgresKind
from stores.test_flush import event

from callgate.model.errors import SetupError
from callgate.recorder.days.copy_days import CopiedSection, CopyProgress, copy_days
from callgate.recorder.days.duckdb_days import DuckdbDays
from callgate.recorder.days.postgres_days import PostgresDays
from callgate.recorder.days.record_days import (
    DayTarget,
    Piece,
    RecordDays,
    batch_of_events,
    batch_of_gaps,
    batch_of_sessions,
)
from callgate.recorder.flush.batch import Batch
from callgate.recorder.rows import EventRow, GapRow, HopRow, SessionRow

# Closed, and not yet overdue where nobody says how long to keep them.
DAYS = [datetime.now(UTC).date() - timedelta(days=age) for age in (4, 3, 2)]
FEW, MANY = 30, 2100  # the latter are more than one piece


class Places:
    """Empty stores of either kind, as many as a test wants."""

    def __init__(self, folder: Path, request: pytest.FixtureRequest) -> None:
        self._folder = folder
        self._request = request
        self._made = 0
        self._databases: list[PostgresKind] = []

    def empty(self, kind: str) -> "Place":
        self._made += 1
        folder = self._folder / f"record-{self._made}"
        if kind == "duckdb":
            return Place(folder, None)
        self._databases.append(PostgresKind(self._request.getfixturevalue("postgres")))
        return Place(folder, self._databases[-1])

    def close(self) -> None:
        for database in self._databases:
            database.close()


class Place:
    def __init__(self, folder: Path, database: PostgresKind | None) -> None:
        self.folder = folder
        self.database = database

    def source(self) -> RecordDays:
        return self._days(is_target=False)

    def target(self) -> RecordDays:
        return self._days(is_target=True)

    def _days(self, is_target: bool) -> RecordDays:
        if self.database is not None:
            return PostgresDays(self.database.address)
        return DuckdbDays(self.folder, is_target=is_target)


@pytest.fixture
def places(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Places]:
    made = Places(tmp_path, request)
    yield made
    made.close()


def an_event(number: int) -> EventRow:
    row = event(number, session_id=f"s-{number % 3}", tables=["a", "b"], duration_ms=0.1 + number)
    row.hops = [HopRow("one", True, 1.5, rpc_id="7"), HopRow("two", False, error="no", response_json='"x"')]
    if number % 2:
        row.request_tokens, row.response_tokens = 5, 7
    row.request_json, row.response_json = b'{"n":%d}' % number, '{"text":"\u00fc\\u0000"}'.encode()
    row.request_bytes = len(row.request_json)
    row.sql = "SELECT 'a\0b'" if number == 5 else ""
    return row


async def fill(target: DayTarget, on_first_day: int = FEW) -> None:
    """Three days: calls of three sessions each, legs, bodies, a gap; a character that PostgreSQL lacks."""
    for at, (day, rows) in enumerate(zip(DAYS, (on_first_day, FEW, FEW), strict=True)):
        first = at * 100_000
        sessions = [
            SessionRow(f"s-{number}", first, first + 9, client_name=f"c-{number}") for number in range(3)
        ]
        await target.write(day, batch_of_sessions(f"filled.{day}.sessions", sessions))
        begin = 0
        while begin < rows:
            end = min(rows, begin + 1000)
            events = [an_event(first + number) for number in range(begin, end)]
            await target.write(day, batch_of_events(f"filled.{day}", Piece(begin, end, events)))
            begin = end
        await target.write(
            day, batch_of_gaps(f"filled.{day}.gaps", [GapRow(first, first + 5, 3, "full")], 0, 1)
        )


async def copy(source: Place, target: Place) -> list[CopiedSection]:
    async with source.source() as reading, target.target() as writing:
        return await copy_days(reading, writing, lambda progress: None)


async def everything(place: Place) -> list[Any]:
    """Rows by day, gaps, and what is known of sessions: one store keeps a part of them with each day, the
    other the whole. Without the character that one of them replaces."""
    rows: dict[tuple[date, str], str] = {}
    gaps: list[GapRow] = []
    sessions: dict[str, tuple[int, str | None]] = {}
    async with place.source() as days:
        for section in await days.sections():
            async for piece in days.pieces(section, 0):
                for row in piece.events:
                    assert (section.day, row.id) not in rows
                    rows[section.day, row.id] = repr(row).replace("\\x00", "\ufffd")
            rest = await days.rest(section)
            gaps += rest.gaps
            for session in rest.sessions:
                before = sessions.get(session.session_id, (session.created_at, None))[0]
                sessions[session.session_id] = (min(before, session.created_at), session.client_name)
    return [sorted(rows.items()), gaps, sessions]


@pytest.mark.parametrize(
    ("one", "other"),
    [("duckdb", "postgres"), ("postgres", "duckdb"), ("duckdb", "duckdb"), ("postgres", "postgres")],
)
async def test_a_copy_has_every_row_once_with_its_day_and_both_sides_say_the_same(
    places: Places, one: str, other: str
) -> None:
    source, target = places.empty(one), places.empty(other)
    async with source.target() as days:
        await fill(days, MANY)
    first = await copy(source, target)
    assert [(part.day, part.copied, part.is_equal) for part in first if part.there.rows] == [
        (day, rows, True) for day, rows in zip(DAYS, (MANY, FEW, FEW), strict=True)
    ]
    again = await copy(source, target)
    assert [part.copied for part in again] == [0] * len(again)
    assert [part.here.hex for part in again] == [part.there.hex for part in first]
    assert await everything(target) == await everything(source)


@pytest.mark.parametrize(("one", "other"), [("duckdb", "postgres"), ("postgres", "duckdb")])
async def test_a_record_that_is_copied_back_is_not_there_twice(places: Places, one: str, other: str) -> None:
    source, target = places.empty(one), places.empty(other)
    async with source.target() as days:
        await fill(days)
    before = await everything(source)
    await copy(source, target)
    async with target.target() as days:  # calls of its own meanwhile
        await days.write(DAYS[0], batch_of_events("own", Piece(0, 1, [an_event(90_000)])))
    back = await copy(target, source)
    assert [part.copied for part in back if part.there.rows] == [1, 0, 0]
    assert all(part.is_equal for part in back)
    rows, gaps, _ = await everything(source)
    assert (len(rows), gaps) == (len(before[0]) + 1, before[1])
    assert all(part.copied == 0 for part in await copy(source, target))


class _Killed(BaseException):
    pass


class _Dying:
    """A target whose process is killed at its n-th write: before it is stored, or before we hear of it."""

    def __init__(self, target: DayTarget, writes: int, *, is_stored: bool) -> None:
        self._target = target
        self._writes = writes
        self._is_stored = is_stored
        self.reached = target.reached
        self.find = target.find
        self.gaps = target.gaps
        self.counts = target.counts

    async def write(self, day: date, batch: Batch) -> None:
        self._writes -= 1
        if self._writes < 0 and self._is_stored:
            await self._target.write(day, batch)
        if self._writes < 0:
            raise _Killed
        await self._target.write(day, batch)


@pytest.mark.parametrize(("one", "other"), [("duckdb", "postgres"), ("postgres", "duckdb")])
async def test_a_copy_that_is_killed_before_and_after_every_write_is_equal_in_the_end(
    places: Places, one: str, other: str
) -> None:
    source, target = places.empty(one), places.empty(other)
    async with source.target() as days:
        await fill(days)
    kills = 0
    copied: list[CopiedSection] | None = None
    while copied is None:
        for is_stored in (False, True):  # the first makes no progress, the second one write
            async with source.source() as reading, target.target() as writing:
                try:
                    dying = _Dying(writing, 0, is_stored=is_stored)
                    copied = await copy_days(reading, dying, lambda progress: None)
                except _Killed:
                    kills += 1
    assert kills == 2 * 3 * len(DAYS)
    assert all(part.is_equal for part in copied)
    assert sum(part.here.rows for part in copied) == FEW * len(DAYS)
    assert await everything(target) == await everything(source)


async def test_rows_that_differ_are_seen(places: Places) -> None:
    source, target = places.empty("duckdb"), places.empty("postgres")
    async with source.target() as days:
        await fill(days)
    await copy(source, target)
    assert target.database is not None
    target.database.database.run(
        "UPDATE callgate_store.rpc_events SET rows = 77 WHERE ts < '1970-01-01 00:00:00.00001'"
    )
    target.database.database.run(
        f"DELETE FROM callgate_store.rpc_events WHERE stored_on = '{DAYS[1]}' AND session_id = 's-1'"
    )
    assert [part.is_equal for part in await copy(source, target)] == [False, False, True]


async def test_the_file_that_a_gateway_writes_to_is_copied_once_it_has_stopped(places: Places) -> None:
    source, target = places.empty("duckdb"), places.empty("postgres")
    async with source.target() as days:
        await fill(days)
    record = Record(source.folder)
    record.emit(opened(a_session()))
    record.emit(settled(a_session(), NOW_S, sql="today"))
    assert len(await record.source_requests()) >= 1
    async with DuckdbDays(source.folder) as days:
        assert days.is_in_use
    assert [part.day for part in await copy(source, target)] == DAYS
    with pytest.raises(SetupError, match="Another process holds"):
        async with DuckdbDays(source.folder, is_target=True):
            pass
    await record.close()
    *_, newest = await copy(source, target)
    assert (newest.day, newest.copied, newest.is_equal) == (datetime.now(UTC).date(), 1, True)


async def test_a_day_of_postgres_that_still_grows_is_copied_as_far_as_it_is(places: Places) -> None:
    source, target = places.empty("postgres"), places.empty("duckdb")
    assert source.database is not None
    record = source.database.record(source.folder)
    for number in range(3):
        record.emit(settled(a_session(), NOW_S + number, sql=str(number)))
        assert len(await record.source_requests()) == number + 1
        copied = await copy(source, target)
        assert sum(part.copied for part in copied) == 1
        assert all(part.is_equal for part in copied)
    await record.close()
    assert await everything(target) == await everything(source)


async def test_progress_is_told_by_section(places: Places) -> None:
    source, target = places.empty("duckdb"), places.empty("duckdb")
    async with source.target() as days:
        await fill(days)
    seen: list[CopyProgress] = []
    async with source.source() as reading, target.target() as writing:
        await copy_days(reading, writing, seen.append)
    assert seen == [
        CopyProgress(day, number, 3, events) for number, day in enumerate(DAYS, 1) for events in (0, FEW)
    ]
