"""Seed 003 with the official SDK client on a real MariaDB: its variables, tool, resources and shapes.

One test per shape: the tool, JSON and Markdown results, the three resources in both forms, the list, the
templates, completion, and what is said when something is wrong.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from databases.database import Database
from end_to_end.forked import forked_callgate
from end_to_end.gateway_process import clean_environment, running_gateway
from mcp import Client, MCPError
from mcp_types import CallToolResult, ResourceTemplateReference, TextContent, TextResourceContents

SHOP = """
CREATE DATABASE seed_shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE seed_shop;
CREATE TABLE customers (
    id INT AUTO_INCREMENT PRIMARY KEY COMMENT 'the number',
    name VARCHAR(100) NOT NULL,
    email VARCHAR(255) NOT NULL,
    UNIQUE KEY by_email (email)
) ENGINE=InnoDB COMMENT='who buys';
CREATE TABLE orders (
    id INT AUTO_INCREMENT PRIMARY KEY,
    customer_id INT NOT NULL,
    status ENUM('pending', 'shipped') NOT NULL DEFAULT 'pending',
    total DECIMAL(10, 2) NOT NULL,
    ordered_at DATETIME,
    KEY by_status (status, ordered_at),
    CONSTRAINT of_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
        ON DELETE CASCADE ON UPDATE RESTRICT
) ENGINE=InnoDB;
CREATE VIEW pending AS SELECT id, total FROM orders WHERE status = 'pending';
CREATE TABLE `odd name/x` (a INT);
INSERT INTO customers (name, email) VALUES ('Alice', 'a@example.com'), ('Bob', 'b@example.com');
INSERT INTO orders (customer_id, total, ordered_at) VALUES (1, 12.50, '2025-01-02 03:04:05'), (2, 7.00, NULL);
CREATE USER seed_reader@'%' IDENTIFIED BY 'reading';
GRANT SELECT, SHOW VIEW ON seed_shop.* TO seed_reader@'%';
"""


@pytest.fixture(scope="module")
def shop(mariadb: Database) -> Iterator[Database]:
    mariadb.run(SHOP)
    yield mariadb
    mariadb.run("DROP DATABASE seed_shop; DROP USER seed_reader@'%'")


@pytest.fixture(scope="module")
def url(shop: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One gateway for all tests here: each reads only."""
    state = tmp_path_factory.mktemp("seed")
    with subprocess.Popen(
        [*forked_callgate(), "serve", "--json", "--port", "0"],
        stdout=subprocess.PIPE, env=clean_environment(state, **variables(shop)), cwd=state,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()


def variables(database: Database, **more: str) -> dict[str, str]:
    return {
        "MYSQL_HOST": database.host,
        "MYSQL_PORT": str(database.port),
        "MYSQL_USER": "seed_reader",
        "MYSQL_PASSWORD": "reading",
        "MYSQL_DATABASE": "seed_shop",
        **more,
    }


@pytest.fixture(params=["auto", "legacy"])
def connect(url: str, request: pytest.FixtureRequest) -> Callable[[], Client]:
    return lambda: Client(f"{url}/mcp", mode=request.param)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def query(client: Client, sql: str, **arguments: str) -> CallToolResult:
    return await client.call_tool("mysql_query", {"query": sql, **arguments})


async def read(client: Client, uri: str) -> tuple[dict, str]:
    structured, markdown = (await client.read_resource(uri)).contents
    assert isinstance(structured, TextResourceContents)
    assert isinstance(markdown, TextResourceContents)
    assert (structured.mime_type, markdown.mime_type) == ("application/json", "text/markdown")
    assert str(structured.uri) == str(markdown.uri) == uri
    return json.loads(structured.text), markdown.text


async def test_the_tool(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"mysql_query", "mysql_explain", "mysql_search_objects"}
        tool = tools["mysql_query"]
        assert tool.title == "Execute MySQL Query"
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.idempotent_hint is False
        assert tool.annotations.open_world_hint is True
        properties = tool.input_schema["properties"]
        assert (properties["query"]["minLength"], properties["query"]["maxLength"]) == (1, 10_000)
        assert properties["response_format"]["enum"] == ["markdown", "json"]
        assert properties["response_format"]["default"] == "markdown"
        assert tool.input_schema["additionalProperties"] is False
        assert "READ-ONLY" in (tool.description or "")
        assert "fully qualified" in (tool.description or "")


async def test_a_json_result(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        result = await query(
            client, "SELECT id, name FROM seed_shop.customers ORDER BY id", response_format="json"
        )
        told = json.loads(text_of(result))
        assert told["columns"] == [{"name": "id", "type": "int"}, {"name": "name", "type": "varchar"}]
        assert told["rows"] == [[1, "Alice"], [2, "Bob"]]
        assert (told["rowCount"], told["truncated"]) == (2, False)
        assert isinstance(told["executionTime"], (int, float))
        assert result.structured_content == told


async def test_a_markdown_result(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        result = await query(client, "SELECT id, total, ordered_at FROM seed_shop.orders ORDER BY id")
        text = text_of(result)
        assert text.startswith(
            "| id | total | ordered_at |\n| --- | --- | --- |\n| 1 | 12.50 | 2025-01-02 03:04:05 |"
        )
        assert "| 2 | 7.00 | NULL |" in text
        assert "2 rows in " in text


async def test_the_utilities_of_the_seed_are_allowed(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        for sql in (
            "SHOW TABLES FROM seed_shop",
            "DESCRIBE seed_shop.customers",
            "EXPLAIN SELECT * FROM seed_shop.orders",
            "SHOW DATABASES",
        ):
            result = await query(client, sql)
            assert not result.is_error, text_of(result)


async def test_the_list_of_resources_and_templates(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        resources = (await client.list_resources()).resources
        assert [(str(entry.uri), entry.name, entry.mime_type) for entry in resources] == [
            ("mysql://databases", "All Databases", "application/json"),
            ("mysql://seed_shop", "Database: seed_shop", "application/json"),
        ]
        templates = (await client.list_resource_templates()).resource_templates
        assert [entry.uri_template for entry in templates] == [
            "mysql://{database}",
            "mysql://{database}/{table}",
        ]


async def test_all_databases(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        structured, markdown = await read(client, "mysql://databases")
        assert structured == {
            "databases": [
                {
                    "name": "seed_shop",
                    "defaultCharacterSet": "utf8mb4",
                    "defaultCollation": "utf8mb4_general_ci",
                    "tableCount": 4,
                }
            ],
            "totalCount": 1,
        }
        assert "| seed_shop | utf8mb4 | utf8mb4_general_ci | 4 |" in markdown


async def test_one_database(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        structured, markdown = await read(client, "mysql://seed_shop")
        assert structured["database"] == {
            "name": "seed_shop",
            "characterSet": "utf8mb4",
            "collation": "utf8mb4_general_ci",
        }
        by_name = {table["name"]: table for table in structured["tables"]}
        assert list(by_name) == ["customers", "odd name/x", "orders", "pending"]
        assert structured["tableCount"] == 4
        customers = by_name["customers"]
        assert set(customers) == {
            "name",
            "type",
            "engine",
            "rowCount",
            "dataLength",
            "indexLength",
            "comment",
        }
        assert (customers["type"], customers["engine"], customers["comment"]) == (
            "BASE TABLE",
            "InnoDB",
            "who buys",
        )
        assert isinstance(customers["rowCount"], int)
        assert customers["dataLength"] > 0
        assert by_name["pending"]["type"] == "VIEW"
        assert "# Database: seed_shop" in markdown


async def test_one_table(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        structured, markdown = await read(client, "mysql://seed_shop/orders")
        assert set(structured) == {"table", "columns", "indexes", "foreignKeys"}
        table = structured["table"]
        assert list(table) == [
            *("database", "name", "type", "engine", "rowFormat", "rowCount", "avgRowLength", "dataLength"),
            *("maxDataLength", "indexLength", "autoIncrement", "createTime", "updateTime", "comment"),
        ]
        assert (table["database"], table["name"], table["autoIncrement"]) == ("seed_shop", "orders", 3)
        assert table["createTime"][:2] == "20"
        status = structured["columns"][2]
        assert status == {
            "name": "status",
            "ordinalPosition": 3,
            "dataType": "enum",
            "columnType": "enum('pending','shipped')",
            "isNullable": False,
            "columnKey": "MUL",
            "defaultValue": "'pending'",
            "extra": "",
            "comment": "",
            "characterSet": "utf8mb4",
            "collation": "utf8mb4_general_ci",
        }
        assert structured["columns"][0]["extra"] == "auto_increment"
        assert structured["indexes"][0] == {
            "name": "PRIMARY",
            "unique": True,
            "columns": ["id"],
            "indexType": "BTREE",
            "comment": "",
        }
        assert {index["name"]: index["columns"] for index in structured["indexes"]}["by_status"] == [
            "status",
            "ordered_at",
        ]
        assert structured["foreignKeys"] == [
            {
                "name": "of_customer",
                "columns": ["customer_id"],
                "referencedTable": "customers",
                "referencedColumns": ["id"],
                "onUpdate": "RESTRICT",
                "onDelete": "CASCADE",
            }
        ]
        assert "| of_customer | customer_id | customers (id) | RESTRICT | CASCADE |" in markdown


async def test_a_name_that_needs_percent_encoding(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        structured, _ = await read(client, "mysql://seed_shop/odd%20name%2Fx")
        assert structured["table"]["name"] == "odd name/x"


async def test_completion(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        ref = ResourceTemplateReference(type="ref/resource", uri="mysql://{database}/{table}")
        databases = await client.complete(ref, {"name": "database", "value": "seed"})
        assert databases.completion.values == ["seed_shop"]
        tables = await client.complete(
            ref, {"name": "table", "value": "o"}, context_arguments={"database": "seed_shop"}
        )
        assert tables.completion.values == ["odd name/x", "orders"]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("mysql://seed_shp", "Database 'seed_shp' does not exist"),
        ("mysql://seed_shop/ordrs", "Table 'ordrs' does not exist in seed_shop"),
        ("mysql://mysql/user", "Database 'mysql' does not exist"),
    ],
)
async def test_an_unknown_resource_teaches(connect: Callable[[], Client], uri: str, said: str) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert said in caught.value.error.message
        assert "mysql://" in caught.value.error.data["hint"]


async def test_the_same_on_the_sources_own_address(url: str) -> None:
    async with Client(f"{url}/servers/mysql/mcp") as client:
        assert (await client.list_tools()).tools[0].name == "query"
        structured, _ = await read(client, "mysql://databases")
        assert structured["totalCount"] == 1


async def test_a_gateway_of_sources_says_what_it_has(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        capabilities = client.server_capabilities
        assert capabilities.tools is not None
        assert capabilities.resources is not None
        assert capabilities.completions is not None
        assert capabilities.prompts is None


async def test_a_write_is_blocked_in_the_seeds_words(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        result = await query(client, "INSERT INTO seed_shop.customers (name, email) VALUES ('x', 'y')")
        assert result.is_error
        assert text_of(result) == (
            "Query blocked: INSERT operations are not allowed in READ-ONLY mode. "
            "Set MYSQL_ALLOW_WRITE=true to enable write operations."
        )


async def test_write_mode_by_the_seeds_variable(shop: Database, tmp_path: Path) -> None:
    more = {"MYSQL_ALLOW_WRITE": "true", "MYSQL_USER": shop.user, "MYSQL_PASSWORD": shop.password}
    async with (
        running_gateway(tmp_path, cwd=None, stderr=None, **variables(shop, **more)) as gateway,
        Client(gateway.mcp_url) as client,
    ):
        (tool, *_) = (await client.list_tools()).tools
        assert tool.annotations is not None
        assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (False, True)
        done = await query(
            client, "INSERT INTO seed_shop.customers (name, email) VALUES ('Carl', 'c@example.com')"
        )
        assert not done.is_error, text_of(done)
        dropped = await query(client, "DROP TABLE seed_shop.orders")
        assert dropped.is_error
        assert "blocked even in WRITE mode" in text_of(dropped)
    assert shop.run("SELECT count(*) FROM seed_shop.customers") == "3"
    shop.run("DELETE FROM seed_shop.customers WHERE name = 'Carl'")
