"""A call that no server got is kept with its tool, server and arguments, and counts on that server's page."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from edge.http_probe import JSON_HEADERS
from end_to_end.gateway_process import get_json
from end_to_end.raw_clients import raw
from end_to_end.upstream_stage import Actor, Stage, code_of, staged

PARAMS = {"name": "bad__play", "arguments": {"text": "hello", "password": "hunter2"}}


async def recorded(stage: Stage) -> dict[str, Any]:
    """The one call in the record, once it is there."""
    url = f"http://127.0.0.1:{stage.port}/api/v1/tool-calls"
    async with asyncio.timeout(45):
        while not (calls := (await asyncio.to_thread(get_json, url))["tool_calls"]):
            await asyncio.sleep(0.1)
    (call,) = calls
    return call


async def page_of(stage: Stage, server: str) -> dict[str, Any]:
    url = f"http://127.0.0.1:{stage.port}/api/v1/servers/{server}"
    return (await asyncio.to_thread(get_json, url))["recent"]


@pytest.mark.parametrize("how", ["down", "no such tool", "refused at the door"])
async def test_what_was_asked_is_kept_and_counted(tmp_path: Path, how: str) -> None:
    needed = tmp_path / "licence"
    bad = Actor("bad", tmp_path, ["--needs", str(needed)] if how == "down" else [])
    params = PARAMS if how == "down" else PARAMS | {"name": "bad__nothing"}
    async with staged(bad, Actor("good", tmp_path)) as stage:
        if how == "refused at the door":
            async with stage.client() as client:
                body = raw({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
                answering = await client.http("POST", dict(JSON_HEADERS) | {"mcp-session-id": "x"}, body)
                await answering.read_head()
                assert answering.status == 404
                await answering.hang_up()
        else:
            if how == "down":
                await stage.until_state("bad", "down")
            async with stage.client() as client:
                code = code_of(await client.request("tools/call", params))
                assert code.startswith("upstream." if how == "down" else "caller.unknown_tool")
        call = await recorded(stage)
        assert (call["tool"], call["server"]) == (params["name"], "bad")
        assert json.loads(call["arguments"]) == {"text": "hello", "password": "***"}
        recent = await page_of(stage, "bad")
        assert (recent["calls"], recent["errors"]) == (1, 1)
        assert (await page_of(stage, "good"))["calls"] == 0
