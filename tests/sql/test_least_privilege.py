"""The accounts of docs/databases: what a page tells an operator to run works, is enough, not too much."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from databases.database import Database
from sql.conftest import Asker

from callgate.sql.server.open_source import open_source
from callgate.sql.settings import Mode, ServerAddress, SourceSettings, Tls, TlsMode

PAGES = Path(__file__).parents[2] / "docs" / "databases"
BLOCK = re.compile(r"<!-- run: (\w+) (\w+) -->\n```sql\n(.*?)```", re.DOTALL)
# Names of this test's own: the servers are shared.
STATEMENTS = {
    (engine, mode): re.sub(r"\bagent\b", "lp_agent", re.sub(r"\bshop\b", "lp_shop", text))
    for engine, mode, text in BLOCK.findall("".join(page.read_text() for page in PAGES.glob("*.md")))
}
PASSWORD = "a long random password"


def test_the_pages_have_statements_for_both_servers_and_modes() -> None:
    assert set(STATEMENTS) == {(e, m) for e in ("mysql", "postgres") for m in ("read_only", "write")}


@pytest.fixture(params=["mysql", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, Callable[[str], str], ServerAddress]]:
    """An engine, a way to run statements as its administrator, and where the account is to log in."""
    engine = request.param
    server: Database = request.getfixturevalue("mariadb" if engine == "mysql" else "postgres")
    database = "lp_shop" if engine == "mysql" else "lp_database"
    where = (server.host, server.port, "lp_agent", PASSWORD, database)
    # MySQL takes the password over a private line only.
    socket = server.socket if server.flavour == "mysql" else None
    address = ServerAddress(*where, socket=socket, tls=Tls(TlsMode.OFF))
    if engine == "mysql":
        server.run("CREATE DATABASE lp_shop")
        yield engine, server.run, address
        server.run("DROP DATABASE lp_shop; DROP USER lp_agent@'%'")
    else:
        # What other tests grant to PUBLIC in the shared database is not this account's.
        server.run("CREATE DATABASE lp_database")
        server.run("CREATE SCHEMA lp_shop", database=database)
        yield engine, partial(server.run, database=database), address
        server.run("DROP DATABASE lp_database WITH (FORCE)")
        server.run("DROP ROLE lp_agent")


@asynccontextmanager
async def opened(engine: str, address: ServerAddress, mode: Mode) -> AsyncIterator[Asker]:
    source = open_source(SourceSettings("it", engine, server=address, mode=mode))
    try:
        yield Asker(source)
    finally:
        await source.close()


async def test_the_account_is_enough_and_not_too_much(
    place: tuple[str, Callable[[str], str], ServerAddress],
) -> None:
    engine, run, address = place
    run("CREATE TABLE lp_shop.orders (id INT PRIMARY KEY)")
    run("INSERT INTO lp_shop.orders VALUES (1)")
    run(STATEMENTS[engine, "read_only"])
    run("CREATE VIEW lp_shop.later AS SELECT id FROM lp_shop.orders")
    async with opened(engine, address, Mode.READ_ONLY) as it:
        posture = await it.server.posture()
        for sql in ("SELECT * FROM lp_shop.orders", "EXPLAIN SELECT * FROM lp_shop.later"):
            assert not (answer := await it.query(sql)).is_error, answer.text
        resource, _ = await it.read(f"{engine}://lp_shop/orders")
    assert posture.warnings == ()
    assert resource["table"]["name"] == "orders"
    async with opened(engine, address, Mode.WRITE) as it:
        refused = await it.query("INSERT INTO lp_shop.orders VALUES (2)")
    assert refused.code == "source.access_denied"
    run(STATEMENTS[engine, "write"])
    async with opened(engine, address, Mode.WRITE) as it:
        written = await it.query("INSERT INTO lp_shop.orders VALUES (3)")
        assert not written.is_error, written.text
        assert (await it.server.posture()).warnings == ()
    assert run("SELECT count(*) FROM lp_shop.orders") == "2"
