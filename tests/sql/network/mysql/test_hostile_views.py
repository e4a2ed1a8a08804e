"""What the functions of views try to leave in the session, by somebody who may define views and functions."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from databases.database import Database
from sql.network.conftest import Opener
from sql.network.mysql import test_short_way
from sql.network.mysql.test_short_way import LONG_WAY, judged, known_to, listening, long_way

from callgate.model.errors import CallgateError
from callgate.sql.engines.mysql.driver.status import has_changed_session

shop = test_short_way.shop
pytestmark = pytest.mark.usefixtures("no_time_passes")

# The session becomes read-write, and the server is to say nothing of it.
SILENT = {
    "state silenced first": "SET SESSION session_track_state_change = 0; SET SESSION {read_only} = 0",
    "variables silenced first": (
        "SET SESSION session_track_system_variables = ''; SET SESSION session_track_state_change = 0;"
        " SET SESSION {read_only} = 0"
    ),
    "all at once": (
        "SET SESSION session_track_transaction_info = 'OFF', SESSION session_track_state_change = 0,"
        " SESSION session_track_system_variables = '', SESSION {read_only} = 0"
    ),
    "next transaction": "SET @@{read_only} = 0",
}
FUNCTIONS = """
    USE shortly;
    DELIMITER //
    CREATE FUNCTION f() RETURNS int SQL SECURITY INVOKER BEGIN {body}; RETURN 1; END//
    CREATE FUNCTION g() RETURNS int BEGIN INSERT INTO shortly.written VALUES (1); RETURN 1; END//
    DELIMITER ;
    CREATE SQL SECURITY INVOKER VIEW v AS SELECT f() AS z; CREATE VIEW w AS SELECT a, g() AS z FROM t;
"""


@pytest.fixture
def role(shop: Database) -> Iterator[str]:
    """One that our account may take, and does not have by default."""
    shop.run("CREATE ROLE shortly_role; GRANT shortly_role TO callgate@'%'")
    yield "shortly_role"
    shop.run("DROP ROLE shortly_role")


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
async def test_a_table_that_has_just_become_a_view_lets_no_later_read_write(
    shop: Database, maria: Opener, body: str
) -> None:
    shop.run(
        FUNCTIONS.format(body=known_to(shop, body))
        + "CREATE TABLE late (a int, z int); CREATE TABLE later (a int, z int);"
    )
    async with listening(shop, maria) as listened:
        for text in ("SELECT z FROM late", "SELECT z FROM later"):
            await listened.sent_for(text)
        shop.run("USE shortly; DROP TABLE late, later; RENAME TABLE v TO late, w TO later;")
        sent = await listened.sent_for("SELECT z FROM late")
        assert sent[:3] == ["SELECT z FROM late", *LONG_WAY[-2:]]
        with pytest.raises(CallgateError):
            await listened.source.driver.run(judged("SELECT z FROM later"))
    assert shop.run("SELECT count(*) FROM shortly.written").strip() == "0"


@pytest.mark.parametrize("end", ["", "; SIGNAL SQLSTATE '45000'"], ids=["returns", "fails"])
@pytest.mark.parametrize("is_late", [False, True], ids=["view", "table that became a view"])
async def test_a_role_that_a_function_took_is_not_kept(
    shop: Database, maria: Opener, role: str, end: str, *, is_late: bool
) -> None:
    """A reset of the session leaves it as it is, on MariaDB."""
    shop.run(FUNCTIONS.format(body=f"SET ROLE {role}{end}") + "CREATE TABLE late (a int, z int);")
    async with listening(shop, maria) as listened:
        before = await listened.source.rows("SELECT CURRENT_ROLE()")
        await listened.sent_for("SELECT z FROM late")
        if is_late:
            shop.run("USE shortly; DROP TABLE late; RENAME TABLE v TO late;")
        with suppress(CallgateError):
            await listened.source.driver.run(judged(f"SELECT z FROM {'late' if is_late else 'v'}"))
        assert await listened.source.rows("SELECT CURRENT_ROLE()") == before


async def test_a_role_that_the_first_of_several_statements_took_is_not_kept(
    shop: Database, maria: Opener, role: str
) -> None:
    shop.run(FUNCTIONS.format(body=f"SET ROLE {role}"))
    async with listening(shop, maria) as listened:
        before = await listened.source.rows("SELECT CURRENT_ROLE()")
        await listened.source.driver.run(judged("SELECT z FROM v", "SELECT 1"))
        assert await listened.source.rows("SELECT CURRENT_ROLE()") == before


async def test_an_ordinary_statement_has_nobody_ask_for_the_role(shop: Database, maria: Opener) -> None:
    async with listening(shop, maria) as listened:
        await listened.sent_for("SHOW TABLES")  # behind a plain read
        assert await listened.sent_for("SHOW TABLES") == long_way("SHOW TABLES")


async def test_a_column_that_uses_a_default_takes_the_long_way(shop: Database, maria: Opener) -> None:
    """What the default does is not in the text of the computed column."""
    table = "CREATE TABLE shortly.looks (a int DEFAULT (@x := 5), c int, b int AS (DEFAULT(a)) VIRTUAL)"
    if shop.flavour == "mysql":
        with pytest.raises(AssertionError):  # it has no such columns
            shop.run(table)
        return
    shop.run(table)
    async with listening(shop, maria) as listened:
        await listened.sent_for("SELECT b FROM looks")
        assert await listened.sent_for("SELECT b FROM looks") == long_way("SELECT b FROM looks")


async def test_a_table_in_other_letters_than_a_cte_is_a_table(shop: Database, maria: Opener) -> None:
    """MySQL may take it for one."""
    text = "WITH T AS (SELECT 1 AS a) SELECT a FROM t"
    async with listening(shop, maria) as listened:
        await listened.sent_for(text)
        assert await listened.sent_for(text) == long_way(text)


@pytest.mark.parametrize(
    ("status", "told", "is_change"),
    [
        (0x4002, b"\x02\x011", True),
        (0x4002, b"\x05\x09\x08T_______", False),
        (0x4002, b"\x05\x09\x08T_______\x02\x011", True),
        (0x0002, b"", False),
    ],
    ids=["variable", "transaction", "both", "nothing"],
)
def test_a_change_of_the_session_is_told_from_that_of_a_transaction(
    status: int, told: bytes, *, is_change: bool
) -> None:
    packet = b"\xfe\0\0" + status.to_bytes(2, "little") + b"\0\0" + b"\0" + bytes([len(told)]) + told
    assert has_changed_session(packet, is_eof=False) is is_change
