"""`/mcp` with several servers behind it: one list, one namespace, and everything leads to its owner."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import text_in
from end_to_end.upstream_stage import Actor, announce, client_of, code_of, staged, text_of
from mcp import Client
from waiting import until

FINE = {"answer": "fine"}
ERAS = ["legacy", "modern"]
OFFERS: dict[str, Any] = {
    "tools": ["play", "echo"],
    "prompts": ["greet"],
    "resources": ["file:///same.txt"],
    "resourceTemplates": ["note://{id}", "tree://{+path}"],
}


def pair(folder: Path, era: str, **more: Any) -> tuple[Actor, Actor]:
    """Two servers that offer the very same names."""
    one, two = (Actor(name, folder, ["--era", era]) for name in ("one", "two"))
    for each in (one, two):
        each.offer(**(OFFERS | more))
    return one, two


def given(answer: dict[str, Any]) -> dict[str, Any]:
    """The params that the server got."""
    return json.loads(base64.b64decode(answer["result"]["params64"]))


@pytest.mark.parametrize("era", ERAS)
async def test_everything_of_two_equal_servers_is_there_and_leads_to_its_owner(
    tmp_path: Path, era: str
) -> None:
    async with staged(*pair(tmp_path, era)) as stage, client_of(stage, era) as client:
        await stage.until_state("one", "up")
        await stage.until_state("two", "up")
        assert await client.names() == ["one__play", "one__echo", "two__play", "two__echo"]
        assert await client.names("prompts/list", "prompts") == ["one__greet", "two__greet"]
        uris = await client.names("resources/list", "resources", "uri")
        assert uris == ["file:///same.txt", "two+file:///same.txt"]
        templates = await client.names("resources/templates/list", "resourceTemplates", "uriTemplate")
        assert templates == ["note://{id}", "tree://{+path}", "two+note://{id}", "two+tree://{+path}"]

        answer = await client.call("two__echo")
        assert (answer["result"]["server"], given(answer)["name"]) == ("two", "echo")
        answer = await client.request("prompts/get", {"name": "two__greet", "arguments": {"a": "b"}})
        assert (answer["result"]["server"], given(answer)["name"]) == ("two", "greet")
        for uri, server, native in (
            ("file:///same.txt", "one", "file:///same.txt"),
            ("two+file:///same.txt", "two", "file:///same.txt"),
            ("note://7", "one", "note://7"),
            ("two+note://7", "two", "note://7"),
            ("two+tree://a/b/c", "two", "tree://a/b/c"),
        ):
            answer = await client.request("resources/read", {"uri": uri})
            assert (answer["result"]["server"], given(answer)["uri"]) == (server, native), uri
        for ref, server, native in (
            ({"type": "ref/prompt", "name": "two__greet"}, "two", "greet"),
            ({"type": "ref/resource", "uri": "two+note://{id}"}, "two", "note://{id}"),
            ({"type": "ref/resource", "uri": "note://{id}"}, "one", "note://{id}"),
        ):
            params = {"ref": ref, "argument": {"name": "id", "value": "1"}}
            answer = await client.request("completion/complete", params)
            assert answer["result"]["server"] == server
            assert native in given(answer)["ref"].values()


@pytest.mark.parametrize("era", ERAS)
async def test_what_nobody_offers_is_a_callers_error_with_advice(tmp_path: Path, era: str) -> None:
    async with staged(*pair(tmp_path, era)) as stage, client_of(stage, era) as client:
        for method, params, code in (
            ("tools/call", {"name": "one__ech"}, "caller.unknown_tool"),
            ("prompts/get", {"name": "greet"}, "caller.unknown_prompt"),
            ("resources/read", {"uri": "nowhere://x"}, "caller.unknown_resource"),
            ("x/unknown", {}, "caller.unknown_method"),
        ):
            answer = await client.request(method, params)
            assert code_of(answer) == code
            assert answer["error"]["data"]["hint"]


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_list_of_several_pages_is_whole_in_the_aggregate_and_paged_directly(
    tmp_path: Path, era: str, transport: str
) -> None:
    one, two = pair(tmp_path, era, tools=[f"t{number}" for number in range(7)], page_size=3)
    if transport == "http":
        await one.start_http()
    async with staged(one, two) as stage, client_of(stage, era) as client:
        await stage.until_state("one", "up")
        await stage.until_state("two", "up")
        answer = await client.request("tools/list")
        assert [tool["name"] for tool in answer["result"]["tools"]] == [
            f"{server}__t{number}" for server in ("one", "two") for number in range(7)
        ]
        assert "nextCursor" not in answer["result"]
        assert (await client.call("one__t6"))["result"]["server"] == "one"
        async with client_of(stage, era, "/servers/one/mcp") as direct:
            cursor: dict[str, Any] = {}
            found: list[int] = []
            while True:
                page = (await direct.request("tools/list", cursor))["result"]
                found.append(len(page["tools"]))
                if "nextCursor" not in page:
                    break
                cursor = {"cursor": page["nextCursor"]}
            assert found == [3, 3, 1]


async def test_a_paginator_without_an_end_does_not_hang_the_list(tmp_path: Path) -> None:
    one, two = Actor("one", tmp_path), Actor("two", tmp_path)
    tool = '{"name":"t","inputSchema":{"type":"object"}}'
    one.offer(tools_raw=f'{{"tools":[{tool}],"nextCursor":"again"}}')
    async with staged(one, two) as stage, stage.client() as client:
        await stage.until_state("one", "up")
        await stage.until_state("two", "up")
        assert set(await client.names()) == {"one__t", "two__play", "two__echo"}


@pytest.mark.parametrize("era", ERAS)
async def test_long_names_are_cut_to_64_characters_stay_different_and_work(tmp_path: Path, era: str) -> None:
    natives = ["x" * 70 + end for end in "ab"]
    one = Actor("one", tmp_path, ["--era", era])
    one.offer(tools=natives)
    listed: list[list[str]] = []
    for _ in range(2):
        async with staged(one) as stage, client_of(stage, era) as client:
            names = await client.names()
            listed.append(names)
            assert len(set(names)) == 2
            assert all(len(name) <= 64 and name.startswith("one__xxx") for name in names)
            for name, native in zip(names, natives, strict=True):
                assert given(await client.call(name))["name"] == native
    assert listed[0] == listed[1], "the same after a restart"


@pytest.mark.parametrize("how", ["legacy", "modern"])
async def test_the_public_uri_of_a_resource_does_not_depend_on_who_is_up(tmp_path: Path, how: str) -> None:
    needed = tmp_path / "needed"
    one, two = pair(tmp_path, how)
    one.options += ["--needs", str(needed)]
    async with staged(one, two) as stage, client_of(stage, how) as client:
        await stage.until_state("two", "up")
        await stage.until_state("one", "down")
        alone = await client.names("resources/list", "resources", "uri")
        needed.touch()
        await stage.until_state("one", "up")
        both = await client.names("resources/list", "resources", "uri")
        assert set(alone) <= set(both)
        answer = await client.request("resources/read", {"uri": alone[0]})
        assert answer["result"]["server"] == "two", "what was two's is still two's"


# ---- logging, subscriptions, changes


async def test_the_log_level_reaches_every_server_and_one_that_fails_is_no_reason_to(tmp_path: Path) -> None:
    one, two = pair(tmp_path, "legacy")
    dead = Actor("dead", tmp_path, ["--needs", str(tmp_path / "nothing")])
    async with staged(one, dead, two) as stage, stage.client() as client:
        await stage.until_state("one", "up")
        await stage.until_state("two", "up")
        answer = await client.request("logging/setLevel", {"level": "debug"})
        assert answer["result"] == {}
        for each in (one, two):
            (heard,) = each.heard("logging/setLevel")
            assert heard["params"] == {"level": "debug"}


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_updated_resource_is_told_to_its_subscribers_only_under_the_uri_they_know(
    tmp_path: Path, transport: str
) -> None:
    one, two = pair(tmp_path, "legacy")
    one.isolation = two.isolation = "shared"  # what one client's call changes, another hears of
    if transport == "http":
        await two.start_http()
    async with (
        staged(one, two) as stage,
        stage.client() as subscriber,
        stage.client() as bystander,
        stage.client("/servers/two/mcp") as direct,
    ):
        await stage.until_state("one", "up")
        await stage.until_state("two", "up")
        streams = {
            "subscriber": await subscriber.listen(),
            "bystander": await bystander.listen(),
            "direct": await direct.listen(),
        }
        if transport == "http":
            await until(lambda: any("get" in line for line in two.lines()))
        public = "two+file:///same.txt"
        assert (await subscriber.request("resources/subscribe", {"uri": public}))["result"] == {}
        assert (await direct.request("resources/subscribe", {"uri": "file:///same.txt"}))["result"] == {}
        assert not one.heard("resources/subscribe")
        # Once on the connection that both share, whoever else wants to hear of it.
        subscribed = [heard["params"]["uri"] for heard in two.heard("resources/subscribe")]
        assert subscribed == ["file:///same.txt"]
        steps = [
            announce("notifications/resources/updated", {"uri": "file:///same.txt", "x-own": 1}),
            announce("notifications/prompts/list_changed", {"end": True}),
            FINE,
        ]
        assert text_of(await bystander.play("one__play", *steps)) == "fine"
        assert text_of(await bystander.play("two__play", *steps)) == "fine"
        heard = {
            name: [await until_end(stream)] + ([] if name == "direct" else [await until_end(stream)])
            for name, stream in streams.items()
        }
        assert heard["bystander"] == [[], []]
        assert heard["subscriber"] == [[], [{"uri": public, "x-own": 1}]], "the other's is another resource"
        assert heard["direct"] == [[{"uri": "file:///same.txt", "x-own": 1}]]


async def until_end(stream: Any) -> list[dict[str, Any]]:
    """The updates told before the mark."""
    updates: list[dict[str, Any]] = []
    while (frame := await stream.next()).get("params") != {"end": True}:
        if frame["method"] == "notifications/resources/updated":
            updates.append(frame["params"])
    return updates


@pytest.mark.parametrize("path", ["/mcp", "/servers/one/mcp"])
async def test_one_client_that_unsubscribes_does_not_silence_another(tmp_path: Path, path: str) -> None:
    """They share a connection, so the server must not be told before the last one leaves."""
    one, _ = pair(tmp_path, "legacy")
    uri = {"uri": "file:///same.txt"}
    async with staged(one) as stage, stage.client(path) as first, stage.client(path) as second:
        for client in (first, second):
            assert (await client.request("resources/subscribe", uri))["result"] == {}
        assert (await first.request("resources/unsubscribe", uri))["result"] == {}
        assert not one.heard("resources/unsubscribe")
        assert (await second.request("resources/unsubscribe", uri))["result"] == {}
        assert len(one.heard("resources/unsubscribe")) == 1


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_changed_list_is_announced_and_is_new_at_once(
    tmp_path: Path, era: str, transport: str
) -> None:
    one, two = pair(tmp_path, era)
    if transport == "http":
        await one.start_http()
    async with staged(one, two) as stage, client_of(stage, era) as client:
        await stage.until_state("one", "up")
        await stage.until_state("two", "up")
        if era == "legacy":
            stream = await client.listen()
            if transport == "http":
                await until(lambda: any("get" in line for line in one.lines()))
        else:
            await until(lambda: one.heard("subscriptions/listen"))
            filter_ = {"notifications": {"toolsListChanged": True}}
            stream = await client.send("subscriptions/listen", filter_, b'"sub"')
            await stream.read_head()
            acknowledged = await stream.next()
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
        before = await client.names_of("one", "two")
        one.offer(**(OFFERS | {"tools": ["play", "fresh"]}))
        steps = [announce_changed(era, kind) for kind in ("prompts", "tools")]
        assert text_of(await client.play("one__play", *steps, FINE)) == "fine"
        told = await stream.until_method("notifications/tools/list_changed")
        if era == "modern":
            assert told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "sub"
        # The change may be told once more, for a server that came up: what counts is that it gets through.
        await client.until_names(lambda names: names == ["one__play", "one__fresh", *before[2:]])


def announce_changed(era: str, kind: str) -> dict[str, Any]:
    if era == "legacy":
        return announce(f"notifications/{kind}/list_changed")
    text = (
        '{"jsonrpc":"2.0","method":"notifications/%s/list_changed",'
        '"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":@LISTEN@}}}'
    )
    return {"announce": text % kind}


async def test_a_modern_listener_hears_only_what_it_asked_for(tmp_path: Path) -> None:
    one, _ = pair(tmp_path, "modern")
    async with staged(one) as stage, stage.modern() as client:
        await until(lambda: one.heard("subscriptions/listen"))
        stream = await client.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await stream.read_head()
        await stream.next()
        steps = [announce_changed("modern", kind) for kind in ("prompts", "resources", "tools")]
        assert text_of(await client.play("one__play", *steps, FINE)) == "fine"
        assert (await stream.next())["method"] == "notifications/tools/list_changed"


async def test_a_modern_listener_of_the_aggregate_hears_of_a_resource_it_named(tmp_path: Path) -> None:
    one, two = pair(tmp_path, "modern")
    one.isolation = two.isolation = "shared"  # one listener at the server: the play names it
    async with staged(one, two) as stage, stage.modern() as client:
        await stage.until_state("one", "up")
        await stage.until_state("two", "up")
        wanted = {"resourceSubscriptions": ["two+file:///same.txt"]}
        stream = await client.send("subscriptions/listen", {"notifications": wanted}, b"9")
        await stream.read_head()
        assert (await stream.next())["params"]["notifications"] == wanted
        await until(lambda: any("resourceSubscriptions" in line["raw"] for line in two.lines()))
        text = (
            '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///same.txt",'
            '"_meta":{"io.modelcontextprotocol/subscriptionId":@LISTEN@}}}'
        )
        assert text_of(await client.play("two__play", {"announce": text}, FINE)) == "fine"
        told = await stream.next()
        assert told["method"] == "notifications/resources/updated"
        assert told["params"]["uri"] == "two+file:///same.txt"


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_direct_modern_subscription_is_the_servers_own_under_the_clients_id(
    tmp_path: Path, transport: str
) -> None:
    one, _ = pair(tmp_path, "modern")
    one.isolation = "shared"
    if transport == "http":
        await one.start_http()
    async with staged(one) as stage, stage.modern("/servers/one/mcp") as client:
        await until(lambda: one.heard("subscriptions/listen"))  # the gateway's own
        wanted = {"notifications": {"resourceSubscriptions": ["file:///same.txt"], "x-own": 1}}
        stream = await client.send("subscriptions/listen", wanted, b'"mine"')
        await stream.read_head()
        acknowledged = await stream.next()
        assert acknowledged["params"]["notifications"] == wanted["notifications"]
        mark = "io.modelcontextprotocol/subscriptionId"
        assert acknowledged["params"]["_meta"][mark] == "mine"
        text = (
            '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///same.txt",'
            '"_meta":{"io.modelcontextprotocol/subscriptionId":@LISTEN@}}}'
        )
        assert text_of(await client.play("play", {"announce": text}, FINE)) == "fine"
        told = await stream.next()
        assert told["params"] == {"uri": "file:///same.txt", "_meta": {mark: "mine"}}
        ours = one.heard("subscriptions/listen")[-1]["id"]
        await stream.hang_up()
        if transport == "stdio":
            (cancelled,) = await until(lambda: one.heard("notifications/cancelled"))
            assert cancelled["params"]["requestId"] == ours
        else:
            await until(
                lambda: any((line["raw"], line.get("end")) == (str(ours), "closed") for line in one.lines())
            )


async def test_the_gateway_listens_again_when_the_servers_stream_breaks(tmp_path: Path) -> None:
    one, _ = pair(tmp_path, "modern", listen="once")
    await one.start_http()
    async with staged(one) as stage, stage.modern() as client:
        await until(lambda: len(one.heard("subscriptions/listen")) == 2)
        stream = await client.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await stream.read_head()
        await stream.next()
        await client.play("one__play", announce_changed("modern", "tools"), FINE)
        await stream.until_method("notifications/tools/list_changed")


# ---- with the official client


@pytest.mark.parametrize(("mode", "era"), [("legacy", "legacy"), ("auto", "modern")])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_sdk_client_uses_all_of_it(tmp_path: Path, mode: Any, era: str, transport: str) -> None:
    one, two = pair(tmp_path, era)
    if transport == "http":
        await one.start_http()
        await two.start_http()
    async with staged(one, two) as stage:
        await stage.until_state("one", "up")
        await stage.until_state("two", "up")
        async with asyncio.timeout(60), Client(f"http://127.0.0.1:{stage.port}/mcp", mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert tools == ["one__play", "one__echo", "two__play", "two__echo"]
            moved: list[float] = []

            async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                moved.append(progress)

            step = (
                '{"jsonrpc":"2.0","method":"notifications/progress",'
                '"params":{"progressToken":@TOKEN@,"progress":%d}}'
            )
            steps = [{"say": step % 1}, {"say": step % 2}, FINE]
            result = await client.call_tool("two__play", {"steps": steps}, progress_callback=on_progress)
            assert text_in(result.content[0]) == "fine"
            assert moved == [1, 2]
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == [
                "one__greet",
                "two__greet",
            ]
            prompt = await client.get_prompt("two__greet", {})
            assert text_in(prompt.messages[0].content) == "two"
            read = await client.read_resource("two+file:///same.txt")
            assert text_in(read.contents[0]) == "two has it"
