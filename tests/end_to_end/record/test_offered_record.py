"""`[record] offer`: through real gateways an agent reads what it did itself, and what nobody else did."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from end_to_end.gateway_process import run_callgate
from end_to_end.raw_clients import ModernClient
from end_to_end.upstream_stage import Stage, staged
from recorder.happenings import NOW_S, Record, a_session, opened, settled

from callgate.model.errors import CallgateError
from callgate.model.identity import Principal
from callgate.recorder.stores.duckdb.excerpts import Excerpts
from callgate.sql.drivers.driver import Driver
from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.duckdb.driver.driver import DuckdbDriver
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.record.driver import ExcerptDriver
from callgate.sql.record.turns import Turns

ALICE, BOB = "alice-9f3c27d1a8e64b05", "bob-9f3c27d1a8e64b05"
TOKENS = (
    f'tokens = [{{token = "{ALICE}", principal = "alice"}}, {{token = "{BOB}", principal = "bob"}}]\n'
    "[record]\noffer = true\n"
)
SECRET_OF_ALICE = "what-alice-asked"

# Each would show another principal's rows, the store's own tables or its files, could it reach them.
ATTACKS = [
    "SELECT * FROM rpc_events",
    "SELECT * FROM main.rpc_events",
    "SELECT * FROM memory.main.rpc_events",
    "SELECT * FROM memory.rpc_events",
    "SELECT * FROM temp.rpc_events",
    "SELECT * FROM rpc_open",
    "SELECT * FROM watermarks",
    "SELECT * FROM rpc_event_upstreams",
    "SELECT * FROM sessions",
    "SELECT * FROM sessions WHERE principal <> 'bob' OR true",
    "WITH sessions AS (SELECT 'alice' AS principal, session_id FROM rpc_events) FROM rpc_events, sessions",
    "WITH rpc_events AS (SELECT * FROM memory.main.rpc_events) SELECT * FROM rpc_events",
    "SELECT * FROM rpc_events WHERE sql::INT > 0 OR true",
    "SELECT error(request_json) FROM rpc_events",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_views()",
    "SELECT * FROM duckdb_databases()",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_logs()",
    "SELECT * FROM duckdb_temporary_files()",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_storage_info('rpc_events')",
    "PRAGMA database_list",
    "PRAGMA show_databases",
    "SHOW ALL TABLES",
    "DESCRIBE memory.main.rpc_events",
    "SUMMARIZE rpc_events",
    "SELECT * FROM query('SELECT * FROM memory.main.rpc_events')",
    "SELECT * FROM query_table('memory.main.rpc_events')",
    "SELECT current_setting('allowed_directories')",
    "SELECT getenv('HOME')",
    "SELECT * FROM read_text('{days}/*')",
    "SELECT * FROM read_blob('{days}/*')",
    "SELECT * FROM read_csv('{days}/../journal/*', auto_detect = false, columns = {{'a': 'VARCHAR'}})",
    "SELECT * FROM glob('{days}/*')",
    "SELECT * FROM '{days}/{day}'",
    "FROM '{days}/{day}'",
    "ATTACH '{days}/{day}' AS other",
    "ATTACH '{days}/{day}' AS other (READ_ONLY); SELECT * FROM other.rpc_events",
    'SELECT * FROM "{stem}".rpc_events',
    'SELECT * FROM "{stem}".main.rpc_events',
    "COPY (SELECT 1) TO '{days}/x.csv'",
    "EXPORT DATABASE '{days}/x'",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP VIEW sessions AS SELECT 'alice' AS principal",
    "INSERT INTO sessions SELECT * FROM sessions",
    "DELETE FROM rpc_events",
    "SET enable_external_access = true",
    "SET search_path = 'memory.main'",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CALL pragma_version()",
    "EXPLAIN ANALYZE SELECT * FROM rpc_events",
    "SELECT 1; SELECT * FROM memory.main.rpc_events",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM memory.main.rpc_events'))",
]  # fmt: skip


class TokenClient(ModernClient):
    def __init__(self, port: int, token: str) -> None:
        super().__init__(port, "/mcp", token=token)

    async def query(self, sql: str) -> dict[str, Any]:
        return (await self.call("record__query", {"query": sql}))["result"]

    async def column(self, sql: str) -> list[Any]:
        return [row[0] for row in (await self.query(sql))["structuredContent"]["rows"]]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged(server=TOKENS) as made:
        yield made


def attacks_on(days: Path) -> list[str]:
    (day,) = days.glob("*.duckdb")
    return [attack.format(days=days, day=day.name, stem=day.stem) for attack in ATTACKS]


async def test_two_principals_each_see_their_own_calls_and_their_queries_of_the_record(stage: Stage) -> None:
    alice, bob = TokenClient(stage.port, ALICE), TokenClient(stage.port, BOB)
    await alice.call("demo__query", {"query": f"SELECT '{SECRET_OF_ALICE}'"})
    await bob.call("demo__query", {"query": "SELECT 'bobs own'"})
    asked = "SELECT sql FROM rpc_events WHERE outcome = 'answered' ORDER BY ts"
    assert await alice.column(asked) == [f"SELECT '{SECRET_OF_ALICE}'"]
    assert await bob.column(asked) == ["SELECT 'bobs own'"]
    assert await alice.column(asked) == [f"SELECT '{SECRET_OF_ALICE}'", asked]
    assert await alice.column("SELECT DISTINCT principal FROM sessions") == ["alice"]
    assert await bob.column("SELECT DISTINCT principal FROM sessions") == ["bob"]


async def test_a_call_through_the_api_and_its_replay_are_their_caller_s(stage: Stage) -> None:
    alice, bob = TokenClient(stage.port, ALICE), TokenClient(stage.port, BOB)
    called = await post(
        stage, ALICE, "/api/v1/call", {"tool": "demo__query", "arguments": {"query": "SELECT 5"}}
    )
    await post(stage, ALICE, f"/api/v1/tool-calls/{called['id']}/replay", {})
    asked = "SELECT count(*) FROM rpc_events WHERE sql = 'SELECT 5'"
    assert (await alice.column(asked), await bob.column(asked)) == ([2], [0])


async def post(stage: Stage, token: str, path: str, body: Any) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = Request(f"http://127.0.0.1:{stage.port}{path}", json.dumps(body).encode(), headers)

    def send() -> dict[str, Any]:
        with urlopen(request, timeout=30) as answer:
            return json.load(answer)

    return await asyncio.to_thread(send)


async def test_no_statement_shows_what_somebody_else_did(stage: Stage) -> None:
    alice, bob = TokenClient(stage.port, ALICE), TokenClient(stage.port, BOB)
    await alice.call("demo__query", {"query": f"SELECT '{SECRET_OF_ALICE}'"})
    assert SECRET_OF_ALICE in str(await alice.query("SELECT * FROM rpc_events"))
    for attack in attacks_on(stage.folder / "record" / "days"):
        answer = json.dumps(await bob.call("record__query", {"query": attack}))
        assert SECRET_OF_ALICE not in answer, attack
        assert "alice-" not in answer, attack
        assert str(stage.folder) in attack or str(stage.folder) not in answer, attack
    assert SECRET_OF_ALICE not in json.dumps(await bob.call("record__explain", {"query": "FROM rpc_events"}))
    everything = {"pattern": "*", "detail_level": "full"}
    assert SECRET_OF_ALICE not in json.dumps(await bob.call("record__search_objects", everything))


async def test_without_the_guard_there_is_still_nothing_to_see(tmp_path: Path) -> None:
    """The engine holds one principal's rows: whoever gets past the guard has gained nothing."""
    record = Record(tmp_path)
    mine, theirs = a_session("mine"), a_session("theirs")
    theirs.principal = Principal("alice")
    for session, sql in ((mine, "SELECT 1"), (theirs, SECRET_OF_ALICE)):
        record.emit(opened(session))
        record.emit(settled(session, NOW_S, sql=sql))
    days = record.store.folder
    try:
        assert len(await record.source_requests()) == 2
        excerpt = await Excerpts(record.reader, days).take("local", ["FROM rpc_events, sessions, nothing"])
        driver = DuckdbDriver(excerpt.path, Policy(DUCKDB), pool_size=1)
        for attack in attacks_on(days):
            assert SECRET_OF_ALICE not in await shown(driver, attack), attack
        await driver.close()
    finally:
        await record.close()


