"""Statements on real servers: one at a time, bound values, sessions that forget, writes that end."""

from dataclasses import replace
from pathlib import Path

import pytest
from databases.database import Database
from sql.network.conftest import Opener
from sql.network.proxy import Proxy

from callgate.model.errors import RefusedError, SourceError
from callgate.sql.settings import Mode


async def test_a_row_comes_back_with_its_columns(either: Opener) -> None:
    async with either() as source:
        result = await source.run("SELECT 1 AS n, 'a' AS t")
        assert result.rows == ((1, "a"),)
        assert [column.name for column in result.columns] == ["n", "t"]
        assert (result.row_count, result.truncated, result.is_write) == (1, False, False)
        assert result.elapsed_ms > 0


async def test_stacked_text_is_an_error_and_runs_nothing(either: Opener) -> None:
    async with either(mode=Mode.WRITE) as source:
        table = source.table("stacked")
        with pytest.raises(SourceError) as caught:
            await source.run(f"SELECT 1; INSERT INTO {table} VALUES (1, 'x')")
        assert caught.value.code.code == "source.syntax"
        assert await source.cell(f"SELECT count(*) FROM {table}") == 0


async def test_bound_values_arrive_as_they_are(either: Opener) -> None:
    hostile = "'; DROP TABLE x; -- \\ \" ` % _ ü 😀 \n\r\t"
    async with either() as source:
        holder = source.driver.placeholder
        if source.is_mysql:
            sql = "SELECT ?, ?, ?, ?, ?"
        else:
            types = ("bigint", "text", "float8", "text", "bool")
            sql = "SELECT " + ", ".join(f"{holder(n)}::{name}" for n, name in enumerate(types, start=1))
        (row,) = await source.rows(sql, 2**53 + 1, hostile, 0.1, None, True)
        assert row == (2**53 + 1, hostile, 0.1, None, 1 if source.is_mysql else True)


