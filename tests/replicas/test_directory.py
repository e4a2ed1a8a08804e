"""The directory: in a real PostgreSQL, straight and through a pooler in transaction mode, and in files."""

import asyncio
import socket
import sqlite3
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from databases.database import Database
from databases.postgres import new_database
from stores.postgres.way import way_to
from waiting import until

from callgate.app.replicas import look_at_replicas
from callgate.config.specs.config import Config
from callgate.postgres_connection import connect_to
from callgate.replicas import postgres_directory
from callgate.replicas.directory import Announcement, Directory, DirectoryAwayError, HomeRow
from callgate.replicas.file_directory import FileDirectory, prepare
from callgate.replicas.postgres_directory import PostgresDirectory

ME = Announcement("AAAAAAAA", "10.0.0.1:7421", "s", "serving", "1", "f")
ROW = HomeRow("h1", "session", "AAAAAAAA", "ann", "{}")


@pytest.fixture
def database(postgres: Database) -> Database:
    return new_database(postgres, "directory")


@dataclass
class Kept:
    """A directory, and how what it keeps is made older."""

    directory: Directory
    age: Callable[[str, float, str], None]  # a table's column, by so many seconds, of which rows


@pytest_asyncio.fixture(params=["straight", "pooled", "files"])
async def kept(
    request: pytest.FixtureRequest, database: Database, pgbouncer: Database, tmp_path: Path
) -> AsyncIterator[Kept]:
    if request.param == "files":
        prepare(tmp_path / "workers")
        yield (made := Kept(FileDirectory(tmp_path / "workers", "AAAAAAAA"), partial(age_file, tmp_path)))
    else:
        reached = database if request.param == "straight" else replace(pgbouncer, database=database.database)
        yield (made := Kept(PostgresDirectory(reached.dsn), partial(age_database, database)))
    await made.directory.close()


@pytest.fixture
def directory(kept: Kept) -> Directory:
    return kept.directory


def age_database(database: Database, column: str, seconds: float, where: str) -> None:
    table, _, name = column.partition(".")
    changed = f"{name} = {name} - interval '{seconds} seconds'"
    database.run(f"UPDATE callgate_replicas.{table} SET {changed} WHERE {where}")


def age_file(folder: Path, column: str, seconds: float, where: str) -> None:
    table, _, name = column.partition(".")
    with closing(sqlite3.connect(folder / "workers" / "directory.db")) as found, found:
        found.execute(f"UPDATE {table} SET {name} = {name} - {seconds} WHERE {where}")


async def test_a_beat_tells_who_is_there(database: Database) -> None:
    directory = PostgresDirectory(database.dsn)
    await directory.beat(ME)
    await directory.beat(replace(ME, gateway="BBBBBBBB", state="leaving"))
    members = {member.said.gateway: member for member in await directory.members()}
    assert {name: member.said.state for name, member in members.items()} == {
        "AAAAAAAA": "serving",
        "BBBBBBBB": "leaving",
    }
    assert members["AAAAAAAA"].silent_s >= members["BBBBBBBB"].silent_s >= 0
    assert directory.own_host == "127.0.0.1"
    await directory.close()


async def test_many_replicas_make_the_tables_at_once(database: Database) -> None:
    directories = [PostgresDirectory(database.dsn) for _ in range(6)]
    await asyncio.gather(*(directory.beat(ME) for directory in directories))
    for directory in directories:
        await directory.close()


async def test_who_waited_while_another_made_the_tables_finds_them(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_directory, "_BEAT_LIMIT_S", 60.0)  # on a busy machine too
    making, late = await connect_to(database.dsn), await connect_to(database.dsn)
    # As a pooler hands it out: its server process did the same before, and remembers what it looked up.
    await late.execute(f"BEGIN; {postgres_directory._TABLES}; ROLLBACK")
    await making.execute(f"BEGIN; SELECT pg_advisory_xact_lock({postgres_directory._MAKING})")
    made = asyncio.create_task(postgres_directory._make_tables(late))

    async def waits() -> bool:
        return await making.fetchval(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        )

    await until(waits)
    await making.execute(f"{postgres_directory._TABLES}; COMMIT")
    await made
    await making.close()
    await late.close()


async def test_rows_that_somebody_else_wrote_do_not_hide_the_others(database: Database) -> None:
    directory = PostgresDirectory(database.dsn)
    await directory.beat(ME)
    columns = "gateway, address, seal, state, version, fingerprint, health, started_at, seen_at"
    database.run(
        f"INSERT INTO callgate_replicas.replicas ({columns}) VALUES"
        " ('ENDLESS1', '', '', 'serving', '1', 'f', NULL, 'infinity', now()),"
        " ('ENDLESS2', '', '', 'serving', '1', 'f', NULL, now(), '-infinity'),"
        " ('LONGtext', '', '', 'serving', '1', 'f', repeat('x', 1000000), now(), now())"
    )
    assert {member.said.gateway for member in await directory.members()} == {ME.gateway, "LONGtext"}
    assert len((await directory.reports())["LONGtext"]) < 100_000
    await directory.close()


