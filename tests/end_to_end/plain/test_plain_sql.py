"""A call of an SQL tool on the plain path is answered and recorded exactly as on the general one.

Each conversation is held twice, as in `test_plain_path`: on the plain path and on the general one.
"""

import asyncio
import gc
import json
import re
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from databases.database import Database
from edge.http_probe import Answer
from end_to_end.plain.test_calls_of_a_call import functions_called
from end_to_end.plain.test_plain_path import LEGACY, MODERN, Speaker
from waiting import until

from callgate.app.build import Gateway, build_gateway
from callgate.config.load import load_config
from callgate.config.sources.flags import Flags
from callgate.sql.server.server import SqlServer
from callgate.sql.server.statement_runner import StatementRunner

QUERIES: list[Any] = [
    {"query": "SELECT name FROM goods WHERE id = 1", "response_format": "json"},
    {"query": "SELECT name FROM goods WHERE id = 2"},
    {"query": "SELECT name, id FROM goods ORDER BY id LIMIT 5"},
    {"query": "DELETE FROM goods"},
    {"query": "SELECT load_extension('x')"},
    {"query": "SELECT * FROM no_such_table"},
    {"query": "SELECT nme FROM goods"},
    {"query": "SELECT"},
    {"query": "SELECT 1; SELECT 2"},
    {"query": "SELECT a.id, b.name FROM goods a CROSS JOIN goods b CROSS JOIN goods c ORDER BY a.id, b.id"},
    {"query": "SELECT name FROM goods WHERE id = 3", "response_format": "xml"},
    {"query": "SELECT name FROM goods WHERE id = 3", "response_format": None},
    {"query": ""},
    {"query": "x" * 20_000},
    {"query": 5},
    {"query": "SELECT 1", "strange": True},
    {},
    None,
    [],
]
# Of a warm one, at /mcp, with `sync = "reply"`; without those that write its group to the journal.
MOST_PLAIN_READ = 88
# All that is said of a call, but for times and ids.
ROWS = """
    SELECT e.client LIKE '%-plain', split_part(e.client, '-', 1), e.method, e.server_name, e.server_version,
        e.tool_name, e.ok, e.error, e.error_code, e.outcome, e.ended_by, e.request_json, e.response_json,
        e.source_id, e.sql, e.statement_type, e.mode, e.verdict, e.rule, e.tables, e.rows, e.truncated,
        u.server_name, u.ok, u.same_request, u.same_response, u.error, u.server_version
    FROM rpc_events e LEFT JOIN rpc_event_upstreams u ON u.event_id = e.id
    WHERE e.method = 'tools/call' AND NOT (e.outcome = 'refused' AND e.error_code LIKE 'caller.%')
"""


