"""What an account may really do, held against what its mode needs; told once, as a warning."""

import logging
from collections.abc import Awaitable, Callable

import pytest
from sql.network.conftest import Opener, Source

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.posture import Posture
from callgate.sql.engines.engine import find_engine
from callgate.sql.engines.mysql.posture import examine
from callgate.sql.guard.judgement import Bound
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import Mode

MakeAccount = Callable[[Source], Awaitable[tuple[str, str]]]


def warnings_of(posture: Posture) -> str:
    return "\n".join(finding.text for finding in posture.warnings)


@pytest.fixture
def least(either: Opener) -> MakeAccount:
    """An account that may read one database, and nothing else."""

    async def make(source: Source) -> tuple[str, str]:
        if source.is_mysql:
            source.server.run(
                "CREATE DATABASE IF NOT EXISTS looked_at; CREATE TABLE IF NOT EXISTS looked_at.t (a int);"
                "DROP USER IF EXISTS least@'%'; CREATE USER least@'%' IDENTIFIED BY 'least';"
                "GRANT SELECT, SHOW VIEW ON looked_at.* TO least@'%'; GRANT SELECT ON callgate.* TO least@'%'"
            )
        else:
            source.server.run(
                "SET client_min_messages = error; DROP SCHEMA IF EXISTS looked_at CASCADE;"
                "DROP ROLE IF EXISTS least; CREATE ROLE least LOGIN PASSWORD 'least';"
                "CREATE SCHEMA looked_at;"
                "CREATE TABLE looked_at.t (a int); GRANT USAGE ON SCHEMA looked_at TO least;"
                "GRANT SELECT ON looked_at.t TO least;"
            )
        return ("least", "least")

    return make


# SHOW GRANTS of root as MySQL 9.7 says it.
_ROOT = (
    (
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, SHUTDOWN, PROCESS, FILE, REFERENCES,"
        " INDEX, ALTER, SHOW DATABASES, SUPER, CREATE TEMPORARY TABLES, LOCK TABLES, EXECUTE,"
        " REPLICATION SLAVE, REPLICATION CLIENT, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE,"
        " CREATE USER, EVENT, TRIGGER, CREATE TABLESPACE, CREATE ROLE,"
        " DROP ROLE ON *.* TO `root`@`localhost` WITH GRANT OPTION"
    ),
    (
        "GRANT AUDIT_ADMIN,BACKUP_ADMIN,CONNECTION_ADMIN,SYSTEM_USER,SYSTEM_VARIABLES_ADMIN,XA_RECOVER_ADMIN"
        " ON *.* TO `root`@`localhost` WITH GRANT OPTION"
    ),
    "GRANT PROXY ON ``@`` TO `root`@`localhost` WITH GRANT OPTION",
)


async def test_root_of_mysql_is_one_warning() -> None:
    async def ask(sql: str, parameters: tuple[Bound, ...]) -> list[tuple[Cell, ...]]:
        if sql == "SHOW GRANTS":
            return [(grant,) for grant in _ROOT]
        if "current_user()" in sql:
            return [("root@localhost", "9.7.4", "STRICT_TRANS_TABLES", 0, 0, 1, "utf8mb4", "")]
        if "GROUP BY engine" in sql:
            return []
        return [(3,)] if "routine" in sql else [(0,)]

    found = find_engine("mysql")
    assert found is not None
    posture = await examine(ask, Policy(found.dialect))
    assert [finding.text for finding in posture.findings] == ["The account has all privileges on everything."]


