"""What a source offers, the same on every engine: schema, search, explain, own tools, working examples."""

import re
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from typing import Protocol

import duckdb
import pytest
from databases.database import Database
from sql.conftest import Asker

from callgate.model.errors import CallerError
from callgate.sql.server.arguments import Parameter
from callgate.sql.server.custom_tools import ToolSettings
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import ServerAddress, SourceSettings, Tls, TlsMode

TABLES = """
CREATE TABLE cat.parents (a INTEGER NOT NULL, b VARCHAR(20) NOT NULL, PRIMARY KEY (a, b));
CREATE TABLE cat.kids (
    id INTEGER PRIMARY KEY,
    a INTEGER, b VARCHAR(20),
    amount DECIMAL(10, 2) NOT NULL,
    code INTEGER UNIQUE,
    FOREIGN KEY (a, b) REFERENCES cat.parents (a, b) ON DELETE CASCADE
);
CREATE INDEX kids_by_amount ON cat.kids (amount, code);
CREATE VIEW cat.totals AS SELECT a, sum(amount) AS total FROM cat.kids GROUP BY a;
INSERT INTO cat.parents VALUES (1, 'x'), (2, 'y');
INSERT INTO cat.kids VALUES (1, 1, 'x', 12.50, 7), (2, 1, 'x', 3.25, 8), (3, 2, 'y', 1.00, NULL);
"""
KIDS_OF = ToolSettings(
    "kids_of",
    "SELECT id, amount FROM cat.kids WHERE a = :a AND b = :b AND amount > :least ORDER BY id",
    "The kids of one parent",
    (
        Parameter("a", "integer", required=True),
        Parameter("b", "string", required=True),
        Parameter("least", "number", default=0.0),
    ),
)
ENGINES = ("mysql", "postgres", "sqlite", "duckdb")
PRIMARY = {"mysql": "PRIMARY", "postgres": "kids_pkey", "sqlite": "PRIMARY", "duckdb": "kids_id_pkey"}


def _address(server: Database) -> ServerAddress:
    where = (server.host, server.port, server.user, server.password, server.database)
    return ServerAddress(*where, tls=Tls(TlsMode.OFF))


class OpenSource(Protocol):
    def __call__(self, tools: Sequence[ToolSettings] = ()) -> AbstractAsyncContextManager[Asker]: ...


@pytest.fixture(scope="module", params=ENGINES)
def settings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SourceSettings]:
    engine = request.param
    path = tmp_path_factory.mktemp("engines") / f"{engine}.db"
    if engine in ("mysql", "postgres"):
        server = request.getfixturevalue("mariadb" if engine == "mysql" else "postgres")
        schema = "DATABASE" if engine == "mysql" else "SCHEMA"
        server.run(f"CREATE {schema} cat;" + TABLES)
        yield SourceSettings("it", engine, server=_address(server), require_qualified=True)
        server.run(f"DROP {schema} cat" + ("" if engine == "mysql" else " CASCADE"))
    elif engine == "sqlite":
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(TABLES.replace("cat.", ""))
        yield SourceSettings("it", engine, path, schema="cat")
    else:
        with closing(duckdb.connect(path)) as connection:
            connection.execute("CREATE SCHEMA cat;" + TABLES.replace(" ON DELETE CASCADE", ""))
        yield SourceSettings("it", engine, path)


@pytest.fixture
def source(settings: SourceSettings) -> OpenSource:
    @asynccontextmanager
    async def open_it(tools: Sequence[ToolSettings] = ()) -> AsyncIterator[Asker]:
        server = open_source(settings, tools)
        try:
            yield Asker(server)
        finally:
            await server.close()

    return open_it


async def test_databases_and_tables_are_listed_without_the_engines_own(
    source: OpenSource, settings: SourceSettings
) -> None:
    scheme = settings.engine
    async with source() as it:
        listed, _ = await it.send("resources/list", {})
        databases, markdown = await it.read(f"{scheme}://databases")
        database, _ = await it.read(f"{scheme}://cat")
    uris = [entry["uri"] for entry in listed["resources"]]
    assert uris[0] == f"{scheme}://databases"
    assert f"{scheme}://cat" in uris
    names = [entry["name"] for entry in databases["databases"]]
    hidden = {"information_schema", "pg_catalog", "mysql", "sys", "performance_schema", "pg_toast"}
    assert not hidden & set(names)
    assert databases["totalCount"] == len(names) == len(uris) - 1
    (entry,) = [entry for entry in databases["databases"] if entry["name"] == "cat"]
    assert entry["tableCount"] == 3
    assert entry["defaultCharacterSet"].lower().startswith("utf")
    assert "| cat |" in markdown
    assert [(table["name"], table["type"]) for table in database["tables"]] == [
        ("kids", "BASE TABLE"),
        ("parents", "BASE TABLE"),
        ("totals", "VIEW"),
    ]


