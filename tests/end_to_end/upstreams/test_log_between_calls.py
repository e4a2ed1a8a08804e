"""What a server logs while no call is under way reaches handshake clients that set a level, by that level."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from end_to_end.raw_clients import Answering
from end_to_end.upstream_stage import Actor, Stage, announce, staged, tokens_for
from waiting import until

LIST_CHANGED = "notifications/tools/list_changed"
MESSAGE = "notifications/message"


def log(level: str, text: str) -> dict[str, Any]:
    """On the streams that listen: a call's own may have ended."""
    return announce(MESSAGE, {"level": level, "data": text})


async def actor(folder: Path, transport: str) -> Actor:
    made = Actor("one", folder, isolation="shared")
    if transport == "http":
        await made.start_http()
    return made


@asynccontextmanager
async def ready(one: Actor) -> AsyncIterator[Stage]:
    """The server is up, and its list known, before any client comes: none hears of that."""
    async with staged(one) as stage:
        await stage.until_state("one", "up")
        async with stage.client() as first:
            await first.until_names(bool)
        yield stage


async def heard(answering: Answering) -> list[str]:
    """All log messages up to the change of the list, which everybody hears."""
    told: list[str] = []
    while (frame := await answering.next())["method"] != LIST_CHANGED:
        if frame["method"] == MESSAGE:
            told.append(frame["params"]["data"])
    return told


@pytest.mark.parametrize("path", ["/mcp", "/servers/one/mcp"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_who_set_a_level_hears_what_is_logged_between_calls(
    tmp_path: Path, transport: str, path: str
) -> None:
    one, gate = await actor(tmp_path, transport), tmp_path / "gate"
    tool = "one__play" if path == "/mcp" else "play"
    async with (
        ready(one) as stage,
        stage.client(path) as wants_all,
        stage.client(path) as wants_errors,
        stage.client(path) as silent,
        stage.client(path) as caller,
    ):
        hearing = [await client.listen() for client in (wants_all, wants_errors, silent)]
        assert "result" in await wants_all.request("logging/setLevel", {"level": "info"})
        assert "result" in await wants_errors.request("logging/setLevel", {"level": "error"})
        # The call is answered, and then the server goes on talking.
        steps = [
            {"answer": "done"},
            {"wait_file": str(gate)},
            log("debug", "nobody wants that"),
            log("warning", "between calls"),
            log("error", "bad"),
            announce(LIST_CHANGED),
        ]
        assert "result" in await caller.play(tool, *steps)
        gate.touch()
        told = [await heard(answering) for answering in hearing]
        assert told == [["between calls", "bad"], ["bad"], []]


async def test_what_is_logged_while_two_clients_call_is_told_to_neither(tmp_path: Path) -> None:
    """It speaks of one of the calls, and nobody can tell of which."""
    one, gate = await actor(tmp_path, "stdio"), tmp_path / "gate"
    async with ready(one) as stage, stage.client() as first, stage.client() as second:
        hears = await first.listen()
        assert "result" in await first.request("logging/setLevel", {"level": "debug"})
        steps = [{"wait_file": str(gate)}, {"answer": "x"}]
        held = await second.send("tools/call", {"name": "one__play", "arguments": {"steps": steps}})
        await until(lambda: one.heard("tools/call"))
        assert "result" in await first.play(
            "one__play", log("error", "whose?"), announce(LIST_CHANGED), {"answer": "y"}
        )
        assert await heard(hears) == []
        gate.touch()
        await held.read_head()


async def test_what_may_be_about_another_principals_call_reaches_nobody(tmp_path: Path) -> None:
    one, gate = await actor(tmp_path, "stdio"), tmp_path / "gate"
    tokens, setting = tokens_for("alice", "bob")
    async with (
        staged(one, server=setting) as stage,
        stage.client(token=tokens["alice"]) as curious,
        stage.client(token=tokens["bob"]) as caller,
    ):
        await curious.until_names(bool)
        hearing = await curious.listen()
        assert "result" in await curious.request("logging/setLevel", {"level": "debug"})
        steps = [
            {"answer": "done"},
            {"wait_file": str(gate)},
            log("error", "about bob"),
            announce(LIST_CHANGED),
        ]
        assert "result" in await caller.play("one__play", *steps)
        gate.touch()
        assert await heard(hearing) == []
