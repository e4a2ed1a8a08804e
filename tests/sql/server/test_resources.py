"""Resources of a SQLite source: the seed's shapes, addresses, completion, errors that name the nearest."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sql.conftest import Asker, OpenShop

from callgate.model.errors import CallerError
from callgate.sql.server.resource_uris import ResourceTarget, ResourceUris

TABLE_TEMPLATE = "sqlite://{database}/{table}"


async def complete(
    source: Asker, argument: str, value: str, template: str = TABLE_TEMPLATE, **context: str
) -> dict[str, Any]:
    params = {
        "ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": argument, "value": value},
        "context": {"arguments": context},
    }
    raw, _ = await source.send("completion/complete", params)
    return raw["completion"]


async def test_the_list_names_databases_and_the_templates_reach_tables(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        listed, _ = await source.send("resources/list", {})
        templates, _ = await source.send("resources/templates/list", {})
    assert [(entry["uri"], entry["name"]) for entry in listed["resources"]] == [
        ("sqlite://databases", "All Databases"),
        ("sqlite://shop", "Database: shop"),
    ]
    uris = [entry["uriTemplate"] for entry in templates["resourceTemplates"]]
    assert uris == ["sqlite://{database}", TABLE_TEMPLATE]


async def test_a_file_without_a_schema_name_is_called_main(opened: OpenShop) -> None:
    async with opened() as source:
        structured, _ = await source.read("sqlite://main/orders")
    assert structured["table"]["database"] == "main"


async def test_all_databases(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        structured, markdown = await source.read("sqlite://databases")
    assert structured == {
        "databases": [
            {
                "name": "shop",
                "defaultCharacterSet": "UTF-8",
                "defaultCollation": "BINARY",
                "tableCount": 5,
            }
        ],
        "totalCount": 1,
    }
    assert "| shop | UTF-8 | BINARY | 5 |" in markdown


async def test_one_database(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        structured, markdown = await source.read("sqlite://shop")
    assert structured["database"] == {"name": "shop", "characterSet": "UTF-8", "collation": "BINARY"}
    assert structured["tableCount"] == len(structured["tables"]) == 5
    by_name = {table["name"]: table for table in structured["tables"]}
    assert by_name["orders"] == {
        "name": "orders",
        "type": "BASE TABLE",
        "engine": "SQLite",
        "rowCount": 1450,
        "dataLength": None,
        "indexLength": None,
        "comment": "",
    }
    assert by_name["order_totals"]["type"] == "VIEW"
    assert markdown.startswith("# Database: shop\n")


async def test_one_table(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        structured, markdown = await source.read("sqlite://shop/order_items")
    assert (structured["table"]["name"], structured["table"]["rowCount"]) == ("order_items", 3097)
    price = structured["columns"][4]
    assert price == {
        "name": "unit_price",
        "ordinalPosition": 5,
        "dataType": "decimal",
        "columnType": "DECIMAL(10, 2)",
        "isNullable": False,
        "columnKey": "",
        "defaultValue": None,
        "extra": "",
        "comment": "",
        "characterSet": None,
        "collation": None,
    }
    assert [(column["name"], column["columnKey"]) for column in structured["columns"][:3]] == [
        ("id", "PRI"),
        ("order_id", "MUL"),
        ("product_id", "MUL"),
    ]
    assert {
        "name": "order_items_by_order",
        "unique": False,
        "columns": ["order_id"],
        "indexType": "BTREE",
        "comment": "",
    } in structured["indexes"]
    by_column = {key["columns"][0]: key for key in structured["foreignKeys"]}
    assert by_column["order_id"] | {"name": "x"} == {
        "name": "x",
        "columns": ["order_id"],
        "referencedTable": "orders",
        "referencedColumns": ["id"],
        "onUpdate": "NO ACTION",
        "onDelete": "CASCADE",
    }
    assert "## Foreign keys" in markdown
    assert "| orders (id) | NO ACTION | CASCADE |" in markdown


async def test_unusual_tables_are_described_too(opened: OpenShop, tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE "a/b %c|d" (x, y TEXT NOT NULL UNIQUE, z AS (x + 1), PRIMARY KEY (x, y))
            WITHOUT ROWID;
            CREATE TABLE "child" (p, q, FOREIGN KEY (p, q) REFERENCES "a/b %c|d");
            CREATE UNIQUE INDEX partial ON child (lower(q)) WHERE p > 1;
            CREATE VIRTUAL TABLE words USING fts5(body);
        """)
    async with opened(path) as source:
        database, _ = await source.read("sqlite://main")
        odd, markdown = await source.read("sqlite://main/a%2Fb%20%25c%7Cd")
        child, _ = await source.read("sqlite://main/child")
    assert [table["name"] for table in database["tables"]] == ["a/b %c|d", "child", "words"]
    assert (odd["table"]["rowFormat"], odd["columns"][2]["extra"]) == ("WITHOUT ROWID", "VIRTUAL GENERATED")
    assert [column["columnKey"] for column in odd["columns"]] == ["PRI", "PRI", ""]
    assert markdown.startswith("# Table: main.a/b %c|d")
    assert child["foreignKeys"][0]["referencedColumns"] == ["x", "y"]
    assert child["indexes"][0] == {
        "name": "partial",
        "unique": True,
        "columns": ["(expression)"],
        "indexType": "BTREE",
        "comment": "partial",
    }