@pytest.fixture(params=["sqlite", "mariadb"])
def goods(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The DSN of a database with a table of goods. A plain read needs a task on the first engine alone."""
    return sqlite_goods(tmp_path) if request.param == "sqlite" else request.getfixturevalue("mariadb_goods")


@pytest.fixture
def mariadb_goods(mariadb: Database) -> str:
    rows = ", ".join(f"({n}, 'good {n}')" for n in range(1, 20))
    mariadb.run(
        "DROP DATABASE IF EXISTS goods; CREATE DATABASE goods;"
        "CREATE TABLE goods.goods (id INTEGER PRIMARY KEY, name TEXT);"
        f"INSERT INTO goods.goods VALUES {rows}"
    )
    return f"{mariadb.dsn.rpartition('/')[0]}/goods?ssl=off"


def sqlite_goods(folder: Path) -> str:
    with sqlite3.connect(folder / "goods.db") as database:
        database.execute("CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT)")
        database.executemany("INSERT INTO goods VALUES (?, ?)", [(n, f"good {n}") for n in range(1, 20)])
    database.close()
    return f"sqlite:///{folder}/goods.db"


@asynccontextmanager
async def gateway_with_goods(folder: Path, dsn: str | None = None) -> AsyncIterator[tuple[Gateway, int]]:
    source = f'[[sources]]\nid = "goods"\ndsn = {json.dumps(dsn or sqlite_goods(folder))}\n'
    (folder / "callgate.toml").write_text(f"version = 1\n{source}")
    environment = {"CALLGATE_STATE_DIR": str(folder / "state")}
    loaded = load_config(Flags(config=folder / "callgate.toml"), environment)
    gateway = await build_gateway(loaded, keeps_store=True)
    try:
        yield gateway, await gateway.listener.start("127.0.0.1", 0)
    finally:
        await gateway.close()


def said(answer: Answer) -> tuple[int, str]:
    text = re.sub(r'executionTime(\\?)":[0-9.e-]+', r'executionTime\1":0', answer.body.decode())
    return answer.status, re.sub(r"in [0-9.]+ ms", "in 0 ms", text)


def qualified(arguments: Any) -> Any:
    """The same of a table whose database is named: MariaDB wants that."""
    if not isinstance(arguments, dict) or not isinstance(query := arguments.get("query"), str):
        return arguments
    return {**arguments, "query": re.sub(r"\b(FROM|JOIN) goods\b", r"\1 goods.goods", query)}


async def hold(port: int, era: str, queries: list[Any], *, is_general: bool) -> list[Any]:
    name = f"{era}-{'general' if is_general else 'plain'}"
    speaker = Speaker(port, name, era, "/servers/goods/mcp", is_general=is_general)
    await speaker.open()
    answers = [said(await speaker.ask("tools/list", {}))]
    for arguments in queries:
        answers += [said(await speaker.call("query", arguments)) for _ in range(2)]
    answers.append(said(await speaker.call("search_objects", {"object_type": "table"})))
    answers.append(said(await speaker.call("explain", {"query": "SELECT name FROM goods"})))
    await speaker.probe.hang_up()
    return answers


def count_begun(gateway: Gateway) -> list[str]:
    begun: list[str] = []
    begin = gateway.relay.begin

    def count(arrival: Any, tool_name: str, receiver: Any) -> Any:
        call = None if arrival.client.endswith("-general") else begin(arrival, tool_name, receiver)
        if call is not None:
            begun.append(arrival.client)
        return call

    gateway.relay.begin = count
    return begun


async def test_it_is_answered_and_recorded_as_on_the_general_path(tmp_path: Path, goods: str) -> None:
    async with gateway_with_goods(tmp_path, goods) as (gateway, port):
        begun = count_begun(gateway)
        queries = QUERIES if goods.startswith("sqlite") else list(map(qualified, QUERIES))
        await gateway.upstreams.sql_servers[0].retry()  # now it knows the version of its server
        for era in (LEGACY, MODERN):
            plain = await hold(port, era, queries, is_general=False)
            assert plain == await hold(port, era, queries, is_general=True)
        assert len([client for client in begun if client.endswith("-plain")]) > len(QUERIES)
    rows: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for day in (tmp_path / "state" / "record" / "days").glob("*.duckdb"):
        with duckdb.connect(str(day), read_only=True) as store:
            for is_plain, *row in store.execute(ROWS).fetchall():
                told = repr(row)
                told = re.sub(r'executionTime(\\*)":[0-9.e-]+', "", told)
                rows[is_plain][re.sub(r"in [0-9.]+ ms", "", told)] += 1
    assert rows[True].total() > 2 * len(QUERIES)
    only_plain, only_general = rows[True] - rows[False], rows[False] - rows[True]
    assert not only_plain | only_general, "\n".join(["plain:", *only_plain, "general:", *only_general])


async def test_a_bug_in_it_is_answered_as_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway_with_goods(tmp_path) as (gateway, port):
        begun = count_begun(gateway)
        speaker = Speaker(port, "one", LEGACY, "/servers/goods/mcp", is_general=False)
        await speaker.open()
        await speaker.ask("tools/list", {})
        for _ in range(3):
            await speaker.call("query", QUERIES[0])
        before = len(begun)

        async def fail(*_: Any) -> bytes:
            raise ZeroDivisionError

        monkeypatch.setattr(SqlServer, "_call", fail)
        answer = (await speaker.call("query", QUERIES[0])).json()
        assert len(begun) == before + 1, "it was a plain call"
        assert answer["error"]["data"]["code"] == "bug.internal"
        await speaker.probe.hang_up()


async def test_a_client_that_hangs_up_ends_its_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway_with_goods(tmp_path) as (gateway, port):
        begun = count_begun(gateway)
        speaker = Speaker(port, "one", MODERN, "/servers/goods/mcp", is_general=False)
        await speaker.open()
        await speaker.ask("tools/list", {})
        for _ in range(3):
            await speaker.call("query", QUERIES[0])
        before = len(begun)
        ended: list[bool] = []

        async def wait(*_: Any) -> bytes:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)
            return b""

        monkeypatch.setattr(SqlServer, "_call", wait)
        body = speaker.request("tools/call", {"name": "query", "arguments": QUERIES[0]})
        await speaker.send(body, "tools/call", "query")
        await until(lambda: len(begun) == before + 1)
        await speaker.probe.hang_up()
        await until(lambda: ended == [True])


READ = qualified(QUERIES[0])


@asynccontextmanager
async def warm(folder: Path, dsn: str) -> AsyncIterator[tuple[Gateway, Speaker]]:
    """A plain read of that source needs no task any longer."""
    async with gateway_with_goods(folder, dsn) as (gateway, port):
        speaker = Speaker(port, "one", MODERN, "/servers/goods/mcp", is_general=False)
        await speaker.open()
        await speaker.ask("tools/list", {})
        for _ in range(3):
            assert "good 1" in (await speaker.call("query", READ)).body.decode()
        yield gateway, speaker


async def test_a_bug_behind_a_read_without_a_task_is_answered_as_a_bug(
    tmp_path: Path, mariadb_goods: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with warm(tmp_path, mariadb_goods) as (_, speaker):
        with monkeypatch.context() as patched:
            patched.setattr(StatementRunner, "told", lambda *_: 1 / 0)
            answer = (await speaker.call("query", READ)).json()
        assert answer["error"]["data"]["code"] == "bug.internal"
        assert "good 1" in (await speaker.call("query", READ)).body.decode()
        await speaker.probe.hang_up()


async def test_a_client_that_hangs_up_ends_a_read_without_a_task(
    tmp_path: Path, mariadb_goods: str, mariadb: Database
) -> None:
    others = "".join(f" CROSS JOIN goods.goods {name}" for name in "bcdefghij")
    endless = f"SELECT count(*) AS hung_up FROM goods.goods a{others}"
    running = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%hung_up%'"

    async def is_running(count: int) -> bool:
        found = await asyncio.to_thread(mariadb.run, f"{running} AND id <> connection_id()")
        return found.strip() == str(count)

    async with warm(tmp_path, mariadb_goods) as (gateway, speaker):
        body = speaker.request("tools/call", {"name": "query", "arguments": {"query": endless}})
        await speaker.send(body, "tools/call", "query")
        await until(lambda: is_running(1))
        await speaker.probe.hang_up()
        await until(lambda: is_running(0))
        assert [source.is_busy() for source in gateway.upstreams.sql_servers] == [False]


async def test_a_read_without_a_task_goes_through_few_functions(tmp_path: Path, mariadb_goods: str) -> None:
    async with gateway_with_goods(tmp_path, mariadb_goods) as (_, port):
        called = await functions_called(port, {"name": "goods__query", "arguments": READ})
    assert len(called) <= MOST_PLAIN_READ, "\n".join([f"{len(called)} of {MOST_PLAIN_READ}:", *called])


async def test_a_read_without_a_task_leaves_nothing_for_the_collector(
    tmp_path: Path, mariadb_goods: str
) -> None:
    async with warm(tmp_path, mariadb_goods) as (_, speaker):
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            for _ in range(20):
                await speaker.call("query", READ)
            gc.collect()
            left = {type(one).__qualname__ for one in gc.garbage}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
        assert not left & {"BegunPlainRead", "NetworkRead", "BegunToolCall", "Exchange", "Hop"}
        await speaker.probe.hang_up()
