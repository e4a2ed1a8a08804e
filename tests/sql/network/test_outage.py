"""A server that is down, goes away or comes back: clear errors, no hung call, recovery by itself."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from traceback import walk_tb

import pytest
from databases.database import Database
from databases.mariadb import mariadb_server
from sql.network.conftest import Opener, Source, address_of, open_driver
from sql.network.peer import listening
from sql.network.proxy import Proxy

from callgate.model.errors import CallgateError, SourceError
from callgate.sql.drivers.network.server import DatabaseFault
from callgate.sql.engines.mysql.failures import explain_login
from callgate.sql.guard.judgement import Statement
from callgate.sql.settings import Mode, ServerAddress

HERE = "127.0.0.1"


@pytest.fixture
async def cable(either: Opener) -> AsyncIterator[tuple[Proxy, ServerAddress]]:
    """A proxy in front of the server, and how to reach it."""
    async with either() as source:
        address = source.address
    proxy = Proxy(address.host, address.port)
    await proxy.mend()
    yield proxy, replace(address, host=HERE, port=proxy.port, connect_timeout_s=1.0)
    await proxy.cut()


async def failure_of(source: Source) -> SourceError:
    with pytest.raises(SourceError) as caught:
        await source.run("SELECT 1")
    return caught.value


async def test_a_server_that_is_down_is_told_with_the_reason_and_found_by_itself(
    either: Opener, cable: tuple[Proxy, ServerAddress]
) -> None:
    proxy, address = cable
    await proxy.cut()
    async with either(address=address) as source:
        source.driver.start()
        error = await failure_of(source)
        assert error.code.code == "source.unavailable"
        assert "cannot be reached" in error.message
        assert "try again in a moment" in error.hint
        assert str(proxy.port) not in error.message + error.hint
        trouble = source.driver.trouble()
        assert trouble is not None
        assert f"{HERE}:{proxy.port}" in trouble
        await proxy.mend()
        while source.driver.trouble() is not None:  # nobody calls: it looks by itself
            await asyncio.sleep(0.01)
        assert await source.cell("SELECT 7") == 7


async def test_callers_of_a_server_that_is_down_add_nothing_to_what_is_remembered_of_it(
    either: Opener, cable: tuple[Proxy, ServerAddress]
) -> None:
    proxy, address = cable
    await proxy.cut()
    async with either(address=address) as source:
        causes = [(await failure_of(source)).__context__ for _ in range(20)]
        told_again = next(one for one in causes if causes.count(one) > 1)
        assert told_again is not None
        assert len(list(walk_tb(told_again.__traceback__))) < 20


async def test_a_server_that_never_answers_does_not_hold_a_call(
    either: Opener, cable: tuple[Proxy, ServerAddress]
) -> None:
    proxy, address = cable
    proxy.is_stalled = True
    async with either(address=replace(address, connect_timeout_s=0.2), pool_size=1) as source:
        errors = await asyncio.gather(*(failure_of(source) for _ in range(8)))
        assert {error.code.code for error in errors} == {"source.unavailable"}
        assert "no answer within 0.2 s" in errors[0].message


async def test_a_server_killed_under_load_gives_errors_and_comes_back_by_itself(
    either: Opener, cable: tuple[Proxy, ServerAddress]
) -> None:
    proxy, address = cable
    async with either(address=address, pool_size=8) as source:
        assert await source.cell("SELECT 7") == 7
        slow = "SELECT SLEEP(0.05)" if source.is_mysql else "SELECT pg_sleep(0.05)"
        calls = [asyncio.create_task(source.run(slow)) for _ in range(64)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        await proxy.cut()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert failed
        assert {type(error) for error in failed} == {SourceError}
        assert {error.code.code for error in failed if isinstance(error, SourceError)} == {
            "source.unavailable"
        }
        await proxy.mend()
        while source.driver.trouble() is not None:
            await asyncio.sleep(0.01)
        answers = await asyncio.gather(*(source.cell(f"SELECT {n}") for n in range(64)))
        assert answers == list(range(64))


async def test_a_statement_whose_connection_is_lost_is_told_so(
    either: Opener, cable: tuple[Proxy, ServerAddress]
) -> None:
    proxy, address = cable
    async with either(address=address) as source:
        task = asyncio.create_task(source.run(f"{source.sleep} /* cut-off */"))
        await source.until_running("cut-off", 1)
        await proxy.cut()
        with pytest.raises(SourceError) as caught:
            await task
        assert "connection to the database was lost" in caught.value.message


async def test_a_wrong_password_is_told_to_the_operator_and_shown_to_nobody(either: Opener) -> None:
    async with either(user=("callgate", "hunter2")) as source:
        error = await failure_of(source)
        assert "refused the gateway's own login" in error.message
        trouble = source.driver.trouble()
        assert trouble is not None
        assert "Check user" in trouble
        for text in (error.message, error.hint, trouble, repr(source.address)):
            assert "hunter2" not in text
        assert "callgate" not in error.message


async def test_an_unknown_database_is_told(either: Opener) -> None:
    async with either() as source:
        address = replace(source.address, database="no_such_database")
    async with either(address=address) as source:
        assert "does not exist" in (await failure_of(source)).message
        assert "no_such_database" in str(source.driver.trouble())


async def test_a_host_without_a_name_is_told(either: Opener) -> None:
    async with either() as source:
        address = replace(source.address, host="callgate.invalid")
    async with either(address=address) as source:
        assert "its name is not known" in (await failure_of(source)).message


async def test_too_many_connections_are_told_as_that(post: Opener, postgres: Database) -> None:
    postgres.run("DROP ROLE IF EXISTS few; CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 1")
    async with post(user=("few", "few"), pool_size=1) as first, post(user=("few", "few")) as second:
        await first.run("SELECT 1")
        assert "too many connections" in (await failure_of(second)).message


def test_too_many_connections_are_told_as_that_by_mysql_too() -> None:
    address = ServerAddress("db", 3306, "me", "hunter2")
    for code in ("1040", "1203", "1226"):
        failure = explain_login(DatabaseFault(code, "08004", "Too many connections"), address)
        assert "too many connections" in failure.told.message
        assert "pool_size" in str(failure)


async def test_something_else_at_that_port_is_told(either: Opener) -> None:
    async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with either() as source:
        address = source.address
    async with listening(hello) as port:
        strange = replace(address, port=port, connect_timeout_s=0.5)
        async with either(address=strange) as source:
            assert (await failure_of(source)).code.code == "source.unavailable"


async def test_another_server_of_the_address_is_used_when_the_first_is_away(either: Opener) -> None:
    async with either() as source:
        near = source.address
    async with either(address=replace(near, port=1, others=((near.host, near.port),))) as source:
        assert await source.cell("SELECT 7") == 7


async def test_a_read_on_a_connection_that_was_closed_while_idle_is_run_on_a_fresh_one(
    either: Opener, cable: tuple[Proxy, ServerAddress]
) -> None:
    proxy, address = cable
    async with either(address=address, pool_size=1) as source:
        assert await source.cell("SELECT 7") == 7
        await proxy.cut()
        await proxy.mend()
        assert await source.cell("SELECT 8") == 8


async def test_a_write_is_never_run_twice(either: Opener) -> None:
    async with either(pool_size=1, mode=Mode.WRITE) as source:
        assert await source.cell("SELECT 7") == 7
        sent: list[bytes] = []
        connection = source.driver._pool._idle[0][0]
        write = connection._wire.stream.write

        def cut_off(data: bytes) -> None:
            sent.append(data)
            write(data)
            connection._wire.stream._transport.abort()

        connection._wire.stream.write = cut_off
        with pytest.raises(SourceError, match="lost while the statement ran"):
            await source.run("SELECT 8")
        assert len(sent) == 1


async def test_a_full_server_makes_callers_wait_for_a_connection_that_is_there(
    post: Opener, postgres: Database
) -> None:
    postgres.run("DROP ROLE IF EXISTS pair; CREATE ROLE pair LOGIN PASSWORD 'pair' CONNECTION LIMIT 2")
    async with post(user=("pair", "pair"), pool_size=8) as source:
        answers = await asyncio.gather(*(source.cell(f"SELECT {n} FROM pg_sleep(0.02)") for n in range(32)))
        assert answers == list(range(32))
        assert source.driver.trouble() is None


async def test_a_full_account_of_mysql_makes_callers_wait_too(maria: Opener, mariadb: Database) -> None:
    mariadb.run(
        "DROP USER IF EXISTS pair@'%';"
        "CREATE USER pair@'%' IDENTIFIED BY 'pair' WITH MAX_USER_CONNECTIONS 2;"
        "GRANT SELECT ON callgate.* TO pair@'%'"
    )
    address = replace(address_of(mariadb), user="pair", password="pair", fetches_server_key=True)
    async with maria(address=address, pool_size=8) as source:
        answers = await asyncio.gather(*(source.cell(f"SELECT {n} + SLEEP(0.02)") for n in range(32)))
        assert answers == list(range(32))
        assert source.driver.trouble() is None


@pytest.mark.parametrize("limit", ["max_connections", "max_user_connections"])
async def test_a_full_server_of_mysql_makes_callers_wait_too(limit: str) -> None:
    """1040 is said in place of a greeting, 1203 after the login. One connection is the administrator's."""
    with mariadb_server("--max-user-connections=50") as server:
        server.run(
            "CREATE USER crowd@'%' IDENTIFIED BY 'crowd'; GRANT SELECT ON callgate.* TO crowd@'%';"
            f"SET GLOBAL {limit} = {10 if limit == 'max_connections' else 3}"
        )
        async with open_driver(server, user=("crowd", "crowd"), pool_size=24) as source:
            answers = await asyncio.gather(*(source.cell(f"SELECT {n} + SLEEP(0.02)") for n in range(64)))
            assert answers == list(range(64))
            assert source.driver.trouble() is None


