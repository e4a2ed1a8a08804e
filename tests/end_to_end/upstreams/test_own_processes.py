"""Processes of stdio servers: one for each client that calls, from its first call until it has left."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import stdio_server, text_in
from end_to_end.raw_clients import LegacyClient
from end_to_end.upstream_stage import Actor, code_of, staged, text_of, tokens_for
from mcp import Client
from upstreams.processes import is_alive
from waiting import until

from callgate.app.setup.setup_problems import setup_problems
from callgate.config.specs.config import Config, McpServerSpec, ServerSpec

PID = {"answer": "@PID@"}
SOON = "child_grace_s = 0.2"
OFFERS: dict[str, Any] = {"tools": ["play"], "prompts": ["greet"], "resources": ["file:///a"]}


async def pid_of(client: Any, server: str = "one") -> int:
    return int(text_of(await client.play(f"{server}__play", PID)))


def heard_by(actor: Actor, method: str) -> list[int]:
    return [frame["pid"] for frame in actor.heard(method)]


async def test_what_one_client_does_in_a_process_another_does_not_see(tmp_path: Path) -> None:
    """As it is directly: the first, the other, the first again."""
    one = Actor("one", tmp_path)
    async with staged(one) as stage, stage.client() as first, stage.client("/servers/one/mcp") as second:
        mine = await pid_of(first)
        theirs = int(text_of(await second.play("play", PID)))
        again = await pid_of(first)
        shared = one.pids()[0]
        assert again == mine
        assert len({shared, mine, theirs}) == 3


async def test_lists_prompts_and_resources_come_from_the_shared_process_until_the_first_call(
    tmp_path: Path,
) -> None:
    one = Actor("one", tmp_path)
    one.offer(**OFFERS)
    async with staged(one) as stage, stage.client() as client:
        shared = (await until(one.pids))[0]
        read = {"uri": "file:///a"}
        await client.names()
        await client.request("resources/read", read)
        await client.request("prompts/get", {"name": "one__greet"})
        await client.request("resources/subscribe", read)
        await client.request("logging/setLevel", {"level": "debug"})
        # One that only lists is told apart once it was spoken to.
        await until(lambda: one.pids() == [shared])
        own = await pid_of(client)
        await client.request("resources/read", read)
        await client.request("prompts/get", {"name": "one__greet"})
        assert heard_by(one, "resources/read") == heard_by(one, "prompts/get") == [shared, own]
        # What it had asked for before is asked for again, where it is served now.
        assert heard_by(one, "resources/subscribe") == [shared, own]
        assert heard_by(one, "logging/setLevel") == [shared, own]
        await until(lambda: heard_by(one, "resources/unsubscribe") == [shared])


async def test_clients_that_only_list_start_nothing(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    async with staged(one) as stage:
        for _ in range(3):
            async with stage.client() as client:
                stream = await client.listen()
                assert await client.names() == ["one__play", "one__echo"]
                await stream.hang_up()
        await until(lambda: len(one.pids()) == 1)


async def test_a_clients_process_ends_when_its_stream_closed_without_a_goodbye(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    async with staged(one, server=SOON) as stage, stage.client() as stays, stage.client() as leaves:
        streams = [await stays.listen(), await leaves.listen()]
        kept, gone = await pid_of(stays), await pid_of(leaves)
        await streams[1].hang_up()
        await until(lambda: not is_alive(gone))
        assert is_alive(kept)
        assert is_alive(one.pids()[0])
        assert await pid_of(stays) == kept
        # Its session is still good: whoever comes back gets a new process.
        assert await pid_of(leaves) not in (gone, kept)


async def test_a_client_that_keeps_no_stream_open_is_waited_for_longer(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    async with staged(one, server=f"{SOON}\nchild_idle_s = 1.5") as stage, stage.client() as client:
        own = await pid_of(client)
        await asyncio.sleep(0.8)  # the passing of time is the subject here
        assert await pid_of(client) == own
        await until(lambda: not is_alive(own))


async def test_a_long_call_does_not_count_as_silence(tmp_path: Path) -> None:
    one, gate = Actor("one", tmp_path), tmp_path / "gate"
    async with staged(one, server=f"{SOON}\nchild_idle_s = 3.0") as stage, stage.client() as client:
        own = await pid_of(client)
        playing = asyncio.create_task(client.play("one__play", {"wait_file": str(gate)}, PID))
        await asyncio.sleep(3.2)  # longer than the client may be silent
        gate.touch()
        assert int(text_of(await playing)) == own
        await asyncio.sleep(1.3)  # longer than the grace, and than the gateway needs to see it
        assert await pid_of(client) == own


async def test_a_call_under_way_outlives_its_client_and_then_its_process_goes(tmp_path: Path) -> None:
    one, gate = Actor("one", tmp_path), tmp_path / "gate"
    async with staged(one, server=SOON) as stage, stage.client() as client, stage.client() as other:
        stream = await client.listen()
        steps = [{"wait_file": str(gate)}, PID]
        answering = await client.send("tools/call", {"name": "one__play", "arguments": {"steps": steps}})
        (call,) = await until(lambda: one.heard("tools/call"))
        await stream.hang_up()
        await answering.hang_up()
        await pid_of(other)
        await asyncio.sleep(1.5)  # longer than the grace
        assert is_alive(call["pid"])
        gate.touch()
        await until(lambda: not is_alive(call["pid"]))


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_modern_client_has_a_process_for_its_session(tmp_path: Path, era: str) -> None:
    one = Actor("one", tmp_path, ["--era", era])
    server = f"{SOON}\nchild_idle_s = 1.5"
    async with staged(one, server=server) as stage, stage.modern() as client, stage.client() as other:
        own, theirs = await pid_of(client), await pid_of(other)
        assert await pid_of(client) == own
        assert len({own, theirs, one.pids()[0]}) == 3
        assert len(set(await asyncio.gather(*(pid_of(client) for _ in range(5))))) == 1
        await until(lambda: not is_alive(own))
        assert is_alive(one.pids()[0])


async def test_the_process_of_a_modern_client_on_a_pipe_ends_with_the_pipe(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    async with staged(one, server=SOON) as stage:
        await stage.until_state("one", "up")
        pids: list[int] = []
        async with Client(stdio_server(stage.folder)) as first, Client(stdio_server(stage.folder)) as second:
            for client in (first, second, first):
                result = await client.call_tool("one__play", {"steps": [PID]})
                pids.append(int(text_in(result.content[0])))
        assert pids[0] == pids[2] != pids[1]
        await until(lambda: not any(map(is_alive, pids)))
        assert is_alive(one.pids()[0])


async def test_a_server_that_the_operator_lets_share_has_one_process(tmp_path: Path) -> None:
    one = Actor("one", tmp_path, isolation="shared")
    async with staged(one) as stage, stage.client() as first, stage.modern() as second:
        assert await pid_of(first) == await pid_of(second) == one.pids()[0]
        await until(lambda: len(one.pids()) == 1)


# ---- the bound over all servers


async def test_past_max_children_the_process_of_a_client_that_left_goes_first(tmp_path: Path) -> None:
    one, two = Actor("one", tmp_path), Actor("two", tmp_path)
    # Two shared processes, and two for clients.
    async with staged(one, two, server="max_children = 4") as stage:

        def alive() -> int:
            return sum(map(is_alive, one.pids() + two.pids()))

        # Processes that only list have slots too, for some seconds after the start.
        await until(lambda: one.has_only_shared() and two.has_only_shared())
        async with stage.client() as idle, stage.client() as left, stage.client() as new:
            streams = [await idle.listen(), await left.listen(), await new.listen()]
            first, second = await pid_of(idle, "one"), await pid_of(left, "two")
            await streams[1].hang_up()
            await until(lambda: alive() == 4)  # a shared process can start later than the clients' own
            third = await pid_of(new, "one")
            assert alive() == 4
            assert not is_alive(second)
            assert await pid_of(idle, "one") == first
            # Nobody has left now: the one that was idle longest gives way.
            fourth = await pid_of(left, "two")
            assert alive() == 4
            assert not is_alive(third)
            assert is_alive(first)
            assert is_alive(fourth)


async def test_when_all_processes_are_busy_a_further_client_is_told_so(tmp_path: Path) -> None:
    one, gate = Actor("one", tmp_path), tmp_path / "gate"

    async def hold(client: LegacyClient) -> str:
        return text_of(await client.play("one__play", {"wait_file": str(gate)}, {"answer": "done"}))

    async with staged(one, server="max_children = 2") as stage, stage.client() as busy, stage.client() as new:
        holding = asyncio.create_task(hold(busy))
        await until(lambda: one.heard("tools/call"))
        answer = await new.play("one__play", PID)
        assert code_of(answer) == "upstream.busy"
        assert "max_children" in answer["error"]["data"]["hint"]
        assert await new.names() == ["one__play", "one__echo"], "lists need no process of their own"
        gate.touch()
        assert await holding == "done"
        assert await pid_of(new) in one.pids()


async def test_one_principal_leaves_processes_for_the_others(tmp_path: Path) -> None:
    one, two, gate = Actor("one", tmp_path), Actor("two", tmp_path), tmp_path / "gate"
    tokens, setting = tokens_for("alice", "bob")
    # Two shared processes, and of all five each principal may have two.
    async with (
        staged(one, two, server=f"max_children = 5\n{setting}") as stage,
        stage.client(token=tokens["alice"]) as first,
        stage.client(token=tokens["alice"]) as second,
        stage.client(token=tokens["alice"]) as third,
        stage.client(token=tokens["bob"]) as other,
    ):
        hold = {"wait_file": str(gate)}, {"answer": "done"}
        holding = [
            asyncio.create_task(first.play("one__play", *hold)),
            asyncio.create_task(second.play("two__play", *hold)),
        ]
        await until(lambda: one.heard("tools/call") and two.heard("tools/call"))
        refused = await third.play("one__play", PID)
        assert code_of(refused) == "upstream.busy"
        assert "one principal" in refused["error"]["message"]
        await pid_of(other)
        gate.touch()
        assert [text_of(await held) for held in holding] == ["done", "done"]
        await pid_of(third)  # what is idle at another server makes room


def test_more_servers_than_processes_is_a_problem_of_the_configuration() -> None:
    servers = {name: McpServerSpec(command="server") for name in ("one", "two")}
    server = ServerSpec(max_children=1)
    (problem,) = setup_problems(Config(version=1, server=server, mcpServers=servers))
    assert problem.key_path == "server.max_children"