async def test_a_bound_value_is_no_part_of_the_text(either: Opener) -> None:
    async with either() as source:
        table = source.table("bound")
        source.server.run(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two')")
        holder = source.driver.placeholder(1)
        assert await source.rows(f"SELECT id FROM {table} WHERE name = {holder}", "two") == [(2,)]
        assert await source.rows(f"SELECT id FROM {table} WHERE name = {holder}", "x' OR 'a' = 'a") == []


async def test_a_wrong_number_of_values_is_an_error_and_the_session_goes_on(either: Opener) -> None:
    async with either(pool_size=1) as source:
        with pytest.raises(SourceError):
            await source.run(f"SELECT {source.driver.placeholder(1)}", 1, 2)
        assert await source.cell("SELECT 7") == 7


async def test_text_that_is_not_unicode_is_an_error_and_the_session_goes_on(either: Opener) -> None:
    async with either(pool_size=1) as source:
        with pytest.raises(SourceError):
            await source.run("SELECT '\ud800'")
        assert await source.cell("SELECT 7") == 7


async def test_several_statements_run_in_order_on_one_session(either: Opener) -> None:
    async with either() as source:
        results = await source.run_all("SELECT 1", "SELECT 2", "SELECT 3")
        assert [result.rows for result in results] == [((1,),), ((2,),), ((3,),)]


async def test_a_failing_statement_ends_the_call_and_says_which_it_was(either: Opener) -> None:
    async with either(pool_size=1) as source:
        with pytest.raises(SourceError) as caught:
            await source.run_all("SELECT 1", "SELEC 2", "SELECT 3")
        assert "(Statement 2 of 3; 1 before it were run.)" in caught.value.message
        assert await source.cell("SELECT 7") == 7


async def test_a_reading_call_is_one_read_only_transaction(either: Opener) -> None:
    """Beside the session's own setting: what changes that setting changes nothing for the call it is in."""
    async with either() as source:
        if source.is_mysql:
            if source.server.flavour == "mariadb":
                first, second = await source.run_all("SELECT @@in_transaction", "SELECT @@in_transaction")
                assert (first.rows, second.rows) == (((1,),), ((1,),))
        else:
            first, second = await source.run_all("SELECT now()::text", "SELECT now()::text")
            assert first.rows == second.rows
        change = (
            "SET SESSION TRANSACTION READ WRITE"
            if source.is_mysql
            else "SET default_transaction_read_only = off"
        )
        table = source.table("once_more")
        with pytest.raises(RefusedError):
            await source.run_all(change, f"INSERT INTO {table} VALUES (1, 'x')", is_write=True)


async def test_nothing_a_call_sets_is_there_for_the_next(either: Opener) -> None:
    async with either(pool_size=1, mode=Mode.WRITE) as source:
        if source.is_mysql:
            await source.run_all(
                "SET @secret = 'x'",
                "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
                "SET NAMES latin1",
                "SET autocommit = 0",
                "CREATE TEMPORARY TABLE hidden (a int)",
                "SELECT GET_LOCK('callgate-test', 0)",
            )
            assert await source.rows("SELECT @secret, @@autocommit, @@character_set_client") == [
                (None, 1, "utf8mb4")
            ]
            assert "ANSI_QUOTES" not in str(await source.cell("SELECT @@sql_mode"))
            assert await source.cell("SELECT IS_FREE_LOCK('callgate-test')") == 1
            with pytest.raises(SourceError):
                await source.run("SELECT * FROM hidden")
        else:
            await source.run_all(
                "SET standard_conforming_strings = off",
                "SET search_path = pg_catalog",
                "SELECT pg_advisory_lock(4711)",
                "CREATE TEMPORARY TABLE hidden (a int)",
                "PREPARE p AS SELECT 1",
                "SET default_transaction_read_only = on",
            )
            assert await source.rows(
                "SELECT current_setting('standard_conforming_strings'), current_setting('search_path'),"
                " current_setting('default_transaction_read_only'),"
                " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),"
                " (SELECT count(*) FROM pg_prepared_statements WHERE name = 'p')"
            ) == [("on", '"$user", public', "off", 0, 0)]
            with pytest.raises(SourceError):
                await source.run("SELECT * FROM hidden")


async def test_the_session_is_pinned_whatever_the_server_says(maria: Opener, mariadb: Database) -> None:
    mariadb.run(
        "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_TRANS_TABLES'"
    )
    try:
        async with maria() as source:
            for _ in range(2):  # before and after a reset
                assert await source.cell("SELECT @@sql_mode") == "STRICT_TRANS_TABLES"
                assert await source.rows("SELECT 'a\\'b', \"c\"") == [("a'b", "c")]
    finally:
        mariadb.run("SET GLOBAL sql_mode = DEFAULT")


async def test_the_session_is_pinned_whatever_the_role_says(post: Opener, postgres: Database) -> None:
    postgres.run(
        "DROP ROLE IF EXISTS bent; CREATE ROLE bent LOGIN PASSWORD 'bent';"
        "ALTER ROLE bent SET standard_conforming_strings = off; ALTER ROLE bent SET bytea_output = escape;"
        "ALTER ROLE bent SET default_transaction_read_only = off; ALTER ROLE bent SET DateStyle = 'German';"
    )
    async with post(user=("bent", "bent")) as source:
        for _ in range(2):  # before and after DISCARD ALL
            assert await source.rows("SELECT 'a\\', '\\x00ff'::bytea, '2024-02-29'::date") == [
                ("a\\", "0x00ff", "2024-02-29")
            ]
            assert await source.cell("SELECT current_setting('default_transaction_read_only')") == "on"


async def test_in_read_only_mode_the_session_refuses_a_write(either: Opener) -> None:
    async with either() as source:
        table = source.table("guarded")
        with pytest.raises(RefusedError) as caught:
            await source.run(f"INSERT INTO {table} VALUES (1, 'x')", is_write=True)
        assert caught.value.code.code == "refused.read_only"
        assert await source.cell(f"SELECT count(*) FROM {table}") == 0


async def test_a_write_counts_its_rows_and_stays(either: Opener) -> None:
    async with either(mode=Mode.WRITE) as source:
        table = source.table("written")
        inserted = await source.run(f"INSERT INTO {table} VALUES (1, 'x'), (2, 'y')", is_write=True)
        updated = await source.run(f"UPDATE {table} SET name = 'z' WHERE id = 2", is_write=True)
        assert (inserted.row_count, updated.row_count, updated.is_write) == (2, 1, True)
        assert source.server.run(f"SELECT name FROM {table} ORDER BY id") == "x\nz"


async def test_a_write_that_returns_more_than_is_shown_is_done_whole(either: Opener) -> None:
    async with either(mode=Mode.WRITE, max_rows=3) as source:
        source.server.needs_mariadb("RETURNING")
        table = source.table("returned")
        numbers = ", ".join(f"({n}, 'x')" for n in range(10))
        result = await source.run(f"INSERT INTO {table} VALUES {numbers} RETURNING id", is_write=True)
        assert (len(result.rows), result.truncated, result.row_count) == (3, True, 10)
        assert source.server.run(f"SELECT count(*) FROM {table}") == "10"


async def test_each_write_of_a_call_is_its_own_unless_a_transaction_holds_them(either: Opener) -> None:
    async with either(mode=Mode.WRITE, pool_size=1) as source:
        table = source.table("held")
        one = f"INSERT INTO {table} VALUES (1, 'x')"
        with pytest.raises(SourceError):
            await source.run_all(one, one, is_write=True)
        assert source.server.run(f"SELECT count(*) FROM {table}") == "1"
        two = f"INSERT INTO {table} VALUES (2, 'x')"
        with pytest.raises(SourceError):
            await source.run_all("BEGIN", two, two, "COMMIT", is_write=True)
        assert source.server.run(f"SELECT count(*) FROM {table}") == "1"
        await source.run_all("BEGIN", two, "COMMIT", is_write=True)
        assert source.server.run(f"SELECT count(*) FROM {table}") == "2"


async def test_a_transaction_left_open_ends_with_its_call(either: Opener) -> None:
    async with either(mode=Mode.WRITE, pool_size=1) as source:
        table = source.table("open_ended")
        await source.run_all("BEGIN", f"INSERT INTO {table} VALUES (1, 'x')", is_write=True)
        assert source.server.run(f"SELECT count(*) FROM {table}") == "0"
        assert await source.cell(f"SELECT count(*) FROM {table}") == 0


async def test_the_server_never_reads_a_file_of_ours(maria: Opener, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hunter2\n")
    async with maria(mode=Mode.WRITE) as source:
        table = source.table("taken_from_us", "line text")
        with pytest.raises(SourceError):
            await source.run(f"LOAD DATA LOCAL INFILE '{tmp_path / 'secret.txt'}' INTO TABLE {table}")
        assert source.server.run(f"SELECT count(*) FROM {table}") == "0"


async def test_a_unix_socket_works_like_a_port(either: Opener, mariadb: Database, postgres: Database) -> None:
    from pathlib import Path

    async with either() as source:
        address = source.address
        path = (
            source.server.socket
            if source.is_mysql
            else Path(source.server.socket) / f".s.PGSQL.{address.port}"
        )
        local = replace(address, host="no.such.host", socket=path)
    async with either(address=local) as source:
        assert await source.cell("SELECT 7") == 7


async def test_a_server_that_takes_one_command_at_a_time_gets_one_at_a_time(
    maria: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Amazon's Aurora; here MariaDB is taken for one, and what is sent is looked at."""
    monkeypatch.setattr(
        "callgate.sql.engines.mysql.driver.connection.AURORA_SQL", "SELECT 'aurora_version', '3'"
    )
    async with maria(pool_size=1) as source:
        table = source.table("one_by_one")
        sent: list[bytes] = []
        assert await source.cell("SELECT 7") == 7
        stream = source.driver._pool._idle[0][0]._wire.stream
        write = stream.write
        monkeypatch.setattr(stream, "write", lambda data: (sent.append(bytes(data)), write(data)))
        assert await source.cell("SELECT 7") == 7
        assert await source.cell("SELECT ?", 7) == 7
        with pytest.raises(SourceError):
            await source.run("SELEC 7")
        with pytest.raises(RefusedError):
            await source.run(f"INSERT INTO {table} VALUES (1, 'x')")
        first, second = await source.run_all("SELECT 1", "SELECT 2")
        assert (first.rows, second.rows) == (((1,),), ((2,),))
        assert all(len(data) == 4 + int.from_bytes(data[:3], "little") for data in sent)
        assert len(sent) > 20


async def test_a_proxy_with_numbers_of_its_own_gets_one_command_at_a_time(
    maria: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As MySQL Router, which loses what comes behind a command. Its greeting is recognised by the number."""

    def renumbered(_: Proxy, data: bytes) -> bytes:
        if data[3:5] != b"\0\n":
            return data
        at = data.index(b"\0", 5) + 1
        return data[:at] + b"\x77\x77\x77\x77" + data[at + 4 :]

    monkeypatch.setattr(Proxy, "change", renumbered)
    async with maria(pool_size=1) as source:
        proxy = Proxy(source.address.host, source.address.port)
        await proxy.mend()
        async with maria(address=replace(source.address, port=proxy.port), pool_size=1) as behind:
            assert await behind.cell("SELECT 7") == 7
            assert not behind.driver._pool._idle[0][0]._wire.pipelines
        await proxy.cut()
        assert await source.cell("SELECT 7") == 7
        assert source.driver._pool._idle[0][0]._wire.pipelines
