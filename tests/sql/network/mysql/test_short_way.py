"""A plain read of base tables is sent alone. Nothing else is, and nothing of one call reaches another."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

import msgspec
import pytest
from databases.database import Database
from sql.network.conftest import Opener, Options, Source, address_of
from sql.network.proxy import Proxy
from waiting import until

from callgate.model import error_codes as codes
from callgate.model.errors import CallgateError
from callgate.sql.drivers.driver import Cell
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.mysql.driver import session_reset, short_way
from callgate.sql.engines.mysql.driver.status import is_as_pinned
from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits, Policy
from callgate.sql.settings import Mode, Tls, TlsMode

pytestmark = pytest.mark.usefixtures("how_reads_run")

SETUP = """
DROP DATABASE IF EXISTS shortly; CREATE DATABASE shortly;
CREATE TABLE shortly.t (a int PRIMARY KEY, b varchar(20));
INSERT INTO shortly.t VALUES (1, 'one'), (2, 'two');
CREATE TABLE shortly.twice (a int PRIMARY KEY, b int AS (a * 2) VIRTUAL);
INSERT INTO shortly.twice (a) VALUES (4);
CREATE TABLE shortly.written (a int); CREATE VIEW shortly.plain_view AS SELECT a FROM shortly.t;
""" + "".join(f"CREATE TABLE shortly.m{number} (a int);" for number in range(1, 10))
READ_T = "SELECT b FROM t WHERE a = 1"
RESET = b"\x1f"
# What a function of a view may do to the session that reads the view.
BODIES = {
    "read-write": "SET SESSION {read_only} = 0",
    "next transaction read-write": "SET @@{read_only} = 0",
    "sql_mode": "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
    "time zone": "SET SESSION time_zone = '+05:00'",
    "limit": "SET SESSION sql_select_limit = 1",
    "user variable": "SET @x = 5",
    "variable from a query": "SELECT 5 INTO @x",
    "lock": "DO GET_LOCK('short', 0)",
    "last id": "DO LAST_INSERT_ID(77)",
}
# A statement that would show any of it.
WITNESS = (
    "SELECT @@session.sql_mode LIKE '%ANSI%', @@session.{read_only},"
    " @@session.time_zone = @@global.time_zone,"
    " @@session.sql_select_limit = @@global.sql_select_limit, @x, IS_USED_LOCK('short'), LAST_INSERT_ID(),"
    " '\\\\' = CHAR(92)"
)
UNTOUCHED: tuple[Cell, ...] = (0, 1, 1, 1, None, None, 0, 1)


class ListeningProxy(Proxy):
    """Keeps what we say."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.heard = bytearray()

    def hear(self, data: bytes) -> bytes:
        self.heard += data
        return data

    def commands(self) -> list[bytes]:
        """All so far, of all connections. What belongs to a login has another number."""
        found: list[bytes] = []
        at = 0
        while at + 4 <= len(self.heard):
            end = at + 4 + int.from_bytes(self.heard[at : at + 3], "little")
            if self.heard[at + 3] == 0:
                found.append(bytes(self.heard[at + 4 : end]))
            at = end
        return found


@dataclass
class Listened:
    source: Source
    proxy: ListeningProxy

    async def sent_for(self, *texts: str) -> list[str]:
        """What went to the server for this call, in words."""
        before = len(self.proxy.commands())
        await self.source.driver.run(judged(*texts))
        return [worded(command) for command in self.proxy.commands()[before:]]


def worded(command: bytes) -> str:
    names = {0x1F: "reset", 0x16: "prepare", 0x17: "execute"}
    return names.get(command[0]) or command[1:].decode().partition(", SESSION")[0]


def functions(body: str) -> str:
    """A view `v` whose function does that to the session, and a view `w` whose function writes."""
    return f"""
        USE shortly; DROP VIEW IF EXISTS v, w; DROP FUNCTION IF EXISTS f; DROP FUNCTION IF EXISTS g;
        DELIMITER //
        CREATE FUNCTION f() RETURNS int BEGIN {body}; RETURN 1; END//
        CREATE FUNCTION g() RETURNS int BEGIN INSERT INTO shortly.written VALUES (1); RETURN 1; END//
        DELIMITER ;
        CREATE VIEW v AS SELECT a, f() AS z FROM t; CREATE VIEW w AS SELECT a, g() AS z FROM t;
    """


def known_to(server: Database, text: str) -> str:
    return text.replace(
        "{read_only}", "tx_read_only" if server.flavour == "mariadb" else "transaction_read_only"
    )


