"""Errors that teach, from the live engines: what happened, the nearest names, what to try; nothing secret."""

import asyncio
from collections.abc import Coroutine

import pytest
from sql.network.conftest import Opener, Source

from callgate.model.errors import CallgateError, SourceError
from callgate.sql.drivers.driver import StatementResult
from callgate.sql.guard.judgement import Statement
from callgate.sql.settings import Mode

# The tables of a query without end.
FOR_EVER = [f"information_schema.columns c{n}" for n in range(4)]


async def error_of(source: Source, sql: str, *tables: str, is_write: bool = False) -> CallgateError:
    with pytest.raises(CallgateError) as caught:
        await source.driver.run((Statement(sql, "SELECT", tables=tables, is_write=is_write),))
    return caught.value


def shop(source: Source) -> None:
    if source.is_mysql:
        source.server.run("CREATE DATABASE IF NOT EXISTS shop_of_errors")
    else:
        source.server.run("CREATE SCHEMA IF NOT EXISTS shop_of_errors")
    source.table("shop_of_errors.orders", "id int PRIMARY KEY, total int, UNIQUE (total)")
    source.table("shop_of_errors.customers", "id int PRIMARY KEY")


async def test_an_unknown_table_is_answered_with_the_nearest_and_the_statement_that_lists_them(
    either: Opener,
) -> None:
    async with either() as source:
        shop(source)
        error = await error_of(source, "SELECT * FROM shop_of_errors.ordrs")
        assert error.code.code == "source.unknown_table"
        assert error.message == "Table 'shop_of_errors.ordrs' does not exist."
        assert "Did you mean: shop_of_errors.orders?" in error.hint
        if source.is_mysql:
            assert "Tip: Use SHOW TABLES FROM shop_of_errors to see available tables.\n" in error.hint
            assert "Remember to use fully qualified names: database.table" in error.hint
        else:
            assert "pg_tables WHERE schemaname = 'shop_of_errors'" in error.hint


