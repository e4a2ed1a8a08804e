"""SQL of users: in PostgreSQL's own words, over four views, and nothing else, whoever judges it."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from recorder.happenings import NOW_S, a_session, opened, settled
from stores.kinds import KeptRecord, PostgresKind

from callgate.model.errors import CallerError
from callgate.ports.record_queries import Query
from callgate.recorder.stores.postgres.connection import Connection
from callgate.recorder.stores.postgres.queries import PostgresQueries
from callgate.recorder.stores.postgres.reader import PostgresReader
from callgate.recorder.stores.postgres.upkeep import look


@pytest.fixture(params=["a role", "a login"])
async def record(
    kind: PostgresKind, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[KeptRecord]:
    if request.param == "a login":
        kind.give_reader_login()
    record = kind.record(tmp_path)
    record.emit(opened(a_session()))
    for number in range(5):
        record.emit(settled(a_session(), NOW_S + number, sql=f"SELECT {number}"))
    yield record
    await record.close()


async def test_users_ask_in_the_words_of_the_store(record: KeptRecord) -> None:
    query = Query(
        "SELECT tool_name, count(*) AS calls, max(rows),"
        " min(ts), max(tables) FROM rpc_events WHERE ok GROUP BY 1"
    )
    table = await record.queries.query(query)
    assert table.columns[:2] == ["tool_name", "calls"]
    assert [list(row) for row in table.rows] == [["demo__query", 5, 1, "2026-05-28T20:26:40Z", ["t"]]]
    assert not table.truncated
    joined = "SELECT request_json FROM rpc_events e JOIN sessions s USING (session_id) ORDER BY e.ts"
    cut = await record.queries.query(Query(joined, max_rows=2))
    assert (len(cut.rows), cut.truncated) == (2, True)
    assert (await record.queries.query(Query("SELECT count(*) FROM rpc_event_upstreams"))).rows == [[5]]
    assert (await record.queries.query(Query("SELECT * FROM gaps"))).rows == []


HOSTILE = [
    "SELECT * FROM callgate_store.rpc_events",
    "SELECT * FROM pg_catalog.pg_authid",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "DELETE FROM rpc_events",
    "CREATE TABLE x (y int)",
    "CREATE TEMP TABLE x (y int)",
    "COPY rpc_events TO PROGRAM 'true'",
    "SELECT lo_import('/etc/passwd')",
    "SELECT nextval('callgate_store.batch_numbers')",
    "SELECT 1; SELECT 2",
    "INSERT INTO gaps VALUES (now(), now(), 1, 'x')",
]


@pytest.mark.parametrize("sql", HOSTILE)
async def test_role_and_transaction_let_nothing_else_through_without_the_guard(
    record: KeptRecord, sql: str
) -> None:
    assert isinstance(record.queries, PostgresQueries)
    with pytest.raises(CallerError):
        await record.queries.run(sql, Query(sql))
    with pytest.raises(CallerError):
        await record.queries.query(Query(sql))
    assert (await record.queries.query(Query("SELECT count(*) FROM rpc_events"))).rows == [[5]]


# What a read-only transaction and a role allow all the same.
LASTING = [
    "SELECT lo_create(0)",
    "SELECT pg_advisory_lock(42)",
    "SELECT pg_advisory_lock(42), 1 / (SELECT 0)",
    "SET ROLE pg_monitor",
    "SET work_mem = '1GB'",
    "SELECT set_config('search_path', 'elsewhere', false)",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "LISTEN news",
    "PREPARE kept AS SELECT 1",
]
_LEFT = """
SELECT current_user = session_user, current_setting('work_mem'), current_setting('search_path'),
    current_setting('default_transaction_read_only'), (SELECT count(*) FROM pg_listening_channels()),
    (SELECT count(*) FROM pg_prepared_statements WHERE name = 'kept'),
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),
    (SELECT count(*) FROM pg_largeobject_metadata)
"""


@pytest.mark.parametrize("sql", LASTING)
async def test_nothing_that_a_statement_did_outlives_it_without_the_guard(
    record: KeptRecord, sql: str
) -> None:
    """On its connection, which is used again, or in the database."""
    assert isinstance(record.queries, PostgresQueries)
    assert isinstance(record.reader, PostgresReader)

    async def left(connection: Connection) -> tuple[Any, ...]:
        return tuple(await connection.fetchrow(_LEFT))

    before = await record.reader.read_for_users(left, 5.0)
    with suppress(CallerError):
        await record.queries.run(sql, Query(sql))
    assert await record.reader.read_for_users(left, 5.0) == before
    assert before[0]
    assert before[4:] == (0, 0, 0, 0)


_WHO = "SELECT set_config('role', 'none', true), query_to_xml('SELECT current_user', true, true, '')"


async def test_a_login_of_its_own_is_what_no_statement_can_leave(kind: PostgresKind, tmp_path: Path) -> None:
    """And a role alone is left, which is why it is asked for: the two are told apart."""
    users: list[str] = []
    for number in range(2):
        record = kind.record(tmp_path / str(number))
        assert isinstance(record.queries, PostgresQueries)
        ((_, xml),) = (await record.queries.run(_WHO, Query(_WHO))).rows
        users.append(str(xml).partition("<current_user>")[2].partition("<")[0])
        await record.close()
        kind.give_reader_login()
    assert users[0] == kind.database.user
    assert users[1].startswith("reader_")


async def test_the_doctor_tells_what_holds_users_sql(kind: PostgresKind, tmp_path: Path) -> None:
    record = kind.record(tmp_path)
    await record.reader.extent()  # tables are there
    await record.close()

    async def told() -> str:
        trouble = (await look(kind.address, may_migrate=True)).reader_trouble
        return "" if trouble is None else trouble.message

    assert "which a statement could leave" in await told()
    kind.give_reader_login()
    assert await told() == ""
    reader = kind.database.run("SELECT rolname FROM pg_roles WHERE rolname LIKE 'reader_%'").split()[-1]
    kind.database.run(f"GRANT pg_read_all_data TO {reader}")
    assert "may do more than read the record" in await told()
    kind.database.run(f"REVOKE pg_read_all_data, callgate_reader FROM {reader}")
    assert "cannot read the record" in await told()
    kind.database.run(f"ALTER ROLE {reader} PASSWORD 'another'")
    assert "password authentication failed" in await told()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT set_config('role', 'none', true)",
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        "SELECT current_setting('data_directory')",
        "SELECT * FROM pg_stat_activity",
        "SELECT * FROM callgate.rpc_events, information_schema.tables",
        "SHOW data_directory",
    ],
)
async def test_the_guard_refuses_what_tells_of_the_database(record: KeptRecord, sql: str) -> None:
    with pytest.raises(CallerError):
        await record.queries.query(Query(sql))


async def test_a_query_ends_at_its_limit(record: KeptRecord) -> None:
    assert isinstance(record.queries, PostgresQueries)
    endless = "SELECT count(*) FROM generate_series(1, 1000000000000)"
    with pytest.raises(CallerError, match=r"took longer than 0\.3 s"):
        await record.queries.run(endless, Query(endless, timeout_s=0.3))
