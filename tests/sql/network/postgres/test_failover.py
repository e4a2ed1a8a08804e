"""A primary and its standby, and what happens when the one dies and the other takes its place."""

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from databases.database import Database
from databases.postgres import postgres_server, standby_of
from sql.network.conftest import Source, address_of, open_driver
from waiting import until

from callgate.model.errors import CallgateError, SourceError
from callgate.sql.settings import Mode, ServerAddress


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Database, Database]]:
    with postgres_server("wal_level=replica", "max_wal_senders=4") as primary:
        primary.run("CREATE TABLE kept (id int PRIMARY KEY)")
        with standby_of(primary) as standby:
            yield primary, standby


def address_of_both(primary: Database, standby: Database, attrs: str) -> ServerAddress:
    """The standby first, so that the order alone does not find the primary."""
    others = ((primary.host, primary.port),)
    return replace(address_of(standby), others=others, session_attrs=attrs, connect_timeout_s=30.0)


async def test_each_kind_of_server_is_found_by_its_role(pair: tuple[Database, Database]) -> None:
    primary, standby = pair
    roles = {"primary": primary, "read-write": primary, "standby": standby, "prefer-standby": standby}
    for attrs, server in roles.items():
        async with open_driver(primary, address=address_of_both(*pair, attrs)) as source:
            assert await source.cell("SELECT inet_server_port()") == server.port


async def write(source: Source, number: int) -> None:
    await source.run(f"INSERT INTO kept VALUES ({number})", is_write=True)


async def test_writes_go_on_at_the_standby_once_it_is_promoted(pair: tuple[Database, Database]) -> None:
    """The last test of this file: the primary is gone afterwards."""
    primary, standby = pair
    address = address_of_both(*pair, "primary")
    async with open_driver(primary, address=address, mode=Mode.WRITE, pool_size=4) as source:
        await asyncio.gather(*(write(source, number) for number in range(8)))
        await until(lambda: standby.run("SELECT count(*) FROM kept") == "8")
        pid = (Path(primary.run("SHOW data_directory")) / "postmaster.pid").read_text().split()[0]
        os.kill(int(pid), signal.SIGQUIT)  # as a crash: every session ends at once
        await until(lambda: _is_down(source))
        assert "not of the kind" in (source.driver.trouble() or "")
        standby.run("SELECT pg_promote()")
        await until(lambda: _writes(source, 100))
        assert await source.cell("SELECT inet_server_port()") == standby.port
        assert source.driver.trouble() is None
    assert standby.run("SELECT count(*) FROM kept WHERE id < 100") == "8"
    assert standby.run("SELECT count(*) FROM kept WHERE id = 100") == "1"


async def _is_down(source: Source) -> bool:
    """Connections that are lost show one by one; then no primary is there."""
    try:
        await source.run("SELECT 7")
    except SourceError:
        return source.driver.trouble() is not None
    return False


async def _writes(source: Source, number: int) -> bool:
    try:
        await write(source, number)
    except CallgateError:
        return False
    return True
