"""What is lost without a way between gateways: without replicas at all, and with `peers = "off"`."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from databases.database import Database
from end_to_end.gateway_process import get_json, running_gateway

from replicas.fleet import TOKENS, running_fleet
from replicas.test_one_gateway import ASKABLE, park, retry_of, text_of

LOGGED = [sys.executable, str(Path(__file__).parents[1] / "end_to_end" / "imports_logged.py")]


async def test_gateways_that_are_no_replicas_fail_behind_a_balancer(postgres: Database) -> None:
    """The baseline: without the hop every client that has a session, or a parked call, fails."""
    async with running_fleet(postgres, is_joined=False) as fleet:
        failed = 0
        for _ in range(15):
            client = fleet.client()
            hello = await client.send("initialize", client.hello)
            await hello.read_head()
            client.session = hello.headers["mcp-session-id"]
            await hello.hang_up()
            answers = [await client.request("ping") for _ in range(3)]
            failed += any("error" in answer for answer in answers)
        assert failed == 15
        async with fleet.modern(capabilities=ASKABLE) as modern:
            for number in range(15):
                # The balancer takes turns: the retry meets another gateway than the call.
                parked = await park(modern, f"baseline-{number}")
                answer = await modern.request("tools/call", retry_of(f"baseline-{number}", parked, "x"))
                assert "error" in answer
        async with fleet.modern() as modern:
            counts = [int(text_of(await modern.call("counter__count")).split()[0]) for _ in range(6)]
        assert counts != list(range(counts[0], counts[0] + 6))


async def test_with_peers_off_each_request_of_a_handshake_client_stands_alone(postgres: Database) -> None:
    async with running_fleet(postgres, extra='peers = "off"') as fleet:
        client = fleet.client()
        hello = await client.send("initialize", client.hello)
        await hello.read_head()
        assert (hello.status, "mcp-session-id" in hello.headers) == (200, False)
        await hello.hang_up()
        await client.notify("notifications/initialized")
        for _ in range(4):
            assert "counter__count" in await client.names()
            assert "result" in await client.call("counter__count")
        for method in ("GET", "DELETE"):
            stream = await client.http(method, client.headers | {"accept": "text/event-stream"})
            await stream.read_head()
            assert (stream.status, stream.headers["allow"]) == (405, "POST")
            await stream.hang_up()
        async with fleet.modern(capabilities=ASKABLE) as modern:
            parked = await park(modern, "alone")
            answer = await modern.request("tools/call", retry_of("alone", parked, "x"))
            assert answer["error"]["data"]["code"] == "caller.request_state"
            assert "out of reach" in answer["error"]["message"]
        assert fleet.database.run("SELECT string_agg(address, '') FROM callgate_replicas.replicas") == ""


async def test_another_principal_s_session_and_state_are_nobody_s(postgres: Database) -> None:
    tokens = "".join(
        f'[[server.tokens]]\ntoken = "{token}"\nprincipal = "{name}"\n' for name, token in TOKENS.items()
    )
    async with running_fleet(postgres, count=2, extra=tokens) as fleet:
        first, second = fleet.replicas
        async with first.client(token=TOKENS["ann"]) as ann, first.client(token=TOKENS["bob"]) as bob:
            bob.session = ann.session
            for replica in (first, second):
                bob.port = replica.port
                answering = await bob.send("tools/list")
                await answering.read_head()
                assert answering.status == 404
                await answering.hang_up()
            ann.port = second.port
            await ann.until_names(lambda names: "counter__count" in names)


async def test_a_gateway_that_is_alone_loads_nothing_of_this_and_opens_one_port(
    tmp_path: Path,
) -> None:
    imports = tmp_path / "imports"
    async with running_gateway(tmp_path, command=LOGGED, IMPORTS=str(imports)) as gateway:
        assert isinstance(gateway.process, asyncio.subprocess.Process)
        opened = await asyncio.to_thread(listening_ports, gateway.process.pid)
    loaded = imports.read_text().splitlines()
    assert [name for name in loaded if name.startswith(("callgate.replicas", "asyncpg"))] == []
    assert "callgate.edge.listener" in loaded
    assert len(opened) == 1


def listening_ports(pid: int) -> list[str]:
    inodes = {
        link.readlink().name
        for link in Path(f"/proc/{pid}/fd").iterdir()
        if str(link.readlink()).startswith("socket:")
    }
    tables = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table.splitlines()]
    return [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in inodes]


async def test_with_an_unreachable_database_it_starts_serves_and_says_so(postgres: Database) -> None:
    away = replace(postgres, port=9)
    async with running_fleet(postgres, away, count=1) as fleet:
        (replica,) = fleet.replicas
        async with replica.client() as client:
            await client.until_names(lambda names: "counter__count" in names)
        health = await asyncio.to_thread(get_json, f"http://127.0.0.1:{replica.port}/healthz")
        assert any("The directory of replicas cannot be reached" in problem for problem in health["problems"])
        assert postgres.password not in str(health) + replica.stderr
