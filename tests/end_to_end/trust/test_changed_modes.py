"""The operator says `hold` while the gateway runs: it holds at once, also while the server that comes still
starts."""

import asyncio
from pathlib import Path

import pytest
from end_to_end.reload.changing import post
from end_to_end.trust.test_held_tools import (
    ADD,
    CHANGED,
    CHANGES,
    FINE,
    PLAY,
    change,
    listed,
    server,
)
from end_to_end.upstream_stage import client_of, code_of, text_of

MUL = {"name": "mul", "description": "Multiplies.", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize("before", ["free", "watch"])
async def test_what_nobody_accepted_is_not_offered_once_the_file_says_hold(
    tmp_path: Path, before: str
) -> None:
    async with server(tmp_path, "legacy", "stdio", "hold") as (actor, stage):
        file = stage.folder / "callgate.toml"
        held = file.read_text()

        async def serve(text: str) -> None:
            file.write_text(text)
            told = await asyncio.to_thread(post, f"http://127.0.0.1:{stage.port}/api/v1/reload", b"{}", {})
            assert told["problem"] is None

        await serve(held.replace('trust = "hold"', f'trust = "{before}"'))
        await change(actor, stage, "legacy", tools=[CHANGES["description"], PLAY, MUL])
        async with (
            client_of(stage, "legacy") as client,
            client_of(stage, "legacy", "/servers/one/mcp") as own,
        ):
            # On its own connection, so that it need not wait until its list is old.
            assert text_of(await client.play("one__play", CHANGED, FINE)) == "fine"
            assert await client.until_names(lambda names: "one__mul" in names)
            for _ in range(2):
                assert "result" in await client.call("one__mul")
                assert "result" in await own.call("mul")
            begins = tmp_path / "begins"
            await serve(held.replace('"--log"', f'"--awaits", "{begins}", "--log"'))
            assert await listed(client, "one__mul") is None
            assert code_of(await client.call("one__mul")) == "caller.unknown_tool"
            assert code_of(await own.call("mul")) == "caller.unknown_tool"
            assert await own.names() == ["add", "play"]
            add = await listed(client)
            assert add is not None
            assert add["description"] == ADD["description"]
            begins.touch()