async def test_of_many_tables_the_database_names_those_that_may_be_meant(
    either: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We hear of so many only, whatever else is there."""
    monkeypatch.setattr("callgate.sql.drivers.network.nearest.NEAR", 5)
    async with either() as source:
        kind, quote = ("DATABASE", "`") if source.is_mysql else ("SCHEMA", '"')
        names = [*(f"aa_{n}" for n in range(30)), f"{quote}Zebra_Rides{quote}"]
        views = "".join(f"CREATE VIEW crowd.{name} AS SELECT 1 AS a;" for name in names)
        source.server.run(f"CREATE {kind} crowd; {views}")
        try:
            error = await error_of(source, "SELECT * FROM crowd.zebra_rids", "crowd.zebra_rids")
        finally:
            source.server.run(f"DROP {kind} crowd {'' if source.is_mysql else 'CASCADE'}")
        assert "Did you mean: crowd.Zebra_Rides" in error.hint


async def test_a_table_of_another_schema_is_found(either: Opener) -> None:
    async with either() as source:
        shop(source)
        error = await error_of(
            source, f"SELECT * FROM {source.server.database if source.is_mysql else 'public'}.customers"
        )
        assert "shop_of_errors.customers" in error.hint


async def test_an_unknown_column_is_answered_with_the_nearest(either: Opener) -> None:
    async with either() as source:
        shop(source)
        error = await error_of(source, "SELECT totl FROM shop_of_errors.orders", "shop_of_errors.orders")
        assert error.code.code == "source.unknown_column"
        assert error.message.startswith("Column 'totl' does not exist")
        assert "Did you mean: total?" in error.hint
        assert (
            "DESCRIBE shop_of_errors.orders" if source.is_mysql else "information_schema.columns"
        ) in error.hint


async def test_a_column_of_an_alias_is_understood(either: Opener) -> None:
    async with either() as source:
        shop(source)
        error = await error_of(source, "SELECT o.totl FROM shop_of_errors.orders o", "shop_of_errors.orders")
        assert "'o.totl'" in error.message
        assert "Did you mean: total?" in error.hint


JOIN = "FROM shop_of_errors.orders AS o JOIN shop_of_errors.customers c ON o.id = c.id"
BOTH = ("shop_of_errors.orders", "shop_of_errors.customers")


async def test_a_column_of_a_join_is_looked_for_in_its_own_table(either: Opener) -> None:
    async with either() as source:
        shop(source)
        error = await error_of(source, f"SELECT c.totl {JOIN}", *BOTH)
        assert "total" not in error.hint
        assert "customers has the columns id" in error.hint
        assert "orders" not in error.hint
        assert "customers" in error.hint.partition("Tip:")[2]


async def test_a_bare_column_of_a_join_is_named_with_its_table(either: Opener) -> None:
    async with either() as source:
        shop(source)
        error = await error_of(source, f"SELECT totl {JOIN}", *BOTH)
        assert "Did you mean: o.total?" in error.hint
        assert "orders" in error.hint.partition("Tip:")[2]


async def test_where_no_column_is_near_all_are_named(either: Opener) -> None:
    async with either() as source:
        shop(source)
        error = await error_of(source, "SELECT zzzzz FROM shop_of_errors.orders", "shop_of_errors.orders")
        assert "shop_of_errors.orders has the columns id, total." in error.hint
        error = await error_of(source, f"SELECT zzzzz {JOIN}", *BOTH)
        assert "shop_of_errors.orders has the columns id, total." in error.hint
        assert "shop_of_errors.customers has the columns id." in error.hint


async def test_of_many_columns_the_first_are_named_and_the_others_counted(either: Opener) -> None:
    async with either() as source:
        shop(source)
        source.table("shop_of_errors.wide", ", ".join(f"c{number} int" for number in range(60)))
        error = await error_of(source, "SELECT zzzzz FROM shop_of_errors.wide", "shop_of_errors.wide")
        assert "shop_of_errors.wide has the columns c0, c1," in error.hint
        assert "and 40 more." in error.hint


async def test_an_unknown_database_is_answered_with_the_nearest(maria: Opener) -> None:
    async with maria() as source:
        shop(source)
        error = await error_of(source, "SHOW TABLES FROM shop_of_erors")
        assert error.code.code == "source.unknown_database"
        assert error.message == "Database 'shop_of_erors' does not exist or is not accessible."
        assert "Did you mean: shop_of_errors?" in error.hint
        assert "Tip: Use SHOW DATABASES to see available databases." in error.hint


async def test_an_unknown_schema_is_answered_with_the_nearest(post: Opener) -> None:
    async with post(mode=Mode.WRITE) as source:
        shop(source)
        error = await error_of(source, "CREATE TABLE shop_of_erors.t (a int)")
        assert error.code.code == "source.unknown_database"
        assert "Did you mean: shop_of_errors?" in error.hint


async def test_a_missing_right_is_told_without_the_account(either: Opener) -> None:
    async with either() as source:
        shop(source)
        source.server.run(
            "CREATE USER IF NOT EXISTS poor@'%' IDENTIFIED BY 'poor'; GRANT SELECT ON callgate.* TO poor@'%'"
            if source.is_mysql
            else "DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN PASSWORD 'poor';"
        )
    async with either(user=("poor", "poor")) as source:
        error = await error_of(source, "SELECT * FROM shop_of_errors.orders")
        assert error.code.code == "source.access_denied"
        engine = "MySQL" if source.is_mysql else "PostgreSQL"
        assert (
            error.message == f"Access denied. Your {engine} user doesn't have permission for this operation."
        )
        assert "Required permission:" in error.hint
        assert "Contact your database administrator to grant appropriate permissions." in error.hint
        assert "poor" not in error.message + error.hint


async def test_a_syntax_error_names_its_place(either: Opener) -> None:
    async with either() as source:
        error = await error_of(source, "SELECT 1\nFROM\n  WHERE x")
        assert error.code.code == "source.syntax"
        assert error.message.startswith("SQL syntax error at line 3, column 3")
        assert "Tip: Check your query syntax and ensure table names are fully qualified" in error.hint
        early = await error_of(source, "SELECT (1")
        assert early.code.code == "source.syntax"


async def test_a_duplicate_key_is_told_with_its_value(either: Opener) -> None:
    async with either(mode=Mode.WRITE) as source:
        shop(source)
        insert = "INSERT INTO shop_of_errors.orders VALUES (1, 5)"
        await source.run(insert, is_write=True)
        error = await error_of(source, insert, is_write=True)
        assert error.code.code == "source.constraint"
        assert "Duplicate entry" in error.message
        assert "1" in error.message
        assert (
            "Tip: This typically means you're trying to insert a row that violates a unique constraint."
            in error.hint
        )


async def test_a_broken_rule_of_the_table_is_told(either: Opener) -> None:
    async with either(mode=Mode.WRITE) as source:
        table = source.table("ruled", "a int NOT NULL, CHECK (a > 0)")
        for value in ("NULL", "-1"):
            error = await error_of(source, f"INSERT INTO {table} VALUES ({value})", is_write=True)
            assert error.code.code == "source.constraint"


async def test_a_lock_is_told_before_the_time_is_out(either: Opener) -> None:
    async with either(mode=Mode.WRITE, timeout_s=3.0, pool_size=2) as source:
        shop(source)
        await source.run("INSERT INTO shop_of_errors.orders VALUES (1, 5)", is_write=True)
        update = "UPDATE shop_of_errors.orders SET total = total + 1 WHERE id = 1"
        sleep = (
            "SELECT SLEEP(100) /* holds-it */" if source.is_mysql else "SELECT pg_sleep(100) /* holds-it */"
        )
        holder = asyncio.create_task(source.run_all("BEGIN", update, sleep, "ROLLBACK", is_write=True))
        await source.until_running("holds-it", 1)
        error = await error_of(source, update, is_write=True)
        assert error.code.code == "source.locked"
        assert error.message == "Lock wait timeout exceeded."
        assert "Try again later or check for long-running queries." in error.hint
        holder.cancel()
        await asyncio.gather(holder, return_exceptions=True)


async def test_a_deadlock_is_told(either: Opener) -> None:
    async with either(mode=Mode.WRITE, pool_size=2) as source:
        table = source.table("crossing")
        source.server.run(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")

        def both(first: int, second: int) -> Coroutine[None, None, tuple[StatementResult, ...]]:
            updates = [f"UPDATE {table} SET name = 'x' WHERE id = {n}" for n in (first, second)]
            pause = "SELECT SLEEP(0.5)" if source.is_mysql else "SELECT pg_sleep(0.5)"
            return source.run_all("BEGIN", updates[0], pause, updates[1], "COMMIT", is_write=True)

        outcomes = await asyncio.gather(both(1, 2), both(2, 1), return_exceptions=True)
        (error,) = [outcome for outcome in outcomes if isinstance(outcome, SourceError)]
        assert error.code.code == "source.locked"
        assert "eadlock" in error.message
        assert "rolled back" in error.message


async def test_the_servers_own_limit_is_told_as_a_time_out(either: Opener) -> None:
    """When it comes before our watchdog: a caller need not know whose clock it was."""
    async with either(mode=Mode.WRITE) as source:
        if source.is_mysql:
            is_mariadb = source.server.flavour == "mariadb"
            limit = "max_statement_time = 0.1" if is_mariadb else "max_execution_time = 100"
            texts = (f"SET SESSION {limit}", f"SELECT count(*) FROM {', '.join(FOR_EVER)}")
        else:
            texts = ("SET statement_timeout = 100", "SELECT pg_sleep(20)")
        with pytest.raises(SourceError) as caught:
            await source.run_all(*texts)
        assert caught.value.code.code == "source.timeout"


async def test_a_statement_ended_by_the_administrator_is_told(post: Opener) -> None:
    async with post() as source:
        task = asyncio.create_task(source.run("SELECT pg_sleep(100) /* by-the-boss */"))
        await source.until_running("by-the-boss", 1)
        source.server.run(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%by-the-boss%'"
            " AND pid <> pg_backend_pid()"
        )
        with pytest.raises(SourceError) as caught:
            await task
        assert "the database ended the statement" in caught.value.message


async def test_an_error_of_another_kind_is_told_with_its_number(either: Opener) -> None:
    async with either() as source:
        if source.is_mysql:
            error = await error_of(source, "SELECT (SELECT 1 UNION SELECT 2)")
            assert error.message == "MySQL error (1242): Subquery returns more than 1 row"
        else:
            error = await error_of(source, "SELECT 1 / 0")
            assert error.message == "PostgreSQL error (22012): division by zero"
        assert error.code.code == "source.failed"


async def test_no_database_selected_is_answered_with_qualified_names(maria: Opener) -> None:
    from dataclasses import replace

    async with maria() as source:
        address = replace(source.address, database=None)
    async with maria(address=address) as source:
        error = await error_of(source, "SELECT * FROM orders")
        assert "Remember to use fully qualified names: database.table" in error.hint