async def test_an_excerpt_is_gone_once_its_call_is_over(tmp_path: Path) -> None:
    record = Record(tmp_path)
    days = record.store.folder
    driver = ExcerptDriver(Excerpts(record.reader, days), "local", Policy(DUCKDB), Turns(2))
    try:
        for sql in ("SELECT count(*) FROM sessions", "SELECT no_such_column FROM sessions"):
            await shown(driver, sql)
        assert [path.name for path in days.iterdir() if "excerpt" in path.name] == []
    finally:
        await record.close()


async def test_an_answer_says_how_many_older_calls_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.read.excerpt_limits.MAX_EVENTS", 2)
    record = Record(tmp_path)
    driver = ExcerptDriver(Excerpts(record.reader, record.store.folder), "local", Policy(DUCKDB), Turns(2))
    try:
        for number in range(5):
            record.emit(settled(a_session(), NOW_S + number))
        statement = Statement("SELECT count(*) FROM rpc_events", "SELECT", ("rpc_events",))
        (result,) = await driver.run([statement])
        assert (result.rows, result.note) == (((2,),), "3 older calls of yours are left out.")
    finally:
        await record.close()


async def shown(driver: Driver, attack: str) -> str:
    try:
        return str(await driver.run([Statement(attack, "SELECT")]))
    except CallgateError as error:
        return f"{error.message} {error.hint}"