async def test_a_primary_that_became_a_standby_is_left(post: Opener) -> None:
    """Its connections are closed, so that the next one is made to whoever is the primary then."""
    async with post(mode=Mode.WRITE, pool_size=4) as source:
        await asyncio.gather(*(source.cell("SELECT 1 FROM pg_sleep(0.05)") for _ in range(4)))
        assert source.driver._pool._places == 4
        with pytest.raises(CallgateError):
            await source.driver.run(
                (
                    Statement("BEGIN READ ONLY", "BEGIN", is_transaction=True),
                    Statement("CREATE TABLE never ()", "CREATE", is_write=True),
                )
            )
        assert source.driver._pool._places == 0


async def test_connections_do_not_grow_old(either: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with either(pool_size=1) as source:
        session = "SELECT CONNECTION_ID()" if source.is_mysql else "SELECT pg_backend_pid()"
        first = await source.cell(session)
        assert await source.cell(session) == first
        monkeypatch.setattr("callgate.sql.drivers.network.pool._MAX_AGE_S", 0.0)
        await source.cell(session)
        assert await source.cell(session) != first


async def test_a_server_that_is_back_is_found_at_once_by_who_asks(
    either: Opener, cable: tuple[Proxy, ServerAddress]
) -> None:
    """The back-off of a server that was away for long would be 15 s."""
    proxy, address = cable
    async with either(address=address) as source:
        await proxy.cut()
        source.driver._pool._back_off_s = 15.0
        await failure_of(source)
        assert source.driver._pool.retry_in_s <= 0.5
        await proxy.mend()
