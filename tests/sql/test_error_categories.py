"""The eight categories of seed 003, each by its text, as a caller of a MariaDB source reads it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from databases.database import Database
from sql.conftest import Answer, Asker

from callgate.model.errors import CallerError
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import Mode, ServerAddress, SourceSettings, Tls, TlsMode

TIMEOUT = """Error: Query execution timeout exceeded (300ms).

Suggestions:
- Add a LIMIT clause to reduce result set size
- Add WHERE clauses to filter data more specifically
- Use indexes on filtered columns (see EXPLAIN)
- The operator can raise timeout_s for this source"""


# A name that no other test's database has: the server is shared, and candidates are looked for everywhere.
@pytest.fixture(scope="module")
def server(mariadb: Database) -> Iterator[Database]:
    mariadb.run("""
        CREATE DATABASE cat_shop;
        CREATE TABLE cat_shop.zebra_rides (id INT PRIMARY KEY, total INT);
        CREATE TABLE cat_shop.secrets (id INT);
        INSERT INTO cat_shop.zebra_rides VALUES (1, 10), (2, 20);
        CREATE USER cat_reader@'%' IDENTIFIED BY 'reading';
        GRANT SELECT ON cat_shop.zebra_rides TO cat_reader@'%';
    """)
    yield mariadb
    mariadb.run("DROP DATABASE cat_shop; DROP USER cat_reader@'%'")


@asynccontextmanager
async def source(server: Database, **changed: Any) -> AsyncIterator[Asker]:
    where = {key: changed.pop(key) for key in ("port", "user", "password") if key in changed}
    login = (server.host, server.port, server.user, server.password, "cat_shop")
    is_mysql = server.flavour == "mysql"
    address = ServerAddress(*login, tls=Tls(TlsMode.OFF), fetches_server_key=is_mysql)
    settings = SourceSettings(
        "shop", "mysql", server=replace(address, **where), **{"require_qualified": True, **changed}
    )
    opened = open_source(settings)
    try:
        yield Asker(opened)
    finally:
        await opened.close()


async def asked(server: Database, sql: str, **changed: Any) -> Answer:
    async with source(server, **changed) as it:
        answer = await it.query(sql)
    assert answer.is_error
    return answer


async def test_validation(server: Database) -> None:
    async with source(server) as it:
        answer = await it.query("x" * 10_001, response_format="xml", limit=3)
    assert answer.code == "caller.bad_arguments"
    assert answer.text == (
        "Error: Invalid input parameters.\n\n"
        "- query: Query cannot exceed 10,000 characters\n"
        "- response_format: Expected 'markdown' or 'json'\n"
        "- limit: Unrecognized parameter"
    )


@pytest.mark.parametrize(
    ("sql", "changed", "text"),
    [
        (
            "UPDATE cat_shop.zebra_rides SET total = 0",
            {"from_environment": True},
            (
                "Query blocked: UPDATE operations are not allowed in READ-ONLY mode. "
                "Set MYSQL_ALLOW_WRITE=true to enable write operations."
            ),
        ),
        (
            "UPDATE cat_shop.zebra_rides SET total = 0",
            {},
            (
                "Query blocked: UPDATE operations are not allowed in READ-ONLY mode. "
                'Set mode = "write" for this source in callgate.toml to enable write operations.'
            ),
        ),
        (
            "DROP TABLE cat_shop.zebra_rides",
            {"mode": Mode.WRITE},
            (
                "Query blocked: DROP operations are dangerous and blocked even in WRITE mode. "
                "Use MySQL CLI directly for destructive DDL operations."
            ),
        ),
        (
            "SELECT * FROM zebra_rides",
            {},
            (
                "Query blocked: Unqualified table name detected: zebra_rides. Write database.table. "
                "Did you mean cat_shop.zebra_rides?"
            ),
        ),
    ],
)
async def test_blocked(server: Database, sql: str, changed: dict[str, Any], text: str) -> None:
    answer = await asked(server, sql, **changed)
    assert str(answer.code).startswith("refused.")
    assert answer.text == text
    assert answer.facts.verdict == "deny"


async def test_syntax(server: Database) -> None:
    answer = await asked(server, "SELECT id, FROM cat_shop.zebra_rides")
    assert answer.code == "source.syntax"
    assert answer.text == (
        "Error: SQL syntax error at line 1, column 12, near 'FROM cat_shop.zebra_rides'.\n\n"
        "Tip: Check your query syntax and ensure table names are fully qualified (database.table)."
    )


async def test_permission(server: Database) -> None:
    answer = await asked(server, "SELECT * FROM cat_shop.secrets", user="cat_reader", password="reading")
    assert answer.code == "source.access_denied"
    assert answer.text.startswith(
        "Error: Access denied. Your MySQL user doesn't have permission for this operation.\n\n"
    )
    assert "Contact your database administrator to grant appropriate permissions." in answer.text
    assert "cat_reader" not in answer.text


async def test_connection(server: Database) -> None:
    for changed in ({"port": 1}, {"password": "wrong-password"}):
        answer = await asked(server, "SELECT 1", **changed)
        assert answer.code == "source.unavailable"
        assert answer.text.startswith("Error: the database ")
        assert "try again in a moment, and tell the operator if the error stays." in answer.text
        for secret in (server.password, "wrong-password", server.host, server.user):
            assert secret not in answer.text


async def test_timeout(server: Database) -> None:
    slow = "SELECT count(*) FROM " + ", ".join(f"information_schema.columns AS c{n}" for n in range(5))
    answer = await asked(server, slow, timeout_s=0.3)
    assert answer.code == "source.timeout"
    assert answer.text == TIMEOUT


async def test_resource(server: Database) -> None:
    table = await asked(server, "SELECT * FROM cat_shop.zebra_rids")
    assert table.code == "source.unknown_table"
    assert table.text == (
        "Error: Table 'cat_shop.zebra_rids' does not exist.\n\n"
        "Did you mean: cat_shop.zebra_rides?\n"
        "Tip: Use SHOW TABLES FROM cat_shop to see available tables.\n"
        "Remember to use fully qualified names: database.table"
    )
    async with source(server) as it:
        with pytest.raises(CallerError) as caught:
            await it.read("mysql://cat_shop/zebra_rids")
    assert caught.value.message == "Table 'zebra_rids' does not exist in cat_shop."
    assert caught.value.hint == "Did you mean zebra_rides? Read mysql://cat_shop."


async def test_unknown(server: Database) -> None:
    answer = await asked(server, "SELECT (SELECT id FROM cat_shop.zebra_rides)")
    assert answer.code == "source.failed"
    assert answer.text == "Error: MySQL error (1242): Subquery returns more than 1 row"
