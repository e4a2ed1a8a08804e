"""What is held is held on every way: in a pipe of its own, in the search for tools, and in each worker. A
lock that cannot be used is told."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import run_callgate, running_gateway
from end_to_end.test_stdio import frames, line
from end_to_end.upstream_stage import Actor
from waiting import until

ADD = {"name": "add", "description": "Adds two numbers.", "inputSchema": {"type": "object"}}
WORSE = {**ADD, "description": "Subtracts two numbers."}
MUL = {"name": "mul", "description": "Multiplies two numbers.", "inputSchema": {"type": "object"}}


async def changed(folder: Path, server: str = "") -> Actor:
    """A server that was accepted with one tool, which it changed since, and which has another one now."""
    actor = Actor("one", folder, ["--era", "legacy"], trust="hold")
    actor.offer(tools=[ADD])
    config = f'version = 1\n[server]\nlisten = "127.0.0.1:0"\n{server}\n{actor.toml()}'
    (folder / "callgate.toml").write_text(config)
    assert (await run_callgate(folder, "trust")).exit_code == 0
    actor.offer(tools=[WORSE, MUL])
    return actor


async def ask(folder: Path, *said: bytes) -> list[Any]:
    done = await run_callgate(folder, "stdio", stdin=b"".join(said))
    assert done.exit_code == 0, done.stderr
    return sorted(frames(done.stdout), key=lambda frame: frame["id"])


async def test_a_pipe_without_a_gateway_holds_what_the_lock_holds(tmp_path: Path) -> None:
    await changed(tmp_path)
    listed, called, unknown = await ask(
        tmp_path,
        line(1, "tools/list"),
        line(2, "tools/call", name="one__add", arguments={}),
        line(3, "tools/call", name="one__mul", arguments={}),
    )
    tools = {tool["name"]: tool["description"] for tool in listed["result"]["tools"]}
    assert tools == {"one__add": "Adds two numbers."}
    assert "result" in called
    assert unknown["error"]["data"]["code"] == "caller.unknown_tool"


async def test_a_search_for_tools_finds_no_word_that_is_held(tmp_path: Path) -> None:
    await changed(tmp_path, "tool_search = true")
    for word in ("subtracts", "multiplies"):
        (found,) = await ask(tmp_path, line(1, "tools/call", name="find_tools", arguments={"query": word}))
        told = json.dumps(found["result"]).lower()
        assert "one__mul" not in told
        assert "subtracts two" not in told
    (found,) = await ask(tmp_path, line(1, "tools/call", name="find_tools", arguments={"query": "adds"}))
    assert "Adds two numbers." in json.dumps(found["result"])


async def test_what_is_accepted_at_one_worker_is_shown_by_all(tmp_path: Path) -> None:
    await changed(tmp_path, "workers = 2")
    async with running_gateway(tmp_path) as gateway:

        async def shown() -> set[str]:
            """What many connections are told: each may meet another worker."""
            told = await asyncio.gather(*(gateway.get("/api/v1/tools") for _ in range(8)))
            return {tool["description"] for one in told for tool in one["tools"]}

        async def are_held() -> bool:
            return await shown() == {"Adds two numbers."}

        await until(are_held)
        assert (await run_callgate(tmp_path, "trust", "accept", "one")).exit_code == 0

        async def are_accepted() -> bool:
            return await shown() == {"Subtracts two numbers.", "Multiplies two numbers."}

        await until(are_accepted)


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A lock that nobody can write, whoever runs the tests: its name is that of a folder."""
    (tmp_path / "callgate.lock").mkdir()
    return tmp_path


async def test_a_lock_that_cannot_be_written_is_told_and_nothing_of_a_held_server_is_shown(
    unwritable: Path,
) -> None:
    actor = Actor("one", unwritable, ["--era", "legacy"], trust="hold")
    actor.offer(tools=[ADD])
    (unwritable / "callgate.toml").write_text(
        f'version = 1\n[server]\nlisten = "127.0.0.1:0"\n{actor.toml()}'
    )
    async with running_gateway(unwritable) as gateway:

        async def is_told() -> bool:
            return any("callgate.lock" in one for one in (await gateway.get("/healthz"))["problems"])

        await until(is_told)
        assert (await gateway.get("/api/v1/tools"))["tools"] == []
    refused = await run_callgate(unwritable, "trust", "accept", "one")
    assert refused.exit_code != 0
    assert "callgate.lock" in refused.stderr