async def test_what_takes_too_much_memory_ends_alone(stage: Stage) -> None:
    bob = TokenClient(stage.port, BOB)
    for bomb in (
        "SELECT repeat('x', 2000000000)",
        "SELECT list(a.i) FROM range(100000000) a(i), range(100) b(i)",
    ):
        assert (await bob.query(bomb))["isError"] is True
    assert await bob.column("SELECT count(*) FROM sessions") == [1]


async def test_the_record_is_a_source_like_any_other(stage: Stage) -> None:
    alice = TokenClient(stage.port, ALICE)
    listed = {tool["name"]: tool for tool in (await alice.request("tools/list"))["result"]["tools"]}
    names = ("record__query", "record__explain", "record__search_objects")
    assert [listed[name]["annotations"]["readOnlyHint"] for name in names] == [True] * 3
    assert "what you yourself did" in listed["record__query"]["description"]
    uri = "duckdb+record://main/rpc_events"
    contents = (await alice.request("resources/read", {"uri": uri}))["result"]["contents"]
    assert {"name": "tool_name"}.items() <= {
        "name": next(
            one["name"] for one in json.loads(contents[0]["text"])["columns"] if one["name"] == "tool_name"
        )
    }.items()
    cut = (
        await alice.call("record__query", {"query": "SELECT unnest(range(2000))", "response_format": "json"})
    )["result"]
    assert (cut["structuredContent"]["truncated"], cut["structuredContent"]["rowCount"]) == (True, 1000)
    refused = await alice.query("DELETE FROM rpc_events")
    assert "only ever read" in str(refused)


async def test_callgate_call_asks_the_record_without_a_gateway_too(tmp_path: Path) -> None:
    await run_callgate(tmp_path, "call", "demo__query", "query=SELECT 42", CALLGATE_RECORD_OFFER="true")
    asked = ("call", "record__query", "query=SELECT sql FROM rpc_events WHERE sql LIKE '%42%' AND rows = 1")
    found = await run_callgate(tmp_path, *asked, CALLGATE_RECORD_OFFER="true")
    assert (found.exit_code, "| SELECT 42 |" in found.stdout) == (0, True), found.stderr


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("[record]\noffer = true\nenabled = false\n", "record.offer"),
        ('[record]\noffer = true\n[mcpServers.record]\ncommand = "x"\n', "mcpServers.record"),
        ('[record]\noffer = true\n[[sources]]\nid = "record"\ndsn = "sqlite:///x.db"\n', "sources[0].id"),
    ],
)
async def test_an_offer_that_cannot_be_kept_is_a_problem_of_the_configuration(
    tmp_path: Path, toml: str, problem: str
) -> None:
    (tmp_path / "callgate.toml").write_text(f"version = 1\n{toml}")
    found = await run_callgate(tmp_path, "config", "check", cwd=tmp_path)
    assert found.exit_code != 0
    assert problem in found.stdout + found.stderr
