"""SQL of users: in ClickHouse's own words, over four views, and nothing else, whoever judges it."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from databases.clickhouse import ClickhouseDatabase
from recorder.happenings import NOW_S, a_session, opened, settled
from sql.corpus_files import load
from stores.kinds import ClickhouseKind, KeptRecord

from callgate.model.errors import CallerError, SetupError
from callgate.ports.record_queries import Query
from callgate.recorder.stores.clickhouse.connection import StoreUser
from callgate.recorder.stores.clickhouse.queries import ClickhouseQueries
from callgate.sql.record.clickhouse_guard import allowed

on_its_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def record(
    clickhouse_engine: ClickhouseDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[KeptRecord]:
    """The same for all tests of this module, none of which can change it."""
    clickhouse_engine.fail_next([])
    kind = ClickhouseKind(clickhouse_engine)
    record = kind.record(tmp_path_factory.mktemp("record"))
    record.emit(opened(a_session()))
    for number in range(5):
        record.emit(settled(a_session(), NOW_S + number, sql=f"SELECT {number}"))
    yield record
    await record.close()
    kind.close()


@on_its_loop
async def test_users_ask_in_the_words_of_the_store(record: KeptRecord) -> None:
    query = Query(
        "SELECT tool_name, count() AS calls, max(rows), min(ts), any(tables),"
        " toUInt64(18446744073709551615), toDecimal64(1.5, 2), round(quantile(0.5)(duration_ms), 3)"
        " FROM rpc_events WHERE ok GROUP BY tool_name"
    )
    table = await record.queries.query(query)
    assert table.columns[:2] == ["tool_name", "calls"]
    assert [list(row) for row in table.rows] == [
        ["demo__query", 5, 1, "2026-05-28T20:26:40Z", ["t"], "18446744073709551615", "1.5", 4.5]
    ]
    assert not table.truncated
    joined = "SELECT request_json FROM rpc_events e JOIN sessions s USING (session_id) ORDER BY e.ts"
    cut = await record.queries.query(Query(joined, max_rows=2))
    assert (len(cut.rows), cut.truncated) == (2, True)
    assert (await record.queries.query(Query("SELECT count() FROM rpc_event_upstreams"))).rows == [[5]]
    assert (await record.queries.query(Query("SELECT * FROM gaps"))).rows == []
    quoted = "SELECT 'it''s \\\\ \\n' AS `a\\`b`, length('#--/*') -- and so on\n;"
    assert (await record.queries.query(Query(quoted))).rows == [["it's \\ \n", 5]]


HONEST = [
    "SELECT toStartOfHour(ts) AS hour, count(), countIf(NOT ok) FROM rpc_events GROUP BY hour ORDER BY hour",
    "WITH slow AS (SELECT * FROM rpc_events WHERE rows > 0) SELECT count() FROM slow GROUP BY tool_name",
    "SELECT tool_name, quantiles(0.5, 0.95)(duration_ms)[2] FROM rpc_events GROUP BY tool_name",
    "SELECT arrayJoin(tables) AS name, count() FROM rpc_events GROUP BY name",
    "SELECT t, count() FROM rpc_events ARRAY JOIN tables AS t GROUP BY t",
    "SELECT * EXCEPT (request_json, response_json) FROM rpc_events ORDER BY ts DESC LIMIT 1 BY tool_name",
    "SELECT JSONExtractString(request_json, 'name') AS n, uniqExact(session_id) FROM rpc_events GROUP BY n",
    "SELECT tool_name, row_number() OVER (PARTITION BY session_id ORDER BY ts) FROM rpc_events",
    "SELECT ts, ok ? 'yes' : 'no', rows::Int64, CAST(rows AS Nullable(String)) FROM rpc_events",
    "SELECT count() FROM rpc_events WHERE ts > now() - INTERVAL 1 DAY AND method IN ('tools/call', 'x')",
    "SELECT a FROM (SELECT 1 AS a UNION ALL SELECT 2) ORDER BY a",
    "SELECT count() FROM rpc_events WHERE session_id IN (SELECT session_id FROM sessions) HAVING count() > 0",
    "SELECT if(ok, 1, 2), multiIf(ok, 1, 2), coalesce(error, '-'), splitByChar('/', method) FROM rpc_events",
    "SELECT method, count() FROM rpc_events GROUP BY method WITH TOTALS",
    "SELECT s.era, e.tool_name FROM sessions AS s LEFT JOIN rpc_events AS e ON e.session_id = s.session_id",
]


@pytest.mark.parametrize("sql", HONEST)
@on_its_loop
async def test_what_people_ask_is_answered(record: KeptRecord, sql: str) -> None:
    assert (await record.queries.query(Query(sql))).rows


# What the engine's own `readonly` refuses.
HOSTILE = [
    "INSERT INTO gaps VALUES (now(), now(), 1, 'x')",
    "INSERT INTO callgate_record (row_kind) VALUES ('event')",
    "ALTER TABLE callgate_record DROP PARTITION '2026-05-28'",
    "ALTER TABLE callgate_record DELETE WHERE 1",
    "DELETE FROM callgate_record WHERE 1",
    "TRUNCATE TABLE callgate_record",
    "DROP TABLE callgate_record",
    "DROP VIEW gaps",
    "CREATE TABLE x (y Int8) ENGINE = Memory",
    "CREATE TEMPORARY TABLE x (y Int8)",
    "CREATE FUNCTION f AS x -> x",
    "RENAME TABLE callgate_record TO x",
    "OPTIMIZE TABLE callgate_record FINAL",
    "SYSTEM SHUTDOWN",
    "SET readonly = 0",
    "SELECT 1 SETTINGS readonly = 0",
    "SELECT 1 SETTINGS max_execution_time = 0",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE callgate_record",
    "SELECT 1 INTO OUTFILE '/tmp/callgate-outfile'",
    "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')",
    "SELECT * FROM file('/etc/passwd', 'CSV', 'a String')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/k.csv')",
    "SELECT * FROM remote('127.0.0.1:1', 'system.one')",
    "SELECT * FROM remoteSecure('127.0.0.1:1', 'system.one')",
    "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
    "SELECT * FROM postgresql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
    "SELECT * FROM sqlite('/tmp/x', 'y')",
    "SELECT * FROM hdfs('hdfs://127.0.0.1:1/x', 'CSV', 'a String')",
    "SELECT * FROM executable('/bin/true', 'CSV', 'a String', 'x')",
    "INSERT INTO FUNCTION url('http://127.0.0.1:1/', 'CSV', 'a String') SELECT 1",
    "SELECT 1 WHERE '1' IN (SELECT a FROM url('http://127.0.0.1:1/', 'CSV', 'a String'))",
]
# What `readonly` lets pass. A server has grants against the first, and keeps to its own folder for files.
TELLING = [
    "SELECT * FROM system.tables",
    "SELECT * FROM callgate_record",
    "SELECT * FROM INFORMATION_SCHEMA.tables",
    "SELECT count() FROM rpc_events WHERE method IN system.one",
    "SELECT count() FROM rpc_events WHERE method IN (secret)",
    "SELECT (WITH secret AS (SELECT 1) SELECT count() FROM secret) FROM secret",
    "SELECT name FROM merge('system', 'one')",
    "SELECT file('/etc/passwd')",
    "SELECT `file`('/etc/passwd')",
    "SELECT \"file\"('/etc/passwd')",
    "SELECT getSetting('max_threads'), currentUser(), hostName(), version()",
    "SELECT dictGet('a', 'b', 1)",
    "SELECT joinGet('a', 'b', 1)",
    "SELECT sleep(3)",
    "SELECT sleepEachRow(3) FROM rpc_events",
    "SELECT * FROM numbers(1000000000000)",
    "SELECT * FROM {t:Identifier}",
    "SHOW TABLES",
    "DESCRIBE TABLE rpc_events",
    "EXISTS TABLE x",
    "EXPLAIN SELECT 1",
    "SELECT * FROM (EXPLAIN SELECT 1)",
    "KILL QUERY WHERE 1",
    "SELECT 1 FORMAT Null",
    "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x) SELECT * FROM x",
    "SELECT $$a$$",
    "SELECT ‘a’",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT '" + "x" * 70_000 + "'",
    "",
    "--",
]


@pytest.mark.parametrize("sql", HOSTILE)
@on_its_loop
async def test_the_engine_lets_nothing_else_through_without_the_guard(record: KeptRecord, sql: str) -> None:
    assert isinstance(record.queries, ClickhouseQueries)
    for ask in (record.queries.run(sql, Query(sql)), record.queries.query(Query(sql))):
        with pytest.raises(CallerError):
            await ask
    assert (await record.queries.query(Query("SELECT count() FROM rpc_events"))).rows == [[5]]
    assert not Path("/tmp/callgate-outfile").exists()


@pytest.mark.parametrize("sql", TELLING)
def test_the_guard_refuses_what_tells_of_the_database(sql: str) -> None:
    with pytest.raises(CallerError):
        allowed(sql)


_QUOTED = re.compile(r"'(\\.|[^'\\])*'|`(\\.|[^`\\])*`")
_DOES = re.compile(r";|\b(delete|update|insert|drop|union|load_file|get_lock|sleep|set_var|into)\b")
_READS = re.compile(r"\b(from|join) (?!\()(\w+)")


@pytest.mark.parametrize("engine", ["duckdb", "mysql", "postgres", "sqlite"])
def test_an_attack_on_another_engine_is_refused_or_does_nothing_here(engine: str) -> None:
    """What passes had its attack in a comment or a text, or asks for much memory, which has its limit."""
    passed = 0
    attacks = load(f"{engine}_attacks")
    for attack in attacks:
        try:
            text = _QUOTED.sub("''", allowed(attack["sql"])).lower()
        except CallerError:
            continue
        passed += 1
        assert not _DOES.search(text), text
        assert {name for _, name in _READS.findall(text)} <= {"a", "b", "x"}, text  # of a WITH
    assert passed < len(attacks) / 6


@on_its_loop
async def test_a_query_ends_at_its_limits(record: KeptRecord) -> None:
    assert isinstance(record.queries, ClickhouseQueries)
    endless = "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1"
    with pytest.raises(CallerError, match=r"took longer than 0\.3 s"):
        await record.queries.run(endless, Query(endless, timeout_s=0.3))
    large = "SELECT groupArray(number) FROM numbers(1000000000)"
    with pytest.raises(CallerError, match="more memory"):
        await record.queries.run(large, Query(large))
    many = "SELECT repeat('x', 20000) FROM numbers(1000)"
    table = await record.queries.run(many, Query(many))
    assert table.truncated
    assert 400 < len(table.rows) < 500  # eight million characters


async def test_users_may_have_an_account_of_their_own(kind: ClickhouseKind, tmp_path: Path) -> None:
    kind.address = replace(kind.address, reader=StoreUser("reader", f"reader-{kind.database.password}"))
    record = kind.record(tmp_path)
    assert (await record.queries.query(Query("SELECT count() FROM rpc_events"))).rows == [[0]]
    await record.close()
    kind.address = replace(kind.address, reader=StoreUser("reader", "not-the-pass-word"))
    record = kind.record(tmp_path)
    with pytest.raises(SetupError) as caught:
        await record.queries.query(Query("SELECT count() FROM rpc_events"))
    assert "Authentication failed" in caught.value.message
    assert "not-the-pass-word" not in repr(caught.value)
    await record.close()
