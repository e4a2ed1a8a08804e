"""The directory in a real PostgreSQL, straight and through a pooler in transaction mode."""

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from databases.database import Database
from stores.postgres.way import way_to

from callgate.replicas.directory import Announcement, DirectoryAwayError, HomeRow
from callgate.replicas.postgres_directory import PostgresDirectory

ME = Announcement("AAAAAAAA", "10.0.0.1:7421", "s", "serving", "1", "f")
ROW = HomeRow("h1", "session", "AAAAAAAA", "ann", "{}")


@pytest.fixture
def database(postgres: Database) -> Database:
    name = f"directory_{uuid.uuid4().hex[:12]}"
    postgres.run(f"CREATE DATABASE {name}")
    return replace(postgres, database=name)


@pytest_asyncio.fixture(params=["straight", "pooled"])
async def directory(
    request: pytest.FixtureRequest, database: Database, pgbouncer: Database
) -> AsyncIterator[PostgresDirectory]:
    reached = database if request.param == "straight" else replace(pgbouncer, database=database.database)
    made = PostgresDirectory(reached.dsn)
    yield made
    await made.close()


async def test_a_beat_tells_who_is_there(directory: PostgresDirectory) -> None:
    await directory.beat(ME)
    await directory.beat(replace(ME, gateway="BBBBBBBB", state="leaving"))
    members = {member.said.gateway: member for member in await directory.members()}
    assert {name: member.said.state for name, member in members.items()} == {
        "AAAAAAAA": "serving",
        "BBBBBBBB": "leaving",
    }
    assert members["AAAAAAAA"].silent_s >= members["BBBBBBBB"].silent_s >= 0
    assert directory.own_host == "127.0.0.1"


async def test_many_replicas_make_the_tables_at_once(database: Database) -> None:
    directories = [PostgresDirectory(database.dsn) for _ in range(6)]
    await asyncio.gather(*(directory.beat(ME) for directory in directories))
    for directory in directories:
        await directory.close()


async def test_the_first_who_adopts_a_session_has_it(directory: PostgresDirectory) -> None:
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
    directory: PostgresDirectory, change: dict[str, bool]
) -> None:
    await directory.put([ROW])
    await directory.put([replace(ROW, **change)])
    await directory.put([ROW])
    found = await directory.move("h1", "AAAAAAAA", "BBBBBBBB")
    assert found == replace(ROW, **change)


async def test_a_modern_session_goes_on_within_its_gap_and_begins_anew_after_it(
    directory: PostgresDirectory, database: Database
) -> None:
    first = HomeRow("m1", "before-the-border", "AAAAAAAA", "ann")
    later = HomeRow("m1", "after-the-border", "BBBBBBBB", "ann")
    assert await directory.claim(first, 1800, 2.0) == ("before-the-border", "AAAAAAAA")
    assert await directory.claim(later, 1800, 2.0) == ("before-the-border", "AAAAAAAA")
    database.run("UPDATE callgate_replicas.homes SET seen_at = now() - interval '31 minutes'")
    assert await directory.claim(later, 1800, 2.0) == ("after-the-border", "BBBBBBBB")


async def test_a_lease_has_one_holder_until_it_ends(directory: PostgresDirectory, database: Database) -> None:
    assert await directory.lease("upkeep", "AAAAAAAA", 30)
    assert await directory.lease("upkeep", "AAAAAAAA", 30)
    assert not await directory.lease("upkeep", "BBBBBBBB", 30)
    database.run("UPDATE callgate_replicas.leases SET until = now() - interval '1 second'")
    assert await directory.lease("upkeep", "BBBBBBBB", 30)


async def test_what_is_old_is_forgotten(directory: PostgresDirectory, database: Database) -> None:
    await directory.beat(ME)
    await directory.put([ROW, replace(ROW, key="h2")])
    database.run("UPDATE callgate_replicas.homes SET seen_at = now() - interval '2 days' WHERE key = 'h1'")
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
