"""What is listed to whom, and when: at once with what is known, by what each request declares, told when it
changes and only then."""

import asyncio
import itertools
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from end_to_end.forked import start_forked
from end_to_end.gateway_process import clean_environment, stdio_server
from end_to_end.raw_clients import Answering
from end_to_end.reload.changing import post
from end_to_end.upstream_stage import Actor, Stage, announce, client_of, staged, text_of
from mcp import Client
from waiting import until

FINE = {"answer": "fine"}
QUESTIONS = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}
PLAIN = ["play", "echo"]
MORE = [*PLAIN, "ask", "sample", "folders"]
DEPENDENT = {
    "tools": PLAIN,
    "tools_if": {"elicitation": ["ask"], "sampling": ["sample"], "roots": ["folders"]},
}
CHANGED = "notifications/tools/list_changed"


def dependent(folder: Path, era: str = "legacy") -> Actor:
    """It lists more to clients that declare more."""
    one = Actor("one", folder, ["--era", era])
    one.offer(**DEPENDENT)
    return one


async def until_surveyed(one: Actor, era: str) -> None:
    """The gateway has listed for those that declare everything, and for those that declare it plainly."""

    def has_listed() -> bool:
        lists = [line for line in one.all_lines() if '"tools/list"' in line["raw"]]
        return len(lists) >= 3

    await until(has_listed)


# ---- by what each request declares


@pytest.mark.parametrize("path", ["/mcp", "/servers/one/mcp"])
@pytest.mark.parametrize("server_era", ["legacy", "modern"])
@pytest.mark.parametrize("client_era", ["legacy", "modern"])
async def test_each_client_is_shown_what_it_declares_whoever_of_its_name_came_first(
    tmp_path: Path, client_era: str, server_era: str, path: str
) -> None:
    one = dependent(tmp_path, server_era)
    prefix = "one__" if path == "/mcp" else ""
    async with (
        staged(one) as stage,
        client_of(stage, client_era, path) as plain,
        client_of(stage, client_era, path, capabilities=QUESTIONS) as able,
        client_of(stage, client_era, path, capabilities={"roots": {}}) as rooted,
    ):
        await stage.until_state("one", "up")
        await until_surveyed(one, server_era)
        assert await plain.names() == [prefix + name for name in PLAIN]
        shown = await able.until_names(lambda names: len(names) == 5)
        assert sorted(shown) == sorted(prefix + name for name in MORE)
        assert await rooted.until_names(lambda names: len(names) == 3) == [
            prefix + name for name in [*PLAIN, "folders"]
        ]
        assert await plain.names() == [prefix + name for name in PLAIN]
        assert text_of(await able.call(f"{prefix}ask")) == "one: ask"
        if path == "/mcp":
            refused = await plain.call("one__ask")
            assert refused["error"]["data"]["code"] == "caller.missing_capability"


async def test_the_first_client_that_declares_something_finds_its_list_known(tmp_path: Path) -> None:
    """Nobody listed before it: the gateway did, on a connection that ended."""
    one = dependent(tmp_path)
    async with staged(one) as stage, stage.modern(capabilities=QUESTIONS) as able:
        await until_surveyed(one, "legacy")
        await able.until_names(lambda names: len(names) == 5)
        asked = [line for line in one.all_lines() if '"tools/list"' in line["raw"]]
        assert len(asked) == 3, "for nobody in particular, for everything that can be declared, and for this"
        await until(lambda: len(alive(one)) == 1)


@asynccontextmanager
async def slow_to_start_again(folder: Path) -> AsyncIterator[tuple[Actor, Stage, Path]]:
    """A surveyed server; its next process reads nothing before the file is there."""
    gate = folder / "gate"
    gate.touch()
    one = Actor("one", folder, ["--awaits", str(gate)])
    one.offer(prompts=["greet"], **DEPENDENT)
    async with staged(one) as stage:
        await until_surveyed(one, "legacy")
        gate.unlink()
        yield one, stage, gate


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_prompts_that_nobody_listed_before_are_there_although_a_new_process_is_slow(
    tmp_path: Path, era: str
) -> None:
    async with (
        slow_to_start_again(tmp_path) as (_, stage, gate),
        client_of(stage, era, capabilities={"roots": {}}) as rooted,
    ):
        assert await rooted.names("prompts/list", "prompts") == ["one__greet"]
        gate.touch()


