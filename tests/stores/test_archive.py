"""Closed days as Parquet: in a folder and in a real S3, of both stores, whole or not there."""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from recorder.happenings import NOW_S, Record, a_session, settled
from recorder.secret_samples import MAKERS, found_in
from stores.seaweed import S3, running_s3
from stores.test_copy_days import DAYS, FEW, Place, Places, fill, places
from waiting import until

from callgate.background import Background
from callgate.model.errors import SetupError
from callgate.recorder.archive.archive import Archive, ArchivedDay, DayState
from callgate.recorder.archive.archive_keeper import ArchiveKeeper
from callgate.recorder.archive.object_folder import ObjectFolder
from callgate.recorder.days.duckdb_days import DuckdbDays
from callgate.recorder.flush.retention import Retention
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.postgres.record_store import PostgresStore

__all__ = ["places"]
STORES = ["duckdb", "postgres"]
FILES = ["events-0001.parquet", "gaps-0001.parquet", "sessions-0001.parquet", "upstreams-0001.parquet"]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with running_s3(tmp_path_factory.mktemp("s3")) as running:
        yield running


async def filled(places: Places, kind: str) -> Place:
    place = places.empty(kind)
    async with place.target() as days:
        await fill(days)
    return place


async def archived(place: Place, folder: ObjectFolder) -> list[ArchivedDay]:
    async with place.source() as days:
        archive = Archive(folder, place.folder / "passing")
        return [await archive.add(days, day) for day in await days.closed_days() if day in DAYS]


def rows_of(path: Path, what: str = "events") -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT * FROM read_parquet('{path}/day=*/{what}-*.parquet')").fetchall()


@pytest.mark.parametrize("kind", STORES)
async def test_closed_days_are_files_with_a_manifest_and_are_not_written_again(
    places: Places, tmp_path: Path, kind: str
) -> None:
    place, target = await filled(places, kind), tmp_path / "archive"
    first = await archived(place, ObjectFolder(str(target)))
    assert [(day.day, day.state) for day in first] == [(day, DayState.ARCHIVED) for day in DAYS]
    for day in DAYS:
        folder = target / f"day={day}"
        assert sorted(path.name for path in folder.iterdir()) == [*FILES[:2], "manifest.json", *FILES[2:]]
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["counts"] == {"events": FEW, "upstreams": 2 * FEW, "gaps": 1}
    assert len(rows_of(target)) == 3 * FEW
    assert len({row[0] for row in rows_of(target)}) == 3 * FEW
    assert len(rows_of(target, "upstreams")) == 6 * FEW
    assert not list((place.folder / "passing").iterdir())
    again = await archived(place, ObjectFolder(str(target)))
    assert [(day.state, day.manifest) for day in again] == [(DayState.THERE, day.manifest) for day in first]


async def test_both_stores_make_the_same_rows(places: Places, tmp_path: Path) -> None:
    found: list[list[str]] = []
    for kind in STORES:
        await archived(await filled(places, kind), ObjectFolder(str(tmp_path / kind)))
        rows = sorted(repr(row) for row in rows_of(tmp_path / kind))
        found.append([row.replace("\\x00", "\ufffd") for row in rows])
    assert found[0] == found[1]