LONG_WAY = ["START TRANSACTION READ ONLY", "…", "reset", "SET NAMES utf8mb4"]


def long_way(text: str) -> list[str]:
    return [text if word == "…" else word for word in LONG_WAY]


def judged(*texts: str) -> tuple[Statement, ...]:
    judgement = judge("; ".join(texts), Policy(MYSQL))
    assert judgement.allowed
    return judgement.statements


@pytest.fixture
def shop(mariadb: Database) -> Database:
    mariadb.run(SETUP)
    return mariadb


@asynccontextmanager
async def listening(
    shop: Database, maria: Opener, *, mode: Mode = Mode.READ_ONLY, timeout_s: float = 30.0
) -> AsyncIterator[Listened]:
    proxy = ListeningProxy(shop.host, shop.port)
    await proxy.mend()
    address = replace(
        address_of(shop), host="127.0.0.1", port=proxy.port, database="shortly", tls=Tls(TlsMode.OFF)
    )
    options: Options = {"pool_size": 1, "mode": mode, "address": address, "timeout_s": timeout_s}
    try:
        async with maria(**options) as source:
            await source.driver.run(judged("SELECT 1"))  # the names of stored functions are asked for
            yield Listened(source, proxy)
    finally:
        await proxy.cut()


@pytest.mark.usefixtures("no_time_passes")
async def test_a_plain_read_of_base_tables_is_sent_alone(shop: Database, maria: Opener) -> None:
    async with listening(shop, maria) as listened:
        both = "SELECT x.b, y.b FROM t x JOIN shortly.twice y ON y.a <> x.a"
        for text in (READ_T, both, "SELECT 1"):
            await listened.sent_for(text)  # the server is asked what its tables are
        assert await listened.sent_for(READ_T) == [READ_T]
        assert await listened.sent_for(both) == [both]
        assert await listened.sent_for("SELECT 1") == ["SELECT 1"]


@pytest.mark.usefixtures("no_time_passes")
@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM plain_view",
        "SELECT x.a FROM t x JOIN plain_view y ON x.a = y.a",
        "SELECT a FROM t WHERE a IN (SELECT a FROM shortly.plain_view)",
        "SELECT /* not plain */ a FROM t",
        "SELECT LEFT(b, 2) FROM t",
        "SHOW TABLES",
        "SELECT a FROM t WHERE a = 1 UNION SELECT table_rows FROM information_schema.tables WHERE 1 = 0",
        "SELECT m1.a FROM m1, m2, m3, m4, m5, m6, m7, m8, m9",  # that many are not looked at one by one
    ],
)
async def test_what_is_no_plain_read_of_base_tables_takes_the_long_way(
    shop: Database, maria: Opener, text: str
) -> None:
    async with listening(shop, maria) as listened:
        await listened.sent_for(text)
        assert await listened.sent_for(text) == long_way(text)


@pytest.mark.usefixtures("no_time_passes")
async def test_several_plain_reads_of_one_call_take_the_long_way(shop: Database, maria: Opener) -> None:
    async with listening(shop, maria) as listened:
        await listened.sent_for(READ_T)
        sent = await listened.sent_for(READ_T, READ_T)
        assert (sent[:3], sent[-2:]) == ([*LONG_WAY[-2:], LONG_WAY[0]], LONG_WAY[-2:])


@pytest.mark.usefixtures("no_time_passes")
async def test_only_statements_that_the_guard_called_plain_take_the_short_way(
    shop: Database, maria: Opener
) -> None:
    async with listening(shop, maria) as listened:
        await listened.sent_for(READ_T)
        (plain,) = judged(READ_T)
        bound = msgspec.structs.replace(plain, text="SELECT b FROM t WHERE a = ?", parameters=(1,))
        ours = msgspec.structs.replace(plain, limits=Limits())
        for statement in (Statement(READ_T, "SELECT", ("t",)), bound, ours):
            before = len(listened.proxy.commands())
            await listened.source.driver.run((statement,))
            sent = [worded(command) for command in listened.proxy.commands()[before:]]
            assert (sent[:3], sent[-2:]) == ([*LONG_WAY[-2:], LONG_WAY[0]], LONG_WAY[-2:])
            await listened.sent_for(READ_T)


@pytest.mark.usefixtures("no_time_passes")
async def test_a_source_that_writes_has_no_short_way(shop: Database, maria: Opener) -> None:
    async with listening(shop, maria, mode=Mode.WRITE) as listened:
        await listened.sent_for(READ_T)
        assert await listened.sent_for(READ_T) == [READ_T, *LONG_WAY[-2:]]


