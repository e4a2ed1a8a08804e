"""A call of an SQL tool on the plain path is answered and recorded exactly as on the general one.

Each conversation is held twice, as in `test_plain_path`: on the plain path and on the general one.
"""

import asyncio
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
from edge.http_probe import Answer
from end_to_end.plain.test_plain_path import LEGACY, MODERN, Speaker
from waiting import until

from callgate.app.build import Gateway, build_gateway
from callgate.config.load import load_config
from callgate.config.sources.flags import Flags
from callgate.sql.server.server import SqlServer

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
    {"query": ""},
    {"query": "x" * 20_000},
    {"query": 5},
    {"query": "SELECT 1", "strange": True},
    {},
    None,
    [],
]
# All that is said of a call, but for times and ids.
ROWS = """
    SELECT e.client LIKE '%-plain', split_part(e.client, '-', 1), e.method, e.server_name, e.server_version,
        e.tool_name, e.ok, e.error, e.error_code, e.outcome, e.ended_by, e.request_json, e.response_json,
        e.source_id, e.sql, e.statement_type, e.mode, e.verdict, e.rule, e.tables, e.rows, e.truncated,
        u.server_name, u.ok, u.same_request, u.same_response, u.error, u.server_version
    FROM rpc_events e LEFT JOIN rpc_event_upstreams u ON u.event_id = e.id
    WHERE e.method = 'tools/call' AND NOT (e.outcome = 'refused' AND e.error_code LIKE 'caller.%')
"""


@asynccontextmanager
async def gateway_with_goods(folder: Path) -> AsyncIterator[tuple[Gateway, int]]:
    with sqlite3.connect(folder / "goods.db") as database:
        database.execute("CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT)")
        database.executemany("INSERT INTO goods VALUES (?, ?)", [(n, f"good {n}") for n in range(1, 20)])
    database.close()
    source = f'[[sources]]\nid = "goods"\ndsn = {json.dumps(f"sqlite:///{folder}/goods.db")}\n'
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


async def hold(port: int, era: str, *, is_general: bool) -> list[Any]:
    name = f"{era}-{'general' if is_general else 'plain'}"
    speaker = Speaker(port, name, era, "/servers/goods/mcp", is_general=is_general)
    await speaker.open()
    answers = [said(await speaker.ask("tools/list", {}))]
    for arguments in QUERIES:
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


async def test_it_is_answered_and_recorded_as_on_the_general_path(tmp_path: Path) -> None:
    async with gateway_with_goods(tmp_path) as (gateway, port):
        begun = count_begun(gateway)
        for era in (LEGACY, MODERN):
            plain = await hold(port, era, is_general=False)
            assert plain == await hold(port, era, is_general=True)
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
