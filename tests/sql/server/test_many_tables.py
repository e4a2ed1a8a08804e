"""A schema of 5,000 tables: in pages, one table without a look at the others, near names by the engine."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
from databases.database import Database
from sql.conftest import Asker
from sql.network.conftest import address_of

from callgate.model.errors import CallerError
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings

COUNT = 5_000
PAGE = 2_000
NAMES = [f"invoice_{number:04d}" for number in range(COUNT)]


def _make(server: Database) -> None:
    """No file is synced, and MariaDB makes none for the rows: seconds instead of a minute."""
    if server.scheme == "postgresql":
        server.run("CREATE SCHEMA many")
        _in_parts(server, "CREATE TABLE many.%I (id int, note char(9))")
        return
    if server.flavour == "mariadb":
        server.run("SET GLOBAL sync_frm = 0")
    server.run("CREATE DATABASE many")
    for first in range(0, COUNT, 500):  # MySQL takes a minute for all
        names = NAMES[first : first + 500]
        server.run(
            "".join(f"CREATE TABLE many.{name} (id int, note char(9)) ENGINE=MEMORY;\n" for name in names)
        )


def _in_parts(server: Database, statement: str) -> None:
    """PostgreSQL locks each table until the transaction ends, and has room for some thousands of locks."""
    for first in range(0, COUNT, 1_000):
        server.run(
            f"DO $$ BEGIN FOR number IN {first}..{first + 999} LOOP"
            f" EXECUTE format('{statement}', 'invoice_' || lpad(number::text, 4, '0')); END LOOP; END $$"
        )


@pytest.fixture(scope="module", params=["mariadb", "postgres"])
def many(request: pytest.FixtureRequest) -> Iterator[Database]:
    server = request.getfixturevalue(request.param)
    _make(server)
    yield server
    if server.scheme == "postgresql":
        _in_parts(server, "DROP TABLE many.%I")
    server.run("DROP DATABASE many" if server.scheme == "mysql" else "DROP SCHEMA many")


@pytest.fixture
async def it(many: Database) -> AsyncIterator[Asker]:
    engine = "mysql" if many.scheme == "mysql" else "postgres"
    server = open_source(SourceSettings("it", engine, server=address_of(many)))
    try:
        yield Asker(server)
    finally:
        await server.close()


def _scheme(it: Asker) -> str:
    return "mysql" if it.server.policy.dialect.name == "mysql" else "postgres"


def _opened(server: Database) -> int:
    """How many tables the server opened since it started."""
    return int(server.run("SHOW GLOBAL STATUS LIKE 'Opened_tables'").split()[1])


async def test_the_resource_and_the_page_of_a_schema_go_on_where_the_page_before_ended(it: Asker) -> None:
    uri: str | None = f"{_scheme(it)}://many"
    read: list[str] = []
    lengths: list[int] = []
    while uri is not None:
        shape, markdown = await it.read(uri)
        assert shape["tableCount"] == COUNT
        lengths.append(len(shape["tables"]))
        read += [table["name"] for table in shape["tables"]]
        following = re.search(r"Read (\S+\?offset=\d+) for the next ones", markdown)
        uri = following[1] if following else None
        assert ("nextOffset" in shape) == (uri is not None)
    assert (read, lengths) == (NAMES, [PAGE, PAGE, COUNT - 2 * PAGE])
    listed = await it.server.schema.tables("many", PAGE)
    assert [table.name for table in listed.tables] == NAMES[PAGE : 2 * PAGE]
    assert (listed.total, listed.next_offset) == (COUNT, 2 * PAGE)
    last = await it.server.schema.tables("many", 2 * PAGE)
    assert (len(last.tables), last.next_offset) == (COUNT - 2 * PAGE, None)
    assert (await it.server.schema.tables("many", 9_000)).tables == []


async def test_a_search_goes_through_tables_and_then_columns_page_by_page(it: Asker) -> None:
    asked = {"pattern": "*", "database": "many", "limit": 500}
    tables, columns, offset = [], 0, 4_000
    while len(tables) < 1_000 or columns < 600:
        found = (await it.call("search_objects", **asked, offset=offset)).structured
        offset = found["nextOffset"]
        tables += [one["name"] for one in found["objects"] if one["type"] == "table"]
        columns += sum(one["type"] == "column" for one in found["objects"])
    assert tables == NAMES[4_000:]
    last = await it.call("search_objects", **asked, offset=COUNT * 3 - 1)
    (entry,) = last.structured["objects"]
    assert (entry["type"], entry["table"], entry["name"]) == ("column", NAMES[-1], "note")
    assert "nextOffset" not in last.structured
    assert "There are no more." in (await it.call("search_objects", **asked, offset=COUNT * 3)).text


async def test_one_table_is_described_without_opening_the_others(it: Asker, many: Database) -> None:
    await it.server.schema.table("many", NAMES[0])
    before = _opened(many) if many.flavour == "mariadb" else 0
    described, _ = await it.read(f"{_scheme(it)}://many/{NAMES[3_210]}")
    shown = await it.server.schema.table("many", NAMES[3_211].upper())
    assert (described["table"]["name"], shown.table.name) == (NAMES[3_210], NAMES[3_211])
    if many.flavour == "mariadb":
        assert _opened(many) - before < 20


async def test_a_page_opens_the_tables_of_that_page_alone(it: Asker, many: Database) -> None:
    if many.flavour != "mariadb":
        pytest.skip("only MariaDB opens tables to tell of them")
    before = _opened(many)
    await it.server.schema.tables("many", 2 * PAGE)
    assert _opened(many) - before <= COUNT - 2 * PAGE + 20


@pytest.mark.parametrize("wanted", ["invoice_4821x", "invoce_4821"])
async def test_near_names_are_asked_of_the_engine(it: Asker, wanted: str) -> None:
    with pytest.raises(CallerError) as resource:
        await it.read(f"{_scheme(it)}://many/{wanted}")
    with pytest.raises(CallerError) as page:
        await it.server.schema.table("many", wanted)
    queried = await it.query(f"SELECT * FROM many.{wanted}")
    for told in (resource.value.hint, page.value.hint, queried.text):
        assert "invoice_4821" in (told or "")


async def test_a_name_that_was_begun_is_completed_from_all(it: Asker) -> None:
    template = f"{_scheme(it)}://{{database}}/{{table}}"
    reference = {"type": "ref/resource", "uri": template}
    asked = {"ref": reference, "argument": {"name": "table", "value": "INVOICE_499"}}
    raw, _ = await it.send("completion/complete", asked | {"context": {"arguments": {"database": "many"}}})
    assert raw["completion"] == {"values": NAMES[4_990:], "total": 10, "hasMore": False}


@pytest.fixture
async def plain(many: Database) -> AsyncIterator[Asker]:
    """An account without PROCESS: InnoDB tells it of no key. Who may only SELECT is told of none at all."""
    if many.flavour != "mariadb":
        pytest.skip("only MariaDB opens tables to tell of them")
    many.run("CREATE USER plain@'%' IDENTIFIED BY 'plain'; GRANT SELECT, INSERT ON many.* TO plain@'%'")
    address = replace(address_of(many), user="plain", password="plain", database="many")
    server = open_source(SourceSettings("it", "mysql", server=address))
    try:
        yield Asker(server)
    finally:
        await server.close()
        many.run("DROP USER plain@'%'")


async def test_an_account_without_process_waits_for_the_keys_of_all_tables_once(
    plain: Asker, many: Database
) -> None:
    many.run(
        "CREATE TABLE many.child (id int PRIMARY KEY, up int, FOREIGN KEY (up) REFERENCES many.child (id))"
        " ENGINE=InnoDB"
    )
    try:
        shown = await plain.server.schema.table("many", "child")
        before = _opened(many)
        again = await plain.server.schema.table("many", "child")
        await plain.server.schema.table("many", NAMES[7])
        assert _opened(many) - before < 20
    finally:
        many.run("DROP TABLE many.child")
    assert [key.other_table for key in shown.referenced_by] == ["child"]
    assert again.referenced_by == shown.referenced_by


async def test_a_search_for_tables_opens_those_that_it_shows_alone(plain: Asker, many: Database) -> None:
    asked = {"pattern": "invoice_12*", "object_type": "table", "detail_level": "summary"}
    before = _opened(many)
    found = (await plain.call("search_objects", **asked)).structured
    assert [one["name"] for one in found["objects"]] == NAMES[1_200:1_300]
    assert _opened(many) - before < 120
