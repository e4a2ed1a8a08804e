"""Through PgBouncer in transaction mode: each transaction may run in another session."""

import asyncio
import os
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest
from databases.database import Database
from sql.network.conftest import Opener, Source, address_of
from sql.network.postgres.pooled_sessions import AS_PINNED, other_client, poison, together

from callgate.model.errors import CallgateError, SourceError
from callgate.sql.drivers.driver import StatementResult
from callgate.sql.guard.judgement import Statement
from callgate.sql.settings import Mode

# 10,000 in scripts/chaos pooler.
_CALLS = int(os.environ.get("CALLGATE_POOLER_CALLS", "400"))


@pytest.fixture
def pooled(post: Opener, pgbouncer: Database) -> Opener:
    def opened(**options: object) -> AbstractAsyncContextManager[Source]:
        return post(**{"address": address_of(pgbouncer), **options})  # pyright: ignore[reportArgumentType]

    return opened


async def test_every_call_is_pinned_whatever_others_leave_in_the_sessions(
    pooled: Opener, pgbouncer: Database
) -> None:
    """64 callers beside four other clients, which change whatever session they get."""
    async with pooled(pool_size=16) as source:
        found, changed = await together(source, pgbouncer, _CALLS)
    assert found == {AS_PINNED: _CALLS}
    assert changed > 0


async def test_a_string_ends_where_the_guard_saw_it_end(pooled: Opener, pgbouncer: Database) -> None:
    """The guard reads one string here. Without the pins the server would read a second column."""
    async with pooled() as source:
        for _ in range(5):
            await poison(pgbouncer)
            assert await source.rows(r"SELECT 'a\' AS word --', version()) --'") == [("a\\",)]


async def test_the_same_text_reads_more_in_a_session_without_pins(pgbouncer: Database) -> None:
    """What the test above holds against."""
    await poison(pgbouncer)
    async with other_client(pgbouncer) as client:
        await client.execute("SET standard_conforming_strings = off")
        assert len(await client.fetchrow(r"SELECT 'a\' AS word --', version() --'") or ()) == 2


async def test_a_stopped_statement_is_gone(pooled: Opener) -> None:
    async with pooled(timeout_s=0.3) as source:
        with pytest.raises(SourceError) as caught:
            await source.run("SELECT pg_sleep(100) /* pooled-late */")
        assert caught.value.code.code == "source.timeout"
        await source.until_running("pooled-late", 0)
    async with pooled() as source:
        task = asyncio.create_task(source.run("SELECT pg_sleep(100) /* pooled-left */"))
        await source.until_running("pooled-left", 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await source.until_running("pooled-left", 0)
        assert await source.cell("SELECT 7") == 7


async def test_what_runs_for_a_gateway_that_is_gone_is_ended(pooled: Opener) -> None:
    """PgBouncer then leaves its own connection to the server, which looks whether somebody is there."""
    async with pooled(timeout_s=600) as source:
        call = asyncio.create_task(source.run("SELECT pg_sleep(500) /* pooled-alone */"))
        await source.until_running("pooled-alone", 1)
        for connection in source.driver._running._running:
            connection._wire.stream.close()
        with pytest.raises(SourceError):
            await call
        await source.until_running("pooled-alone", 0)


async def test_a_long_result_is_cut_and_the_session_goes_on(pooled: Opener) -> None:
    async with pooled(max_rows=10) as source:
        for _ in range(3):
            result = await source.run("SELECT repeat('x', 1000) FROM generate_series(1, 100000)")
            assert (len(result.rows), result.truncated) == (10, True)
        assert await source.cell("SELECT 7") == 7


async def test_reading_alone_is_allowed(pooled: Opener) -> None:
    async with pooled() as source:
        table = source.table("pooled_read")
        with pytest.raises(CallgateError, match="read-only"):
            await source.run(f"INSERT INTO {table} VALUES (1)", is_write=True)
        with pytest.raises(CallgateError):
            await source.run_all("SELECT 1", "COMMIT", f"INSERT INTO {table} VALUES (1)")
        assert source.server.run(f"SELECT count(*) FROM {table}").strip() == "0"


async def test_writes_are_committed_one_by_one_and_as_the_caller_s_transaction(pooled: Opener) -> None:
    async with pooled(mode=Mode.WRITE) as source:
        table = source.table("pooled_write")
        inserted = await source.run(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')", is_write=True)
        assert inserted.row_count == 2

        async def run(*texts: str) -> tuple[StatementResult, ...]:
            return await source.driver.run(
                tuple(
                    Statement(text, word, is_write=word == "INSERT", is_transaction=word != "INSERT")
                    for text in texts
                    for word in [text.split()[0].upper()]
                )
            )

        await run("BEGIN", f"INSERT INTO {table} VALUES (3, 'c')", "COMMIT")
        await run("BEGIN", f"INSERT INTO {table} VALUES (4, 'd')", "ROLLBACK")
        await run("BEGIN", f"INSERT INTO {table} VALUES (5, 'e')")  # left open
        with pytest.raises(CallgateError):
            await run(
                "BEGIN",
                f"INSERT INTO {table} VALUES (6, 'f')",
                f"INSERT INTO {table} VALUES (6, 'g')",
                "COMMIT",
            )
        found = source.server.run(f"SELECT string_agg(name, '' ORDER BY id) FROM {table}")
        assert found.strip() == "abc"


async def test_a_write_that_fails_at_its_commit_is_told(pooled: Opener) -> None:
    async with pooled(mode=Mode.WRITE) as source:
        table = source.table("pooled_late", "id int UNIQUE DEFERRABLE INITIALLY DEFERRED")
        with pytest.raises(CallgateError):
            await source.run(f"INSERT INTO {table} VALUES (1), (1)", is_write=True)
        assert source.server.run(f"SELECT count(*) FROM {table}").strip() == "0"


async def test_a_primary_is_not_taken_for_a_standby(post: Opener, postgres: Database) -> None:
    async with post(address=replace(address_of(postgres), session_attrs="standby")) as source:
        with pytest.raises(SourceError):
            await source.cell("SELECT 7")
        assert "target_session_attrs=standby" in (source.driver.trouble() or "")
    async with post(address=replace(address_of(postgres), session_attrs="prefer-standby")) as source:
        assert await source.cell("SELECT 7") == 7