async def test_a_client_that_lists_once_has_the_tools_that_only_some_are_shown(tmp_path: Path) -> None:
    async with (
        slow_to_start_again(tmp_path) as (_, stage, gate),
        stage.client(capabilities={"roots": {}}) as rooted,
    ):
        listing = asyncio.create_task(rooted.names())
        await asyncio.sleep(1.0)  # longer than a list waits for a server that may tell nothing new
        gate.touch()
        assert await listing == ["one__play", "one__echo", "one__folders"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_that_lists_before_the_survey_is_over_has_them_too(tmp_path: Path, era: str) -> None:
    gate = tmp_path / "gate"
    one = Actor("one", tmp_path, ["--awaits-again", str(gate)])
    one.offer(**DEPENDENT)
    async with staged(one) as stage, client_of(stage, era, capabilities={"roots": {}}) as rooted:
        await stage.until_state("one", "up")
        await until(lambda: len(started(one)) == 2)  # the process of the survey
        listing = asyncio.create_task(rooted.names())
        await asyncio.sleep(1.0)  # longer than a list waits for a server that may tell nothing new
        gate.touch()
        assert await listing == ["one__play", "one__echo", "one__folders"]


def alive(one: Actor) -> list[int]:
    """Processes of it that still run."""
    started = {line["pid"] for line in one.all_lines() if line.get("start")}
    ended = {line["pid"] for line in one.all_lines() if line.get("end")}
    return sorted(started - ended)


async def test_a_server_that_does_not_look_at_capabilities_is_asked_once_for_all_of_them(
    tmp_path: Path,
) -> None:
    one = Actor("one", tmp_path)
    async with staged(one) as stage:
        await until(lambda: len(alive(one)) == 1 and len(started(one)) == 2)
        for capabilities in ({"roots": {}}, {"sampling": {}}, QUESTIONS):
            async with stage.client(capabilities=capabilities) as client:
                assert await client.names() == ["one__play", "one__echo"]
        assert len(started(one)) == 2


def started(one: Actor) -> list[int]:
    return [line["pid"] for line in one.all_lines() if line.get("start")]


async def test_a_client_that_declares_roots_lists_without_a_child_of_its_own(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    async with staged(one) as stage, stage.client(capabilities={"roots": {}}) as client:
        await stage.until_state("one", "up")
        await until(lambda: len(started(one)) == 2 and len(alive(one)) == 1)
        assert await client.until_names(bool) == ["one__play", "one__echo"]
        assert len(one.heard("initialize")) == 1, "only the shared one"
        assert len(started(one)) == 2
        assert text_of(await client.play("one__play", FINE)) == "fine"
        assert one.heard("initialize")[-1]["params"]["capabilities"] == {"roots": {}}


async def test_what_a_clients_own_child_adds_is_listed_to_that_client(tmp_path: Path) -> None:
    one, own = Actor("one", tmp_path), {"roots": {}}
    one.offer(tools=PLAIN)
    async with (
        staged(one) as stage,
        stage.client(capabilities=own) as client,
        stage.client(capabilities=own) as other,
    ):
        heard = await client.listen()
        assert text_of(await client.play("one__play", FINE)) == "fine"
        assert "one__play" in await other.names()  # known before it changes, however slow the machine is
        one.offer(tools=[*PLAIN, "added"])
        assert text_of(await client.play("one__play", announce(CHANGED), FINE)) == "fine"
        await heard.until_method(CHANGED)
        assert "one__added" in await client.names()
        assert "one__added" not in await other.names()
        assert text_of(await client.call("one__added")) == "one: added"


# ---- at once


async def count_until(heard: Answering, last: str) -> list[str]:
    """The methods of all frames up to and with this one."""
    methods: list[str] = []
    while last not in methods:
        methods.append((await heard.next())["method"])
    return methods


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_list_does_not_wait_for_servers_that_start_and_each_is_told_when_it_is_there(
    tmp_path: Path, era: str
) -> None:
    gate, never = tmp_path / "gate", tmp_path / "never"
    slow = Actor("slow", tmp_path, ["--awaits", str(gate)])
    stuck = Actor("stuck", tmp_path, ["--awaits", str(never)])
    quick = Actor("quick", tmp_path)
    async with staged(slow, stuck, quick) as stage, client_of(stage, era) as client:
        await stage.until_state("quick", "up")
        assert await client.until_names(bool) == ["quick__play", "quick__echo"]
        heard = await listening(client, era)
        health = await stage.health()
        assert [health[name]["state"] for name in ("slow", "stuck", "quick")] == [
            "starting",
            "starting",
            "up",
        ]
        gate.touch()
        assert (await heard.next())["method"] == CHANGED
        assert await client.names() == ["slow__play", "slow__echo", "quick__play", "quick__echo"]
        assert text_of(await client.play("slow__play", FINE)) == "fine"


async def listening(client: Any, era: str) -> Answering:
    if era == "legacy":
        return await client.listen()
    stream = await client.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    await stream.read_head()
    await stream.next()
    return stream


async def test_a_server_that_does_not_answer_its_list_delays_nobody_elses(tmp_path: Path) -> None:
    slow, quick = Actor("slow", tmp_path), Actor("quick", tmp_path)
    slow.offer(tools=PLAIN, silent="tools")
    async with staged(slow, quick) as stage, stage.client() as client:
        await stage.until_state("quick", "up")
        for _ in range(20):
            assert await client.until_names(bool) == ["quick__play", "quick__echo"]
        assert len(slow.heard("tools/list")) == 1, "one question at a time"
        assert not slow.heard("notifications/cancelled"), "and nobody who lists ends it"


# ---- told when it changes, and only then


async def test_a_server_whose_list_fails_is_shown_with_that_and_told_when_it_works(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    one.offer(tools=PLAIN, failing="tools")
    async with staged(one, Actor("two", tmp_path)) as stage, stage.client() as client:
        await stage.until_state("two", "up")
        failing = await stage.until_state("one", "down")
        assert "tools/list fails" in failing["detail"]
        assert "the index is locked" in failing["detail"]
        assert failing["code"] == "upstream.failed"
        assert await client.names() == ["two__play", "two__echo"]
        heard = await client.listen()
        one.offer(tools=PLAIN)
        await heard.until_method(CHANGED)
        assert await client.names() == ["one__play", "one__echo", "two__play", "two__echo"]
        assert (await stage.until_state("one", "up")).get("code") is None


@asynccontextmanager
async def listed_by_a_client(folder: Path) -> AsyncIterator[tuple[Stage, Actor, Any, Answering]]:
    one, two = Actor("one", folder), Actor("two", folder)
    one.offer(tools=PLAIN, prompts=["greet"])
    async with staged(one, two) as stage:
        # For a client that came before all was told the rest is news, also if it listed again meanwhile.
        async with stage.client() as earlier:
            for name in ("one", "two"):
                await stage.until_state(name, "up")
            await earlier.until_names(lambda names: len(names) == 4)
            await earlier.until_names(bool, "prompts/list", "prompts")
            await earlier.names("resources/list", "resources", "uri")
        async with stage.client() as client:
            assert len(await client.names()) == 4
            assert await client.names("prompts/list", "prompts") == ["one__greet"]
            assert await client.names("resources/list", "resources", "uri") == []
            yield stage, one, client, await client.listen()


async def restart(stage: Stage, one: Actor) -> None:
    """Killed, and up again with its list asked anew."""
    asked = {method: len(one.heard(method)) for method in ("tools/list", "prompts/list")}
    os.kill(one.heard("initialize")[-1]["pid"], signal.SIGKILL)  # the shared one
    await until(lambda: all(len(one.heard(method)) > before for method, before in asked.items()))
    await stage.until_state("one", "up")


async def test_a_server_that_dies_and_comes_back_as_it_was_is_no_news(tmp_path: Path) -> None:
    async with listed_by_a_client(tmp_path) as (stage, one, client, heard):
        await restart(stage, one)
        two_says = announce(CHANGED, {"from": "two"})
        assert text_of(await client.play("two__play", two_says, FINE)) == "fine"
        assert (await heard.next())["params"] == {"from": "two"}, "nothing was told before it"


async def test_of_a_server_that_comes_back_only_the_list_is_told_that_changed(tmp_path: Path) -> None:
    async with listed_by_a_client(tmp_path) as (stage, one, client, heard):
        one.offer(tools=[*PLAIN, "new"], prompts=["greet"])
        await restart(stage, one)
        assert (await heard.next())["method"] == CHANGED
        assert "one__new" in await client.names()
        last = announce("notifications/prompts/list_changed")
        assert text_of(await client.play("two__play", last, FINE)) == "fine"
        assert await count_until(heard, "notifications/prompts/list_changed") == [
            "notifications/prompts/list_changed"
        ]


async def test_an_operators_word_on_one_server_is_no_news_of_lists_that_stay(tmp_path: Path) -> None:
    """Resources are not pinned: whatever was accepted or blocked meanwhile, the same list is the same."""
    async with listed_by_a_client(tmp_path) as (stage, one, client, heard):
        url = f"http://127.0.0.1:{stage.port}/api/v1/trust/two/block"
        await until(lambda: (stage.folder / "callgate.lock").exists())
        await asyncio.to_thread(post, url, b'{"items": [{"kind": "tool", "name": "echo"}]}', {})
        assert (await heard.next())["method"] == CHANGED
        resources = len(one.heard("resources/list"))
        await restart(stage, one)
        await until(lambda: len(one.heard("resources/list")) > resources)
        one.offer(tools=[*PLAIN, "new"], prompts=["greet"])
        await restart(stage, one)
        assert (await heard.next())["method"] == CHANGED
        last = "notifications/prompts/list_changed"
        assert text_of(await client.play("two__play", announce(last), FINE)) == "fine"
        assert await count_until(heard, last) == [last]


# ---- what is passed on


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("asked", "own", "agreed"),
    [("2025-11-25", "2024-11-05", "2024-11-05"), ("2024-11-05", "2025-11-25", "2024-11-05")],
)
async def test_a_direct_client_hears_the_revision_that_a_legacy_server_speaks(
    tmp_path: Path, asked: str, own: str, agreed: str, transport: str
) -> None:
    one = Actor("one", tmp_path, ["--revision", own])
    if transport == "http":
        await one.start_http()
    async with staged(one) as stage, stage.client("/servers/one/mcp", revision=asked) as client:
        assert client.introduced["result"]["protocolVersion"] == agreed


# ---- over stdio


async def test_a_client_that_starts_the_gateway_and_lists_once_sees_servers_that_take_seconds_to_start(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    slow, hanging = (
        Actor("slow", tmp_path, ["--awaits", str(gate)]),
        Actor("hanging", tmp_path, ["--awaits", str(tmp_path / "never")]),
    )
    (tmp_path / "callgate.toml").write_text(f"version = 1\n{slow.toml()}{hanging.toml()}")
    async with Client(stdio_server(tmp_path)) as client:
        listing = asyncio.create_task(client.list_tools())
        await asyncio.sleep(1.0)  # longer than a gateway that has run for a while would wait
        gate.touch()
        assert [tool.name for tool in (await listing).tools] == ["slow__play", "slow__echo"]


async def test_over_stdio_each_request_is_shown_what_it_declares(tmp_path: Path) -> None:
    one = dependent(tmp_path)
    (tmp_path / "callgate.toml").write_text(f"version = 1\n{one.toml()}")
    process = await start_forked(
        "stdio",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env=clean_environment(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None

    ids = itertools.count(1)

    async def ask(method: str, capabilities: dict[str, Any], **params: Any) -> dict[str, Any]:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "same", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
        message = {"jsonrpc": "2.0", "id": next(ids), "method": method, "params": {**params, "_meta": meta}}
        stdin.write(json.dumps(message).encode() + b"\n")
        answer = json.loads(await stdout.readline())
        assert "result" in answer, answer
        return answer["result"]

    async def count(capabilities: dict[str, Any], wanted: int) -> None:
        while len((await ask("tools/list", capabilities))["tools"]) != wanted:
            await asyncio.sleep(0.05)

    try:
        async with asyncio.timeout(60):
            await count({}, 2)
            await count(QUESTIONS, 5)
            await count({}, 2)
            called = await ask("tools/call", QUESTIONS, name="one__sample", arguments={})
            assert called["content"][0]["text"] == "one: sample"
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()