async def test_an_administrator_is_warned_about_once(
    either: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    async with either() as source:
        with caplog.at_level(logging.WARNING):
            posture = await source.driver.posture()
            assert await source.driver.posture() is posture
        words = "all privileges" if source.is_mysql else "superuser"
        assert words in warnings_of(posture)
        assert len([record for record in caplog.records if words in record.getMessage()]) == 1
        assert posture.version.startswith("MariaDB 1" if source.is_mysql else "PostgreSQL 1")
        assert posture.account.startswith("callgate")
        assert posture.role == "primary"
        names = dict(posture.settings)
        assert ("sql_mode" if source.is_mysql else "standard_conforming_strings") in names
        assert source.server.password not in repr(posture)


async def test_an_account_that_may_only_read_gives_no_warning(either: Opener, least: MakeAccount) -> None:
    async with either() as source:
        account = await least(source)
    async with either(user=account) as source:
        posture = await source.driver.posture()
        assert posture.warnings == ()
        assert posture.account.startswith("least")


async def test_rights_to_write_are_a_warning_only_where_the_source_is_read_only(
    either: Opener, least: MakeAccount
) -> None:
    async with either() as source:
        account = await least(source)
        source.server.run(
            "GRANT INSERT, DELETE ON looked_at.* TO least@'%'"
            if source.is_mysql
            else "GRANT INSERT ON looked_at.t TO least; GRANT CREATE ON SCHEMA looked_at TO least"
        )
    async with either(user=account) as source:
        warnings = warnings_of(await source.driver.posture())
        assert "The source is read-only, and its" in warnings
        assert ("DELETE, INSERT" if source.is_mysql else "may write to 1 table.") in warnings
        assert source.is_mysql or "may create in the schemas looked_at" in warnings
    async with either(user=account, mode=Mode.WRITE) as source:
        assert (await source.driver.posture()).warnings == ()


async def test_rights_beyond_the_data_are_a_warning_in_every_mode(either: Opener, least: MakeAccount) -> None:
    async with either() as source:
        account = await least(source)
        source.server.run(
            "GRANT FILE, PROCESS ON *.* TO least@'%'"
            if source.is_mysql
            else "GRANT pg_read_server_files TO least; ALTER ROLE least CREATEROLE"
        )
    for mode in Mode:
        async with either(user=account, mode=mode) as source:
            warnings = warnings_of(await source.driver.posture())
            for words in ("FILE", "PROCESS") if source.is_mysql else ("pg_read_server_files", "CREATEROLE"):
                assert words in warnings


async def test_routines_that_run_as_somebody_else_are_a_warning(either: Opener, least: MakeAccount) -> None:
    async with either() as source:
        account = await least(source)
        source.server.run(
            "CREATE OR REPLACE FUNCTION looked_at.f() RETURNS int SQL SECURITY DEFINER RETURN 1;"
            "GRANT EXECUTE ON looked_at.* TO least@'%'"
            if source.is_mysql
            else "CREATE FUNCTION looked_at.f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'"
        )
    async with either(user=account) as source:
        assert "definer" in warnings_of(await source.driver.posture()).lower()


async def test_what_reaches_out_of_a_read_only_session_is_a_warning(post: Opener) -> None:
    async with post() as source:
        source.server.run(
            "SET client_min_messages = error; CREATE EXTENSION dblink; CREATE EXTENSION postgres_fdw;"
            "DROP SCHEMA IF EXISTS reaching CASCADE; CREATE SCHEMA reaching;"
            "CREATE VIEW reaching.far AS SELECT * FROM dblink('dbname=x', 'SELECT 1') AS t(a int);"
            "CREATE VIEW reaching.near AS SELECT 1 AS a"
        )
        try:
            warnings = warnings_of(await source.driver.posture())
        finally:
            source.server.run(
                "DROP SCHEMA reaching CASCADE; DROP EXTENSION dblink; DROP EXTENSION postgres_fdw"
            )
    assert "superuser" in warnings
    assert "The extension dblink is installed" in warnings
    assert "The extension postgres_fdw is installed" in warnings
    assert "The view reaching.far reaches out" in warnings
    assert "reaching.near" not in warnings


async def test_views_that_run_as_their_definer_are_told(maria: Opener) -> None:
    async with maria() as source:
        source.server.run(
            "CREATE DATABASE IF NOT EXISTS looked_at;"
            "CREATE OR REPLACE SQL SECURITY DEFINER VIEW looked_at.v AS SELECT 1 AS a"
        )
        try:
            findings = (await source.driver.posture()).findings
        finally:
            source.server.run("DROP VIEW looked_at.v")
    assert any("SQL SECURITY DEFINER" in finding.text for finding in findings)
