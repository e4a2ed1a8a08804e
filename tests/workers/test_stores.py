"""Workers whose record is in a database, or whose closed days are archived: one record all the same."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from stores.conftest import kind_of
from stores.kinds import ClickhouseKind, PostgresKind
from stores.test_copy_days import DAYS, FEW, Places, fill
from waiting import until
from workers.team import Team, running_team
from workers.test_ends import home_of

QUICK = (sys.executable, str(Path(__file__).with_name("quick_looks.py")))
COUNTED = "SELECT count(*), count(DISTINCT id) FROM rpc_events WHERE tool_name = 'counter__count'"


@pytest.fixture(params=["postgres", "clickhouse"])
def kind(request: pytest.FixtureRequest) -> Iterator[PostgresKind | ClickhouseKind]:
    made = kind_of(request)
    assert isinstance(made, PostgresKind | ClickhouseKind)
    yield made
    made.close()


def store_of(kind: PostgresKind | ClickhouseKind) -> str:
    database = kind.database
    if isinstance(kind, PostgresKind):
        return f'[record]\nstore = "{database.dsn}"'
    login = f"{database.user}:{database.password}@{database.host}:{database.port}"
    return f'[record]\nstore = "clickhouse://{login}/{database.database}"'


async def test_every_call_of_every_worker_is_in_the_database_once_also_when_one_is_killed(
    kind: PostgresKind | ClickhouseKind, tmp_path: Path
) -> None:
    async with running_team(tmp_path, workers=2, extra=store_of(kind)) as team:
        answered = 0
        for killed in (0, 1):
            answered += await _call_at_both(team)
            pid = team.kill(killed)
            await team.until_whole(2, besides=pid)
        answered += await _call_at_both(team)

        async def is_all_there() -> bool:
            (counts,) = await asyncio.to_thread(team.ask, COUNTED)
            assert int(counts[0]) <= answered, counts
            return counts == [str(answered)] * 2

        await until(is_all_there)
        about = await asyncio.to_thread(team.get, "/api/v1/about")
        assert about["record"]["problem"] is None


async def _call_at_both(team: Team) -> int:
    """How many calls were answered: two of a session at each worker."""
    met: set[int] = set()
    answered = 0
    while len(met) < 2:
        async with team.client() as client:
            met.add(home_of(team, client))
            for _ in range(2):
                assert "result" in await client.call("counter__count")
                answered += 1
    return answered


@pytest.mark.parametrize("store", ["duckdb", "postgres"])
async def test_closed_days_are_archived_while_workers_serve(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    places = Places(tmp_path, request)
    place = places.empty(store)
    place.folder = tmp_path / "state" / "record"
    (tmp_path / "state").mkdir(mode=0o700)
    async with place.target() as days:
        await fill(days)
    target = tmp_path / "archive"
    lines = store_of(place.database) if place.database is not None else "[record]"
    extra = f'{lines}\narchive = "{target}"\nkeep = "3650d"'
    async with running_team(tmp_path, workers=2, extra=extra, program=QUICK) as team:
        # The newest file is taken for one that is still written, until there is a newer one.
        closed = DAYS[:-1] if place.database is None else DAYS
        await until(lambda: all((target / f"day={day}" / "manifest.json").exists() for day in closed))
        health = await asyncio.to_thread(team.get, "/healthz")
        assert "problems" not in health
        async with team.client() as client:
            assert "result" in await client.call("counter__count")
        counted = "SELECT count(*) FROM rpc_events WHERE tool_name IS NULL OR tool_name <> 'counter__count'"
        (found,) = await asyncio.to_thread(team.ask, counted)
        assert int(found[0]) >= 3 * FEW
    places.close()
