"""Workers write one record: whichever is asked, it is whole, and the live stream tells it in one order."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from urllib.request import Request, urlopen

import pytest
import pytest_asyncio
from end_to_end.gateway_process import run_callgate
from end_to_end.record.test_live_stream import CutReader
from mcp import Client
from replicas.fleet import TOKENS
from workers.team import Team, running_team

pytestmark = pytest.mark.asyncio(loop_scope="module")
CALLS = "SELECT id FROM rpc_events WHERE method = 'tools/call' AND outcome IS NOT NULL"
TRIES = 5  # of connections, each to any worker


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Team]:
    async with running_team(tmp_path_factory.mktemp("workers"), extra="[record]\noffer = true") as team:
        yield team


async def test_the_official_client_of_the_handshake_era_keeps_its_session(team: Team) -> None:
    async def count() -> list[str]:
        async with Client(f"{team.url}/mcp", mode="legacy") as client:
            answers = await asyncio.gather(*(client.call_tool("counter__count", {}) for _ in range(4)))
        return sorted(getattr(answer.content[0], "text", "").split()[0] for answer in answers)

    for counted in await asyncio.gather(*(count() for _ in range(4))):
        assert counted == ["1", "2", "3", "4"]


async def test_every_call_is_told_once_and_in_the_same_order_to_all(team: Team) -> None:
    before = len(team.ask(CALLS))
    readers = [CutReader(team.port, chance=Random(number)) for number in range(3)]

    async def call() -> None:
        async with team.client() as client, team.modern() as modern:
            for _ in range(5):
                await asyncio.gather(client.call("counter__count"), modern.call("counter__count"))

    async def read(reader: CutReader, is_cut: bool) -> None:
        async with asyncio.timeout(60):
            while len(reader.settled) < before + 40:
                await reader.read(reader.chance.randint(1, 9_000) if is_cut else None, before + 40)

    await asyncio.gather(
        read(readers[0], False), *(read(one, True) for one in readers[1:]), *(call() for _ in range(4))
    )
    assert len(set(readers[0].settled)) == len(readers[0].settled) == before + 40
    assert readers[1].settled == readers[2].settled == readers[0].settled
    assert sorted(readers[0].settled) == sorted(row[0] for row in team.ask(CALLS))


async def test_health_and_metrics_are_those_of_all_workers_whoever_is_asked(team: Team) -> None:
    async with team.modern() as client:
        await client.call("counter__count")
    recorded = len(team.ask(CALLS))
    for _ in range(TRIES):
        assert team.get("/healthz")["status"] == "ok"
        assert team.get("/readyz") == {"status": "ready"}
        with urlopen(f"{team.url}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        assert re.findall(r'callgate_worker_up\{worker="(\d)"\} 1', text) == ["0", "1", "2"]
        assert re.findall(r"callgate_record_healthy\{.*\} (\d)", text) == ["1", "1", "1"]
        counted = re.findall(r'callgate_exchanges_total\{.*method="tools/call".*\} (\d+)', text)
        assert sum(map(int, counted)) == recorded


async def test_answers_of_every_kind_come_back_whole_from_any_worker(team: Team) -> None:
    exported: set[bytes] = set()
    async with team.modern() as client:
        await client.call("counter__count")
    for _ in range(TRIES):
        with urlopen(f"{team.url}/api/v1/export?format=jsonl&tool=counter__count", timeout=30) as answer:
            assert answer.headers["content-disposition"].startswith("attachment")
            exported.add(answer.read())
        with urlopen(Request(f"{team.url}/api/v1/about", method="HEAD"), timeout=30) as answer:
            assert answer.status == 200
            assert answer.read() == b""
        with urlopen(f"{team.url}/", timeout=30) as answer:
            assert b"<html" in answer.read()
        assert team.get("/api/v1/nothing")["status"] == 404
    assert len(exported) == 1
    assert exported != {b""}


async def test_an_agent_reads_its_own_calls_from_any_worker(team: Team) -> None:
    async with team.modern() as client:
        await client.call("counter__count")
        recorded = len(team.ask("SELECT id FROM rpc_events WHERE tool_name = 'counter__count'"))
        assert recorded
        sql = "SELECT count(*) AS n FROM rpc_events WHERE tool_name = 'counter__count'"
        for _ in range(TRIES):
            answer = await client.call("record__query", {"query": sql})
            assert answer["result"]["structuredContent"]["rows"] == [[recorded]], answer
        refused = await client.call("record__query", {"query": "SELECT * FROM nowhere"})
        assert refused["result"]["isError"] is True


async def test_our_own_commands_join_the_gateway(team: Team) -> None:
    state, config = team.folder / "state", str(team.folder / "callgate.toml")
    called = await run_callgate(state, "call", "counter__count", "--json", "--config", config)
    assert called.exit_code == 0, called.stderr
    running = json.loads((state / "gateway.json").read_text())
    assert (running["pid"], running["url"]) == (team.process.pid, team.url)
    asked = await run_callgate(state, "query", "SELECT count(*) AS n FROM rpc_events", "--json")
    assert asked.exit_code == 0, asked.stderr
    assert team.ask("SELECT count(*) FROM rpc_events WHERE client LIKE 'callgate%'") != [["0"]]


async def test_a_second_gateway_here_or_on_the_same_port_is_refused_with_a_reason(
    team: Team, tmp_path: Path
) -> None:
    same = await run_callgate(team.folder / "state", "serve", "--workers", "2", "--port", "0")
    assert same.exit_code == 1
    assert f"pid {team.process.pid}" in same.stderr
    assert "--state-dir" in same.stderr
    other = await run_callgate(tmp_path, "serve", "--workers", "2", "--port", str(team.port))
    assert other.exit_code == 4
    assert f"Callgate already runs at {team.url}" in other.stderr


async def test_who_has_no_token_gets_from_any_worker_what_is_open_and_no_more(tmp_path: Path) -> None:
    tokens = f'[server]\ntokens = [{{ token = "{TOKENS["ann"]}", principal = "ann" }}]'
    async with running_team(tmp_path, workers=2, extra=tokens) as team:
        for _ in range(TRIES):
            assert team.get("/healthz").keys() == {"status", "version"}
            assert team.get("/api/v1/about")["code"] == "refused.unauthenticated"
            asked = Request(f"{team.url}/api/v1/about", headers={"authorization": f"Bearer {TOKENS['ann']}"})
            with urlopen(asked, timeout=30) as answer:
                assert json.load(answer)["principal"] == "ann"