async def test_an_archive_in_s3_is_read_back_and_checked(
    places: Places, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    folder = ObjectFolder("s3://record/of/one")
    place = await filled(places, "duckdb")
    assert [day.state for day in await archived(place, folder)] == [DayState.ARCHIVED] * 3
    assert [day.state for day in await archived(place, folder)] == [DayState.THERE] * 3
    archive = Archive(folder, place.folder)
    assert [(day.files, day.problems) for day in await archive.check()] == [(4, [])] * 3
    raw = await folder.get(f"day={DAYS[1]}/events-0001.parquet")
    assert raw is not None
    await folder.put(f"day={DAYS[1]}/events-0001.parquet", raw[:-1] + b"?")
    await folder.delete(f"day={DAYS[2]}/gaps-0001.parquet")
    await folder.delete(f"day={DAYS[0]}/manifest.json")
    assert [day.problems for day in await archive.check()] == [
        ["there is no manifest: the day is not complete"],
        ["events-0001.parquet has other bytes than the manifest says"],
        ["gaps-0001.parquet is missing"],
    ]
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", wrong := "wrong-wrong-wrong-wrong")
    with pytest.raises(SetupError) as refused:
        await archived(place, ObjectFolder("s3://record/of/one"))
    said = f"{refused.value.message} {refused.value.hint} {refused.value.__cause__!r}"
    assert "s3://record/of/one cannot be used: access was denied" in said
    assert wrong not in said
    assert s3.key not in said


class _Killed(BaseException):
    pass


class _Dying(ObjectFolder):
    """Of a process that is killed at its n-th change: before it takes place, or right after."""

    def __init__(self, address: str, changes: int, *, is_made: bool) -> None:
        super().__init__(address)
        self._changes = changes
        self._is_made = is_made

    async def put(self, name: str, what: bytes | Path) -> None:
        await self._or_die(super().put(name, what))

    async def delete(self, name: str) -> None:
        await self._or_die(super().delete(name))

    async def _or_die(self, change: Any) -> None:
        self._changes -= 1
        if self._changes < 0 and not self._is_made:
            change.close()
            raise _Killed
        await change
        if self._changes < 0:
            raise _Killed


def whole_days(target: Path) -> list[date]:
    """Of every day with a manifest: all its files are there, as it says."""
    found: list[date] = []
    for path in sorted(target.glob("day=*/manifest.json")):
        manifest = json.loads(path.read_text())
        for file in manifest["files"]:
            assert (path.parent / file["name"]).stat().st_size == file["size_bytes"]
        found.append(date.fromisoformat(manifest["day"]))
    return found


async def test_killed_at_every_step_a_manifest_is_there_only_with_all_its_files(
    places: Places, tmp_path: Path
) -> None:
    place, target = await filled(places, "duckdb"), tmp_path / "archive"
    kills = 0
    for is_made in (False, True):
        for changes in range(20):
            try:
                await archived(place, _Dying(str(target), changes, is_made=is_made))
            except _Killed:
                kills += 1
                whole_days(target)
            else:
                break
    assert kills >= 6
    assert whole_days(target) == DAYS
    assert len(rows_of(target)) == 3 * FEW


async def test_a_day_that_has_more_rows_than_its_archive_is_archived_anew(
    places: Places, tmp_path: Path
) -> None:
    place, target = await filled(places, "duckdb"), tmp_path / "archive"
    await archived(place, ObjectFolder(str(target)))
    with duckdb.connect(str(place.folder / "days" / f"{DAYS[1]}.duckdb")) as connection:
        connection.execute("INSERT INTO gaps VALUES (now()::TIMESTAMP, now()::TIMESTAMP, 1, 'late')")
    states = [day.state for day in await archived(place, ObjectFolder(str(target)))]
    assert states == [DayState.THERE, DayState.ARCHIVED, DayState.THERE]
    assert len(rows_of(target, "gaps")) == 4


async def test_the_archive_of_another_record_is_not_overwritten(places: Places, tmp_path: Path) -> None:
    target = ObjectFolder(str(tmp_path / "archive"))
    first = await archived(await filled(places, "duckdb"), target)
    other = await filled(places, "duckdb")
    with pytest.raises(SetupError, match="the days of another record"):
        await archived(other, target)
    assert len(first) == 3


@contextmanager
def kept(place: Place, address: str) -> Iterator[ArchiveKeeper]:
    keeper = ArchiveKeeper(
        lambda: Archive(ObjectFolder(address), place.folder / "passing"),
        lambda: DuckdbDays(place.folder, locks=False) if place.database is None else place.source(),
        Background(),
        first_after_s=0.0,
    )
    yield keeper
    keeper.close()


def retained(place: Place, keeper: ArchiveKeeper) -> DuckdbStore | PostgresStore:
    retention = Retention(keep_s=86400.0, archived_days=keeper.archived_days)
    if place.database is None:
        return DuckdbStore(place.folder, retention)
    return PostgresStore(place.folder, place.database.address, retention)


async def days_of(place: Place) -> list[date]:
    async with place.source() as days:
        return sorted({section.day for section in await days.sections()} & set(DAYS))


@pytest.mark.parametrize("kind", STORES)
async def test_a_day_is_deleted_only_after_its_manifest_was_read_back(
    places: Places, tmp_path: Path, kind: str
) -> None:
    place, target = await filled(places, kind), tmp_path / "archive"
    target.write_text("no folder, so nothing can be archived")
    with kept(place, str(target)) as keeper:
        await until(lambda: keeper.problem() is not None)
        assert "cannot be used" in (keeper.problem() or "")
        await asyncio.to_thread(tend, place, keeper)
        assert await days_of(place) == DAYS
    target.unlink()
    with kept(place, str(target)) as keeper:
        await until(lambda: keeper.archived_days().issuperset(DAYS))
        assert keeper.problem() is None
        await asyncio.to_thread(tend, place, keeper)
        assert await days_of(place) == []
    assert whole_days(target)[:3] == DAYS
    assert len(rows_of(target)) == 3 * FEW


def tend(place: Place, keeper: ArchiveKeeper) -> None:
    """The store's upkeep, once, as a round of the flush does it."""
    store = retained(place, keeper)
    store.open()
    store.begin_round()
    store.tend()
    if isinstance(store, PostgresStore):
        store.tended()
        assert place.database is not None
        place.database.database.run("DELETE FROM callgate_store.leases")  # the next one need not wait for it
        store.close()
        store.end()
    else:
        store.close()


async def test_no_planted_secret_is_in_a_parquet_file(places: Places, tmp_path: Path) -> None:
    place, target = places.empty("duckdb"), tmp_path / "archive"
    chance = random.Random(17)
    planted = [make(chance) for make in MAKERS.values() for _ in range(25)]
    record = Record(place.folder)
    for number, (text, _) in enumerate(planted):
        said = json.dumps({"content": [{"type": "text", "text": f"see {text}"}]}).encode()
        record.emit(settled(a_session(), NOW_S + number, reply=said, sql=f"SELECT 1 -- {text}"))
    await record.source_requests()
    await record.close()
    newest = place.folder / "days" / f"{datetime.now(UTC).date()}.duckdb"
    newest.rename(newest.with_name(f"{DAYS[0]}.duckdb"))
    async with place.source() as days:
        await Archive(ObjectFolder(str(target)), place.folder).add(days, DAYS[0])
    held = repr(rows_of(target)).encode() + repr(rows_of(target, "upstreams")).encode()
    held += b"".join(path.read_bytes() for path in target.rglob("*.parquet"))
    assert len(rows_of(target)) == len(planted) >= 1000
    assert b"see " in held
    assert found_in(held, [secret for _, secret in planted]) == set()
