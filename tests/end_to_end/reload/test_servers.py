"""Servers and sources that come, change and go while the gateway runs, as SDK clients see it."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import text_in
from end_to_end.reload.changing import SLOW, Changing, changing_gateway, child
from mcp import Client, MCPError
from waiting import until

SHARED = 'isolation = "shared"'
# Longer than changes are put together: a second notice would be heard by then.
QUIET_S = 0.5


class Heard:
    """How often a client was told that its list of tools changed."""

    def __init__(self) -> None:
        self.times = 0

    async def take(self, message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self.times += 1


@asynccontextmanager
async def listening(url: str, mode: str) -> AsyncIterator[tuple[Client, Heard]]:
    heard = Heard()
    if mode == "legacy":
        async with Client(url, mode=mode, message_handler=heard.take) as client:
            yield client, heard
        return
    async with Client(url, mode=mode) as client, client.listen(tools_list_changed=True) as subscription:

        async def count() -> None:
            async for _ in subscription:
                heard.times += 1

        counting = asyncio.create_task(count())
        yield client, heard
        counting.cancel()


async def names(client: Client) -> list[str]:
    return sorted(tool.name for tool in (await client.list_tools()).tools)


async def called(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer
    return text_in(answer.content[0])


async def told_once_more(heard: Heard, before: int) -> None:
    await until(lambda: heard.times > before)
    await asyncio.sleep(QUIET_S)
    assert heard.times == before + 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_demo_gives_way_to_the_first_server_and_comes_back_each_told_once(
    tmp_path: Path, mode: str
) -> None:
    async with (
        changing_gateway(tmp_path) as changing,
        listening(changing.gateway.mcp_url, mode) as (client, heard),
    ):
        demo = await names(client)
        assert "demo__query" in demo
        await asyncio.sleep(QUIET_S)  # a modern client may be told of what came with its own first list
        before = heard.times
        news = await changing.write(child("one"))
        assert (news["changed"], news["needs_restart"], news["problem"]) == (["mcpServers.one"], [], None)
        await told_once_more(heard, before)
        assert await names(client) == ["one__count"]
        assert await called(client, "one__count") == "1"
        with pytest.raises(MCPError, match="demo__query"):
            await client.call_tool("demo__query", {"query": "SELECT 1"})
        assert (await changing.gateway.get("/api/v1/about"))["is_demo"] is False
        await changing.write("")
        await told_once_more(heard, before + 1)
        assert await names(client) == demo
        with pytest.raises(MCPError, match="one__count"):
            await client.call_tool("one__count", {})


async def test_an_added_one_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    start = child("one", more=SHARED)
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        assert await called(client, "one__count") == "1"
        await changing.write(start + child("two") + '[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"\n')
        assert await called(client, "one__count") == "2", "the same process"
        assert {"two__count", "shop__query"} <= set(await names(client))
        await changing.write(child("two") + start.replace('"shared"', '"shared"\ntitle = "One"'))
        assert await called(client, "one__count") == "3", "neither its place in the file nor its title matter"
        assert (await changing.servers())["one"]["title"] == "One"


async def test_calls_under_way_end_at_the_old_one_and_new_ones_go_to_the_new(tmp_path: Path) -> None:
    gate = tmp_path / "go"
    start = child("slow", "play", SHARED, SLOW)
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        before = await called(client, "slow__play")
        waiting = asyncio.create_task(called(client, "slow__play", until=str(gate)))
        await until_under_way(changing)
        await changing.write(start.replace('"shared"', '"shared"\nenv = { NEW = "1" }'))
        after = await called(client, "slow__play")
        assert after != before
        assert is_alive(before), "it has a call to end"
        gate.touch()
        assert await waiting == before
        await until(lambda: not is_alive(before))
        assert await called(client, "slow__play") == after


async def test_a_removed_one_ends_its_calls_and_goes(tmp_path: Path) -> None:
    gate = tmp_path / "go"
    start = child("slow", "play", SHARED, SLOW) + child("other")
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        pid = await called(client, "slow__play")
        waiting = asyncio.create_task(called(client, "slow__play", until=str(gate)))
        await until_under_way(changing)
        await changing.write(child("other"))
        with pytest.raises(MCPError, match="slow__play"):
            await client.call_tool("slow__play", {})
        assert is_alive(pid)
        gate.touch()
        assert await waiting == pid
        await until(lambda: not is_alive(pid))
        assert list(await changing.servers()) == ["other"]
        assert (await changing.post("/servers/slow/mcp", {}))["code"] == "caller.unknown_server"


async def test_one_that_is_changed_into_something_broken_is_down_and_says_why(tmp_path: Path) -> None:
    async with changing_gateway(tmp_path, child("one", more=SHARED)) as changing:
        async with Client(changing.gateway.mcp_url) as client:
            await called(client, "one__count")
        await changing.write('[mcpServers.one]\ncommand = "/no/such/program"\n')

        async def is_down() -> bool:
            return (await changing.servers())["one"]["state"] == "down"

        await until(is_down)
        await changing.write(child("one", more=SHARED))
        async with Client(changing.gateway.mcp_url) as client:
            assert await called(client, "one__count") == "1"


async def test_one_can_be_disabled_and_enabled(tmp_path: Path) -> None:
    start = child("one") + child("two")
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        assert await names(client) == ["one__count", "two__count"]
        await changing.write(start + "disabled = true\n")
        assert await names(client) == ["one__count"]
        await changing.write(start)
        assert await names(client) == ["one__count", "two__count"]


async def test_a_client_of_one_servers_own_door_hears_of_its_change_and_not_of_others(tmp_path: Path) -> None:
    start = child("one") + child("two")
    async with changing_gateway(tmp_path, start) as changing:
        url = changing.gateway.announced["url"]
        async with (
            listening(f"{url}/servers/one/mcp", "legacy") as (one, heard_one),
            listening(f"{url}/servers/two/mcp", "legacy") as (two, heard_two),
        ):
            await names(one)
            await names(two)
            async with Client(changing.gateway.mcp_url) as everybody:
                await names(everybody)
            await changing.write(child("one", "counted") + child("two"))
            await told_once_more(heard_one, 0)
            assert await names(one) == ["counted"]
            assert heard_two.times == 0


async def until_under_way(changing: Changing) -> None:
    """A call that lasts is in the record before it ends."""
    sql = "SELECT count(*) FROM rpc_events WHERE method = 'tools/call' AND outcome IS NULL"

    async def is_open() -> bool:
        return (await changing.post("/api/v1/query", {"sql": sql}))["rows"] == [[1]]

    await until(is_open)


def is_alive(pid: str) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def make_shop(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE orders (id INTEGER, card TEXT)")
        connection.executemany("INSERT INTO orders VALUES (?, 'x')", [(n,) for n in range(50)])
    connection.close()


async def rows(changing: Changing) -> Any:
    async with Client(changing.gateway.mcp_url) as client:
        return await client.call_tool("shop__query", {"query": "SELECT id FROM orders"})


async def test_a_sources_limits_its_mode_and_its_tools_are_taken_over(tmp_path: Path) -> None:
    make_shop(tmp_path / "shop.db")
    source = '[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"\n'
    async with changing_gateway(tmp_path, source) as changing:
        assert len((await rows(changing)).structured_content["rows"]) == 50
        await changing.write(source + 'max_rows = 3\nmode = "write"\n')
        assert len((await rows(changing)).structured_content["rows"]) == 3
        shown = (await changing.servers())["shop"]
        assert (shown["mode"], shown["limits"]["max_rows"]) == ("write", 3)
        async with Client(changing.gateway.mcp_url) as client:
            wrote = await client.call_tool("shop__query", {"query": "INSERT INTO orders VALUES (99, 'y')"})
            assert not wrote.is_error
            tool = '[[tools]]\nname = "newest"\nsource = "shop"\nsql = "SELECT max(id) AS id FROM orders"\n'
            news = await changing.write(source + tool)
            assert sorted(news["changed"]) == ["sources.shop", "tools.newest"]
            assert "shop__newest" in await names(client)
            assert "99" in await called(client, "shop__newest")
            refused = await client.call_tool("shop__query", {"query": "INSERT INTO orders VALUES (1, 'y')"})
            assert refused.is_error
            await changing.write(source)
            assert "shop__newest" not in await names(client)


async def test_a_held_tool_stays_held_while_its_server_leaves(tmp_path: Path) -> None:
    """The server is served until the one that never starts has had its time."""
    async with changing_gateway(tmp_path, child("one", more='trust = "hold"')) as changing:
        locked = tmp_path / "callgate.lock"
        await until(
            lambda: asyncio.to_thread(lambda: locked.exists() and "tools.count" in locked.read_text())
        )
        await changing.write(child("one", "other", 'trust = "hold"'))
        told = [await _call_other(changing)]
        never = '[mcpServers.never]\ncommand = "sleep"\nargs = ["60"]\n'
        written = asyncio.create_task(changing.write(never))
        while not written.done():
            told.append(await _call_other(changing))
        assert (await written)["problem"] is None
    assert not [one for one in told if "result" in one]
    assert {one.get("code") or one["error"]["data"]["code"] for one in told} <= {
        "caller.unknown_tool", "caller.unknown_server",
    }  # fmt: skip
    assert len(told) > 2


async def _call_other(changing: Changing) -> Any:
    """At the server's own endpoint, by a client that has read no list."""
    meta = {
        "protocolVersion": "2026-07-28",
        "clientInfo": {"name": "a", "version": "1"},
        "clientCapabilities": {},
    }
    named = {f"io.modelcontextprotocol/{key}": value for key, value in meta.items()}
    params = {"name": "other", "arguments": {}, "_meta": named}
    headers = {
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call", "Mcp-Name": "other",
    }  # fmt: skip
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await changing.post("/servers/one/mcp", message, **headers)
