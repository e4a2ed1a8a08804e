"""SQL of users over the whole record: what is refused, what it sees, and what it cannot do to the gateway."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from recorder.happenings import NOW_S, Record, a_session, opened, settled
from waiting import DEADLINE_S

from callgate.model.errors import CallerError, CallgateError
from callgate.ports.record_queries import Query
from callgate.ports.record_reader import EventFilter
from callgate.sql.record.queries import Queries, QueryLimits


@pytest.fixture
async def record(tmp_path: Path) -> AsyncIterator[Record]:
    """Ten calls of one session."""
    record = Record(tmp_path)
    record.emit(opened(a_session()))
    for number in range(10):
        record.emit(settled(a_session(), NOW_S + number, sql=f"SELECT {number}"))
    yield record
    await record.close()


async def test_a_query_answers_with_columns_and_is_cut_at_its_limit(record: Record) -> None:
    table = await record.queries.query(
        Query("SELECT sql AS s, 1 AS one FROM rpc_events ORDER BY ts", max_rows=2)
    )
    assert (table.columns, table.rows, table.truncated) == (
        ["s", "one"],
        (("SELECT 0", 1), ("SELECT 1", 1)),
        True,
    )
    with_cte = "WITH calls AS (FROM rpc_events) SELECT count(*) FROM calls, range(2)"
    assert (await record.queries.query(Query(with_cte))).rows == ((20,),)


REFUSED = [
    "DELETE FROM rpc_events",
    "DROP VIEW rpc_events",
    "CREATE TABLE x (a INT)",
    "INSERT INTO gaps VALUES (now(), now(), 1, 'x')",
    "COPY rpc_events TO 'x.csv'",
    "ATTACH 'x.duckdb'",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW gaps",
    "SELECT * FROM read_text('*')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM glob('*')",
    "FROM 'x.csv'",
    'WITH a AS (WITH "x.csv" AS (SELECT 1) SELECT 1) SELECT * FROM "x.csv"',
    "SELECT * FROM memory.main.rpc_events",
    "SELECT * FROM main.rpc_events",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('rpc_events')",
    "SELECT current_setting('allowed_directories')",
    "DESCRIBE rpc_events",
    "SHOW ALL TABLES",
    "PRAGMA database_list",
    "EXPLAIN ANALYZE SELECT 1",
    "CALL pragma_version()",
    "SET threads = 8",
    "SELECT nonsense FROM rpc_events",
    "not sql at all",
    "",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "x" * 200_000,
    # What is no function for a query.
    "SELECT getenv('HOME')",
    "SELECT getvariable('x')",
    "SELECT nextval('s')",
    "SELECT current_schemas(true)",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_views",
    # A CTE is known in its own query, to those behind it, and to itself only if RECURSIVE.
    "SELECT * FROM (WITH watermarks AS (SELECT 1) SELECT 1), watermarks",
    "WITH watermarks AS (FROM watermarks) FROM watermarks",
    "WITH a AS (FROM watermarks), watermarks AS (SELECT 1) FROM a",
    "WITH RECURSIVE a AS (FROM watermarks), watermarks AS (SELECT 1) FROM a",
    "SELECT (WITH rpc_open AS (SELECT 1) SELECT count(*) FROM rpc_open), (SELECT count(*) FROM rpc_open)",
    "FROM gaps WHERE count IN (WITH watermarks AS (SELECT 1) FROM watermarks) UNION ALL FROM watermarks",
    'WITH "a.b" AS (SELECT 1) FROM a.b',
    'WITH rpc_open AS (SELECT 1) FROM "2026-11-15".rpc_open',
]
ANSWERED = [
    "WITH watermarks AS (SELECT 1) FROM watermarks",
    "WITH a AS (SELECT 1 AS one), b AS (FROM a) SELECT * FROM b WHERE one IN (SELECT one FROM a)",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT max(n) FROM t",
    "WITH a AS (SELECT 1 AS n) SELECT (WITH b AS (FROM a) SELECT n FROM b), (SELECT n FROM a)",
    "SELECT date_trunc('minute', ts) AS minute, quantile_cont(duration_ms, 0.95) FROM rpc_events GROUP BY 1",
    "PIVOT (SELECT outcome, method FROM rpc_events) ON outcome USING count(*)",
    "VALUES (1)",
    "TABLE gaps",
    # The page's own.
    *re.findall(r"sql: `(.+?)`", Path("web/src/query/examples.ts").read_text(), re.DOTALL),
]


async def test_anything_but_one_select_over_the_record_is_refused(record: Record) -> None:
    for sql in REFUSED:
        with pytest.raises(CallerError) as refused:
            await record.queries.query(Query(sql))
        assert refused.value.code.code == "caller.bad_params", sql
    assert (await record.queries.query(Query("SELECT count(*) FROM rpc_events"))).rows == ((10,),)


async def test_an_honest_query_is_answered(record: Record) -> None:
    for sql in ANSWERED:
        assert (await record.queries.query(Query(sql))).columns, sql


async def test_a_query_that_takes_too_long_is_stopped(record: Record) -> None:
    endless = "SELECT sum(range) FROM range(1000000000000)"
    with pytest.raises(CallerError, match="took longer"):
        await record.queries.query(Query(endless, timeout_s=0.2))


async def test_what_changes_the_record_is_refused_in_our_own_words(record: Record) -> None:
    with pytest.raises(CallerError, match="Only SELECT is allowed here"):
        await record.queries.query(Query("DROP TABLE rpc_events"))


async def test_a_settled_call_is_seen_by_the_next_query(record: Record) -> None:
    count = Query("SELECT count(*) FROM rpc_events")
    for number in range(3):
        assert (await record.queries.query(count)).rows == ((10 + number,),)
        record.emit(settled(a_session(), NOW_S + 100 + number))


async def test_a_copy_serves_until_something_is_written_and_goes_at_the_end(
    record: Record, tmp_path: Path
) -> None:
    copies: list[set[str]] = []
    for is_written in (False, False, True):
        if is_written:
            record.emit(settled(a_session(), NOW_S + 100))
        await record.queries.query(Query("SELECT count(*) FROM rpc_events"))
        copies.append({path.name for path in (tmp_path / "days").glob("snapshot-*.part")})
        assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "days").glob("snapshot-*"))
    assert copies[0] == copies[1]
    assert len(copies[2]) == 1
    assert copies[2] != copies[1]
    await record.close()
    assert not list((tmp_path / "days").glob("snapshot-*"))


async def test_a_query_reads_the_files_of_all_days(record: Record) -> None:
    await record.reader.extent()
    store = record.store.opened
    assert store is not None
    store.begin_part()
    record.emit(settled(a_session(), NOW_S + 100))
    both = Query("SELECT count(*), count(DISTINCT ts) FROM rpc_events")
    assert (await record.queries.query(both)).rows == ((11, 11),)
    assert (await record.queries.query(Query("SELECT tool_call_count FROM sessions"))).rows == ((11,),)


# ---- with the guard switched off: what the process holds by itself


async def outcome(queries: Queries, sql: str, timeout_s: float = 20.0) -> str:
    try:
        return f"answered: {(await queries.run(sql, Query(sql, timeout_s=timeout_s))).rows}"
    except CallgateError as error:
        return error.message


async def test_a_query_takes_its_memory_from_a_process_that_is_limited(record: Record) -> None:
    queries = Queries(record.snapshots, QueryLimits(data_bytes=512 * 1024**2))
    try:
        await outcome(queries, "SELECT 1")
        before = resident_bytes()
        too_much = "SELECT max(length(repeat('x', 10000000 + i::INT))) FROM range(2000) t(i)"
        assert "more memory than a query may use" in await outcome(queries, too_much)
        assert resident_bytes() - before < 64 * 1024**2
        assert await outcome(queries, "SELECT 41 + 1") == "answered: ((42,),)"
    finally:
        await queries.close()


async def test_a_query_that_looks_at_no_interrupt_ends_with_its_process(record: Record) -> None:
    """One call of a function that takes for ever, in little memory."""
    deaf = "SELECT levenshtein(repeat('a', 3000000), repeat('b', 3000000))"
    assert await outcome(record.queries, deaf, 1.0) == "The query took longer than 1 s"
    assert await outcome(record.queries, "SELECT 41 + 1") == "answered: ((42,),)"


@pytest.mark.parametrize(
    "sql",
    [
        "COPY rpc_events TO '/tmp/callgate-stolen.csv'",
        "SELECT * FROM read_text('/etc/passwd')",
        "ATTACH '/tmp/callgate-other.duckdb'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "DROP VIEW rpc_events",
        "CREATE TABLE x (a INT)",
        "SELECT 1; SELECT 2",
    ],
)
async def test_the_process_lets_nothing_out_by_itself(record: Record, sql: str) -> None:
    assert not (await outcome(record.queries, sql)).startswith("answered")


async def test_an_answer_is_cut_before_it_fills_the_gateway(record: Record) -> None:
    wide = ", ".join(f"repeat('x', 300000) AS c{number}" for number in range(100))
    table = await record.queries.run(f"SELECT {wide} FROM range(5)", Query("", timeout_s=DEADLINE_S))
    assert sum(len(cell) for row in table.rows for cell in row) < 20 * 1024**2
    assert table.truncated
    nested = await record.queries.run("SELECT range(3000000)", Query("", timeout_s=DEADLINE_S))
    assert "cut" in nested.rows[0][0]


async def test_slow_queries_starve_neither_the_reads_nor_each_other_for_ever(record: Record) -> None:
    queries = Queries(record.snapshots, QueryLimits(at_once=2, patience_s=0.2))
    endless = "SELECT count(*) FROM range(100000000000) WHERE range % 7 = 3"
    try:
        slow = [asyncio.create_task(outcome(queries, endless, 600.0)) for _ in range(2)]
        while not queries.is_full:
            await asyncio.sleep(0)
        late = [asyncio.create_task(outcome(queries, endless, 600.0)) for _ in range(6)]
        async with asyncio.timeout(60):
            assert len((await record.reader.events(EventFilter(), 50)).rows) == 10
            assert {await one for one in late} == {
                "At most 2 queries run at once, and this one did not start within 0.2 s"
            }
        assert not any(one.done() for one in slow)
    finally:
        await queries.close()
    await asyncio.gather(*slow)


async def test_a_process_that_nobody_asks_ends_and_the_next_query_has_another(record: Record) -> None:
    queries = Queries(record.snapshots, QueryLimits(idle_s=0.0))
    try:
        for _ in range(2):
            assert await outcome(queries, "SELECT 41 + 1") == "answered: ((42,),)"
            async with asyncio.timeout(60):
                while queries.process_count:
                    await asyncio.sleep(0.01)  # the kernel tells nobody but its reader
    finally:
        await queries.close()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