async def test_a_role_that_may_not_create_is_told_what_it_needs(database: Database) -> None:
    name = f"user_{uuid.uuid4().hex[:8]}"
    database.run(f"CREATE ROLE {name} LOGIN PASSWORD 'plain-password'")
    guest = PostgresDirectory(replace(database, user=name, password="plain-password").dsn)
    with pytest.raises(DirectoryAwayError, match="its user needs CREATE on the database"):
        await guest.beat(ME)
    await guest.close()
    replicas = {"database": replace(database, user=name, password="plain-password").dsn}
    key = uuid.uuid4().hex
    config = Config.read(
        {"server": {"state_key": key}, "replicas": replicas, "record": {"store": "postgres"}}
    )
    with pytest.raises(DirectoryAwayError, match="its user needs CREATE on the database"):
        await look_at_replicas(config, key.encode())  # as the doctor does


async def test_the_first_who_adopts_a_session_has_it(directory: Directory) -> None:
    await directory.put([ROW])
    one = await directory.move("h1", "AAAAAAAA", "BBBBBBBB")
    other = await directory.move("h1", "AAAAAAAA", "CCCCCCCC")
    assert one is not None
    assert other is not None
    assert (one.home, other.home) == ("BBBBBBBB", "BBBBBBBB")
    # Its old home comes back and says what it has: the row stays where it is.
    await directory.put([ROW])
    found = await directory.home_of("h1")
    assert found is not None
    assert found.home == "BBBBBBBB"
    assert await directory.saw(["h1", "unknown"]) == [("h1", "BBBBBBBB")]


@pytest.mark.parametrize("change", [{"is_plain": False}, {"is_ended": True}])
async def test_what_is_bound_or_ended_is_adopted_by_nobody(
    directory: Directory, change: dict[str, bool]
) -> None:
    await directory.put([ROW])
    await directory.put([replace(ROW, **change)])
    await directory.put([ROW])
    found = await directory.move("h1", "AAAAAAAA", "BBBBBBBB")
    assert found == replace(ROW, **change)


async def test_a_modern_session_goes_on_within_its_gap_and_begins_anew_after_it(
    kept: Kept,
) -> None:
    directory = kept.directory
    first = HomeRow("m1", "before-the-border", "AAAAAAAA", "ann")
    later = HomeRow("m1", "after-the-border", "BBBBBBBB", "ann")
    assert await directory.claim(first, 1800, 2.0) == ("before-the-border", "AAAAAAAA")
    assert await directory.claim(later, 1800, 2.0) == ("before-the-border", "AAAAAAAA")
    kept.age("homes.seen_at", 31 * 60, "true")
    assert await directory.claim(later, 1800, 2.0) == ("after-the-border", "BBBBBBBB")


async def test_a_lease_has_one_holder_until_it_ends(kept: Kept) -> None:
    directory = kept.directory
    assert await directory.lease("upkeep", "AAAAAAAA", 30)
    assert await directory.lease("upkeep", "AAAAAAAA", 30)
    assert not await directory.lease("upkeep", "BBBBBBBB", 30)
    kept.age("leases.until", 31, "true")
    assert await directory.lease("upkeep", "BBBBBBBB", 30)


async def test_what_is_old_is_forgotten(kept: Kept) -> None:
    directory = kept.directory
    await directory.beat(ME)
    await directory.put([ROW, replace(ROW, key="h2")])
    kept.age("homes.seen_at", 2 * 86_400, "key = 'h1'")
    await directory.forget(86_400)
    assert await directory.home_of("h1") is None
    assert await directory.home_of("h2") is not None
    assert len(await directory.members()) == 1


async def test_a_directory_that_is_cut_off_or_hangs_says_so_and_comes_back(database: Database) -> None:
    with way_to(database.port) as way:
        directory = PostgresDirectory(replace(database, port=way.port).dsn)
        await directory.beat(ME)
        way.cut()
        with pytest.raises(DirectoryAwayError) as caught:
            await directory.beat(ME)
        assert database.password not in str(caught.value)
        way.restore()
        assert await directory.beat(ME)
        await directory.close()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections wait, and nobody takes them
        port = silent.getsockname()[1]
        directory = PostgresDirectory(replace(database, port=port).dsn)
        with pytest.raises(DirectoryAwayError, match="does not answer in time"):
            await directory.members()
        await directory.close()


async def test_who_has_little_time_does_not_wait_for_a_connection(database: Database) -> None:
    directory = PostgresDirectory(database.dsn)
    with pytest.raises(DirectoryAwayError):
        await directory.claim(ROW, 1800, 0.05)
    await directory.members()
    assert await directory.claim(ROW, 1800, 30.0) == ("session", "AAAAAAAA")
    await directory.close()


async def test_a_role_that_may_not_create_finds_the_tables_made(database: Database) -> None:
    owner = PostgresDirectory(database.dsn)
    await owner.beat(ME)
    await owner.close()
    name = f"user_{uuid.uuid4().hex[:8]}"
    database.run(f"CREATE ROLE {name} LOGIN PASSWORD 'plain-password'")
    database.run(f"GRANT USAGE ON SCHEMA callgate_replicas TO {name}")
    database.run(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA callgate_replicas TO {name}")
    guest = PostgresDirectory(replace(database, user=name, password="plain-password").dsn)
    assert len(await guest.beat(replace(ME, gateway="BBBBBBBB"))) == 2
    await guest.close()