@pytest.mark.usefixtures("no_time_passes")
async def test_a_reset_follows_every_sixteenth_plain_read(shop: Database, maria: Opener) -> None:
    async with listening(shop, maria) as listened:
        await listened.sent_for("SHOW TABLES")
        await listened.sent_for(READ_T)
        before = len(listened.proxy.commands())
        for _ in range(31):
            await listened.sent_for(READ_T)
        wanted = [READ_T] * 15 + LONG_WAY[-2:] + [READ_T] * 16 + LONG_WAY[-2:]
        await until(lambda: len(listened.proxy.commands()) >= before + len(wanted))
        assert [worded(command) for command in listened.proxy.commands()[before:]] == wanted


@pytest.mark.usefixtures("no_time_passes")
async def test_a_reset_comes_before_what_takes_the_long_way(shop: Database, maria: Opener) -> None:
    async with listening(shop, maria) as listened:
        await listened.sent_for(READ_T)
        assert await listened.sent_for("SHOW TABLES") == [*LONG_WAY[-2:], *long_way("SHOW TABLES")]


@pytest.mark.usefixtures("no_time_passes")
async def test_a_reset_comes_before_a_question_of_ours(shop: Database, maria: Opener) -> None:
    async with listening(shop, maria) as listened:
        await listened.sent_for(READ_T)
        *before, question, read = await listened.sent_for("SELECT b FROM twice")
        assert before == LONG_WAY[-2:]
        assert "information_schema" in question
        assert read == "SELECT b FROM twice"


async def test_a_session_that_lies_idle_is_reset_soon(shop: Database, maria: Opener) -> None:
    """The answers are read by the call that comes next."""
    async with listening(shop, maria) as listened:
        await listened.sent_for(READ_T)
        for _ in range(3):
            await listened.source.driver.run(judged(READ_T))
            assert worded(listened.proxy.commands()[-1]) == READ_T
            await until(lambda: listened.proxy.commands()[-2:-1] == [RESET])
            assert await listened.source.rows("SELECT 7") == [(7,)]


@pytest.mark.usefixtures("no_time_passes")
async def test_a_plain_read_that_fails_is_followed_by_a_reset(shop: Database, maria: Opener) -> None:
    async with listening(shop, maria) as listened:
        await listened.sent_for(READ_T)
        before = len(listened.proxy.commands())
        with pytest.raises(CallgateError):
            await listened.source.driver.run(judged("SELECT a1 FROM t"))
        sent = [worded(command) for command in listened.proxy.commands()[before:]]
        assert sent[:3] == ["SELECT a1 FROM t", *LONG_WAY[-2:]]
        assert (await listened.source.driver.run(judged(READ_T)))[0].rows == (("one",),)


async def test_a_plain_read_that_takes_too_long_is_ended_at_the_server(shop: Database, maria: Opener) -> None:
    shop.run("INSERT INTO shortly.t SELECT seq, 'x' FROM callgate.seq_1_to_3000 WHERE seq > 2")
    long_one = "SELECT count(*) AS endless FROM t, t u, t v, t w WHERE t.b < u.b OR v.b < w.b"
    async with listening(shop, maria, timeout_s=0.3) as listened:
        with pytest.raises(CallgateError) as stopped:
            await listened.source.driver.run(judged(long_one))
        assert stopped.value.code is codes.SOURCE_TIMEOUT
        await listened.source.until_running("endless", 0)
        assert await listened.source.rows("SELECT 7") == [(7,)]


@pytest.mark.usefixtures("no_time_passes")
async def test_more_rows_than_are_wanted_end_the_session(shop: Database, maria: Opener) -> None:
    shop.run("INSERT INTO shortly.t SELECT seq, 'x' FROM callgate.seq_1_to_3000 WHERE seq > 2")
    async with listening(shop, maria) as listened:
        (result,) = await listened.source.driver.run(judged("SELECT t.a, u.a FROM t, t u"))
        assert (result.truncated, len(result.rows)) == (True, 1000)
        assert await listened.source.rows("SELECT 7") == [(7,)]


