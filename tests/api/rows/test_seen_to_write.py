"""A real server with a tool that is declared read-only, and says during a call that a resource changed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from api.real_gateway import Whole, whole_gateway
from end_to_end.upstream_stage import Actor

UPDATED = '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}'
LOGGED = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'


@pytest.fixture(params=["stdio", "http"])
async def whole(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Whole]:
    actor = Actor("files", tmp_path, ["--era", "legacy"])
    play = {"name": "play", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    actor.offer(tools=[play, "echo"])
    if request.param == "http":
        await actor.start_http()
    try:
        config = f"version = 1\n{actor.toml()}".replace("{", "{{").replace("}", "}}")
        async with whole_gateway(tmp_path, config) as whole:
            yield whole
    finally:
        await actor.stop_http()


async def play(whole: Whole, *steps: dict[str, Any]) -> str:
    return (await whole.call("files__play", steps=[*steps, {"answer": "done"}]))["id"]


async def test_what_the_server_says_of_itself_is_held_against_what_it_declared(whole: Whole) -> None:
    quiet = await play(whole, {"say": LOGGED})
    loud = await play(whole, {"say": UPDATED})
    calls = {call["id"]: call for call in (await whole.get("/api/v1/tool-calls"))["tool_calls"]}
    assert calls[loud]["annotations"] == {"readOnlyHint": True}
    assert (calls[quiet]["seen_to_write"], calls[loud]["seen_to_write"]) == (None, "notice")
    files = await whole.get("/api/v1/servers/files")
    assert files["seen_to_write"] == ["files__play"]
    seen = {tool["name"]: tool["seen_to_write"] for tool in files["tools"]}
    assert (seen["files__play"]["calls"], seen["files__play"]["last_call_id"]) == (1, loud)
    assert seen["files__echo"] is None


async def test_a_call_tells_when_each_hop_began_and_what_was_sent(whole: Whole) -> None:
    await play(whole, {"say": LOGGED})
    call = await whole.get(f"/api/v1/tool-calls/{await play(whole)}")
    (hop,) = call["hops"]
    assert 0 <= hop["started_ms"] <= hop["started_ms"] + hop["duration_ms"] <= call["duration_ms"] + 1
    assert json.loads(hop["request_json"])["name"] == "play"
    assert json.loads(call["request_json"])["name"] == "files__play"
    assert call["replay"] == {
        "possible": True, "reason": None, "tool": "files__play", "needs_confirmation": False,
        "missing_capabilities": [],
    }  # fmt: skip