async def test_a_tables_columns_keys_and_rules(source: OpenSource, settings: SourceSettings) -> None:
    async with source() as it:
        kids, markdown = await it.read(f"{settings.engine}://cat/kids")
        parents, _ = await it.read(f"{settings.engine}://cat/parents")
    columns = {column["name"]: column for column in kids["columns"]}
    assert [column["ordinalPosition"] for column in kids["columns"]] == [1, 2, 3, 4, 5]
    keys = {name: column["columnKey"] for name, column in columns.items()}
    assert (keys["id"], keys["code"], keys["amount"]) == ("PRI", "UNI", "MUL")
    assert [column["columnKey"] for column in parents["columns"]] == ["PRI", "PRI"]
    assert re.sub(r"\s", "", columns["amount"]["columnType"].lower()) in ("decimal(10,2)", "numeric(10,2)")
    assert (columns["amount"]["isNullable"], columns["a"]["isNullable"]) == (False, True)
    indexes = {index["name"]: index for index in kids["indexes"]}
    assert indexes["kids_by_amount"]["columns"] == ["amount", "code"]
    assert indexes["kids_by_amount"]["unique"] is False
    assert (indexes[PRIMARY[settings.engine]]["columns"], indexes[PRIMARY[settings.engine]]["unique"]) == (
        ["id"],
        True,
    )
    (foreign_key,) = kids["foreignKeys"]
    assert (foreign_key["columns"], foreign_key["referencedTable"]) == (["a", "b"], "parents")
    assert foreign_key["referencedColumns"] == ["a", "b"]
    expected = "NO ACTION" if settings.engine == "duckdb" else "CASCADE"
    assert foreign_key["onDelete"] == expected
    assert "| parents (a, b) |" in markdown


async def test_names_are_completed_and_unknown_ones_told_the_nearest(
    source: OpenSource, settings: SourceSettings
) -> None:
    template = f"{settings.engine}://{{database}}/{{table}}"
    params = {
        "ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": "table", "value": "k"},
        "context": {"arguments": {"database": "cat"}},
    }
    async with source() as it:
        completed, _ = await it.send("completion/complete", params)
        with pytest.raises(CallerError) as caught:
            await it.read(f"{settings.engine}://cat/kidz")
    assert completed["completion"]["values"] == ["kids"]
    assert "Did you mean kids?" in caught.value.hint


async def test_objects_are_found(source: OpenSource) -> None:
    async with source() as it:
        tables = await it.call("search_objects", pattern="KID", object_type="table", database="cat")
        columns = await it.call(
            "search_objects", pattern="am*", object_type="column", database="cat", detail_level="summary"
        )
        full = await it.call("search_objects", pattern="kids", object_type="table", detail_level="full")
        injected = await it.call("search_objects", pattern="' OR '1'='1")
    assert [entry["name"] for entry in tables.structured["objects"]] == ["kids"]
    (amount,) = columns.structured["objects"]
    assert (amount["table"], amount["name"], amount["isNullable"]) == ("kids", "amount", False)
    assert full.structured["objects"][0]["foreignKeys"][0]["referencedTable"] == "parents"
    assert injected.structured["objects"] == []


async def test_a_query_is_explained(source: OpenSource) -> None:
    async with source() as it:
        plan = await it.call("explain", query="SELECT * FROM cat.kids WHERE id = 1")
        refused = await it.call("explain", query="DELETE FROM cat.kids")
        several = await it.call("explain", query="SELECT 1; SELECT 2")
    assert not plan.is_error, plan.text
    assert plan.structured["rowCount"] >= 1
    assert plan.facts.statement_type == "EXPLAIN"
    assert refused.code == "refused.read_only"
    assert several.code == "refused.forbidden"


async def test_values_of_own_tools_are_bound_by_the_engine(source: OpenSource) -> None:
    async with source([KIDS_OF]) as it:
        found = await it.call("kids_of", a=1, b="x")
        fewer = await it.call("kids_of", a=1, b="x", least=5)
        injected = await it.call("kids_of", a=1, b="x' OR '1'='1")
    assert not found.is_error, found.text
    assert [row[0] for row in found.structured["rows"]] == [1, 2]
    assert [row[0] for row in fewer.structured["rows"]] == [1]
    assert injected.structured["rows"] == []


async def test_every_example_of_the_description_works(source: OpenSource) -> None:
    async with source() as it:
        description = (await it.tools())["query"]["description"]
        lines = description.partition("**Examples**:\n")[2].partition("\n\n")[0].splitlines()
        examples = [line.partition(": ")[2] for line in lines]
        assert len(examples) >= 4
        for example in examples:
            answer = await it.query(example.replace("database_name", "cat"))
            assert not answer.is_error, f"{example}: {answer.text}"


async def test_kinds_of_tables_have_their_names_on_postgresql(postgres: Database) -> None:
    postgres.run(
        "DROP SCHEMA IF EXISTS kinds CASCADE; CREATE SCHEMA kinds; CREATE TABLE kinds.plain (a int);"
        "CREATE MATERIALIZED VIEW kinds.kept AS SELECT 1 AS a;"
        "CREATE TABLE kinds.parts (a int) PARTITION BY LIST (a);"
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw;"
        "CREATE SERVER IF NOT EXISTS far FOREIGN DATA WRAPPER postgres_fdw;"
        "CREATE FOREIGN TABLE kinds.away (a int) SERVER far"
    )
    source = open_source(SourceSettings("kinds", "postgres", server=_address(postgres)))
    try:
        read, _ = await Asker(source).read("postgres://kinds")
        found = await Asker(source).call(
            "search_objects", database="kinds", object_type="table", detail_level="summary"
        )
    finally:
        await source.close()
        postgres.run("DROP SCHEMA kinds CASCADE; DROP SERVER far; DROP EXTENSION postgres_fdw")
    kinds = {
        "away": "FOREIGN TABLE",
        "kept": "MATERIALIZED VIEW",
        "parts": "PARTITIONED TABLE",
        "plain": "BASE TABLE",
    }
    assert {table["name"]: table["type"] for table in read["tables"]} == kinds
    assert {one["name"]: one["kind"].upper() for one in found.structured["objects"]} == kinds
    assert "materialized view" in found.text