@pytest.mark.usefixtures("no_time_passes")
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_nothing_that_the_function_of_a_view_does_reaches_a_later_statement(
    shop: Database, maria: Opener, body: str
) -> None:
    shop.run(functions(known_to(shop, body)))
    async with listening(shop, maria) as listened:
        for _ in range(2):
            with suppress(CallgateError):  # within a transaction that is refused already
                await listened.source.driver.run(judged("SELECT z FROM v"))
            assert await listened.source.rows(known_to(shop, WITNESS)) == [UNTOUCHED]
            with suppress(CallgateError):
                await listened.source.driver.run(judged("SELECT z FROM v"))
            with pytest.raises(CallgateError):
                await listened.source.driver.run(judged("SELECT z FROM w"))
            assert (await listened.source.driver.run(judged(READ_T)))[0].rows == (("one",),)
    assert shop.run("SELECT count(*) FROM shortly.written").strip() == "0"


@pytest.mark.usefixtures("no_time_passes")
@pytest.mark.parametrize(
    "body", list(BODIES.values())[:1] + list(BODIES.values())[2:5], ids=list(BODIES)[:1] + list(BODIES)[2:5]
)
async def test_a_table_that_has_just_become_a_view_changes_no_variable_for_the_next(
    shop: Database, maria: Opener, body: str
) -> None:
    """It is still taken for a table here. The server says what its function did, and the reset follows."""
    shop.run(
        functions(known_to(shop, body))
        + "CREATE TABLE late (a int, z int); CREATE TABLE later (a int, z int);"
    )
    async with listening(shop, maria) as listened:
        for text in ("SELECT z FROM late", "SELECT z FROM later"):
            await listened.sent_for(text)
        shop.run("USE shortly; DROP TABLE late, later; ALTER VIEW v AS SELECT a, f() AS z FROM t;")
        shop.run("USE shortly; RENAME TABLE v TO late, w TO later;")
        sent = await listened.sent_for("SELECT z FROM late")
        assert sent == ["SELECT z FROM late", *LONG_WAY[-2:], "SELECT CURRENT_ROLE()"]
        with pytest.raises(CallgateError):
            await listened.source.driver.run(judged("SELECT z FROM later"))
        assert await listened.source.rows(known_to(shop, WITNESS)) == [UNTOUCHED]
    assert shop.run("SELECT count(*) FROM shortly.written").strip() == "0"


async def test_a_table_that_became_a_view_is_known_to_be_one(
    shop: Database, maria: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_reset, "_MOST_S", 3600.0)
    monkeypatch.setattr(short_way, "_REFRESHED_AFTER_S", 0.0)
    async with listening(shop, maria) as listened:
        assert (await listened.sent_for("SELECT a FROM twice"))[-1] == "SELECT a FROM twice"
        shop.run("DROP TABLE shortly.twice; CREATE VIEW shortly.twice AS SELECT a FROM shortly.t")
        assert (await listened.sent_for("SELECT a FROM twice"))[-4:] == long_way("SELECT a FROM twice")


@pytest.mark.usefixtures("no_time_passes")
async def test_a_column_that_looks_at_the_session_takes_the_long_way(shop: Database, maria: Opener) -> None:
    if shop.flavour == "mysql":
        with pytest.raises(AssertionError):  # it has no such columns
            shop.run("CREATE TABLE shortly.looks (a int, b int AS (@x) VIRTUAL)")
        return
    shop.run("CREATE TABLE shortly.looks (a int, b int AS (@x) VIRTUAL)")
    async with listening(shop, maria) as listened:
        await listened.sent_for("SELECT a FROM looks")
        assert await listened.sent_for("SELECT a FROM looks") == long_way("SELECT a FROM looks")


@pytest.mark.parametrize(
    "expression", ["f()", "GET_LOCK('x', 0)", "LAST_INSERT_ID(5)", "SLEEP(0)", "FOUND_ROWS()", "(SELECT 1)"]
)
def test_a_computed_column_of_a_base_table_runs_nothing_of_the_kind(shop: Database, expression: str) -> None:
    """What the short way stands on. The server itself refuses such a table."""
    shop.run(functions("SET @x = 1"))
    with pytest.raises(AssertionError):
        shop.run(f"USE shortly; CREATE TABLE computing (a int, b int AS ({expression}) VIRTUAL)")


@pytest.mark.parametrize("change", [0x1, 0x8, 0x200, 0x2000, 0x4000, 0x8000, 0x2])
def test_a_status_that_is_not_that_of_the_pins_is_seen(change: int) -> None:
    assert is_as_pinned(0x0002)
    assert is_as_pinned(0x0022)  # no index was used
    assert not is_as_pinned(0x0022 ^ change)