async def test_case_does_not_matter_as_long_as_it_is_clear(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        structured, _ = await source.read("sqlite://SHOP/Orders")
    assert structured["table"]["name"] == "orders"


@pytest.mark.parametrize(
    ("uri", "message", "hint"),
    [
        ("sqlite://shp", "Database 'shp' does not exist", "Did you mean shop? Read sqlite://databases"),
        ("sqlite://shop/custmers", "Table 'custmers' does not exist in shop", "Did you mean customers"),
        ("sqlite://nowhere/orders", "Database 'nowhere' does not exist", "Read sqlite://databases"),
        ("sqlite://shop/a/b", "Resource not found", "sqlite://{database}/{table}"),
        ("sqlite://", "Resource not found", "sqlite://databases"),
        ("sqlite://shop/%ff", "Resource not found", "percent-encoded"),
        ("mysql://shop", "Resource not found", "sqlite://databases"),
        ("sqlite://shop/' OR 1=1 --", "does not exist in shop", "Read sqlite://shop"),
    ],
)
async def test_an_unknown_address_is_told_the_nearest(
    opened: OpenShop, uri: str, message: str, hint: str
) -> None:
    async with opened(schema="shop") as source:
        with pytest.raises(CallerError) as caught:
            await source.read(uri)
    assert caught.value.code.code == "caller.unknown_resource"
    assert caught.value.data == {"uri": uri}
    assert message in caught.value.message
    assert hint in caught.value.hint


async def test_names_are_completed(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        assert (await complete(source, "database", "s"))["values"] == ["shop"]
        tables = await complete(source, "table", "ORDER", database="shop")
        anywhere = await complete(source, "table", "prod")
        nothing = await complete(source, "table", "zzz", database="shop")
        other = await complete(source, "column", "")
        with pytest.raises(CallerError):
            await complete(source, "table", "", template="other://{x}")
    assert tables == {"values": ["order_items", "order_totals", "orders"], "total": 3, "hasMore": False}
    assert anywhere["values"] == ["products"]
    assert nothing["values"] == other["values"] == []


async def test_no_more_than_a_hundred_completions_are_sent(opened: OpenShop, tmp_path: Path) -> None:
    path = tmp_path / "wide.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("".join(f"CREATE TABLE t{number} (a);" for number in range(120)))
    async with opened(path, max_rows=5, character_limit=2_000) as source:
        completion = await complete(source, "table", "t", database="main")
        structured, _ = await source.read("sqlite://main")
    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 120, True)
    assert structured["tableCount"] == 120, "the limits of results are not those of the schema"


def test_several_sources_of_a_kind_have_schemes_of_their_own() -> None:
    uris = ResourceUris("mysql", "my_shop", has_siblings=True)
    assert uris.all_databases == "mysql+my.shop://databases"
    assert uris.read("mysql+my.shop://a/b") == ResourceTarget("a", "b")
    assert uris.read("mysql://a/b") == ResourceTarget("a", "b")
    assert uris.read("mysql+other://a/b") is None


def test_a_database_called_databases_has_an_address_too() -> None:
    uris = ResourceUris("mysql", "x")
    assert uris.of_database("databases") == "mysql://%64atabases"
    assert uris.read("mysql://%64atabases") == ResourceTarget("databases")
    assert uris.read("mysql://databases") == ResourceTarget()


@pytest.mark.parametrize("name", ["a b", "a/b", "ü", "%41", "a#b?c", "..", "a\nb"])
def test_any_name_survives_its_address(name: str) -> None:
    uris = ResourceUris("mysql", "x")
    assert uris.read(uris.of_database(name)) == ResourceTarget(name)
    assert uris.read(uris.of_table(name, name)) == ResourceTarget(name, name)


async def test_the_rows_of_a_large_table_are_estimated_by_its_highest_rowid(
    opened: OpenShop, tmp_path: Path
) -> None:
    path = tmp_path / "large.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE large (a INTEGER PRIMARY KEY);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)
            INSERT INTO large SELECT i * 2 FROM n;
            CREATE TABLE keyed (a TEXT PRIMARY KEY) WITHOUT ROWID;
            INSERT INTO keyed SELECT a FROM large;
        """)
    async with opened(path) as source:
        structured, _ = await source.read("sqlite://main")
    # What cannot be estimated is null, and hides nothing else.
    assert [(table["name"], table["rowCount"]) for table in structured["tables"]] == [
        ("keyed", None),
        ("large", 21_000),
    ]
