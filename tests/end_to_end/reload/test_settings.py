"""Each kind of key that is taken over while the gateway runs, and files that are not."""

import asyncio
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import run_callgate
from end_to_end.reload.changing import SLOW, Changing, changing_gateway, child
from end_to_end.test_stdio import frames, line
from mcp import Client, MCPError
from waiting import until

SHARED = 'isolation = "shared"'


async def names(client: Client) -> list[str]:
    return sorted(tool.name for tool in (await client.list_tools()).tools)


async def is_listed(client: Client) -> bool:
    """A server that starts slowly is not in the first list."""
    return await names(client) == ["one__count"]


async def recorded(changing: Changing, column: str) -> list[Any]:
    sql = f"SELECT {column} FROM rpc_events WHERE method = 'tools/call' ORDER BY ts"
    return [row[0] for row in (await changing.post("/api/v1/query", {"sql": sql}))["rows"]]


async def test_what_is_left_out_of_a_servers_tools_is_refused_at_once_and_its_process_stays(
    tmp_path: Path,
) -> None:
    start = child("one", more=SHARED)
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        assert not (await client.call_tool("one__count", {})).is_error
        await changing.write(start + 'tools = { leave_out = ["co*"] }\n')
        with pytest.raises(MCPError, match="left out"):
            await client.call_tool("one__count", {})
        assert await names(client) == []
        direct = changing.gateway.announced["url"] + "/servers/one/mcp"
        async with Client(direct) as one:
            with pytest.raises(MCPError, match="left out"):
                await one.call_tool("count", {})
        await changing.write(start)
        assert await names(client) == ["one__count"]
        again = await client.call_tool("one__count", {})
        assert "2" in str(again.content), "the same process"


async def test_a_tools_own_time_limit_is_taken_over_and_its_process_stays(tmp_path: Path) -> None:
    start = child("slow", "play", SHARED, SLOW)
    never = {"until": str(tmp_path / "never")}
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        pid = str((await client.call_tool("slow__play", {})).content)
        await changing.write(start + "tools = { timeout_s = { play = 0.3 } }\n")
        with pytest.raises(MCPError, match=r"within 0\.3 s"):
            await client.call_tool("slow__play", never)
        assert str((await client.call_tool("slow__play", {})).content) == pid


async def test_the_policy_and_the_search_tool_are_taken_over(tmp_path: Path) -> None:
    start = child("one")
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        assert not (await client.call_tool("one__count", {})).is_error
        await changing.write(start + '[policy]\ndestructive = "deny"\n')
        with pytest.raises(MCPError, match="policy"):
            await client.call_tool("one__count", {})
        await changing.write(start + "[server]\ntool_search = true\n")
        assert await names(client) == ["call_tool", "find_tools"]
        found = await client.call_tool("find_tools", {"query": "count"})
        assert "one__count" in str(found.content)
        assert (await changing.gateway.get("/api/v1/tools"))["tool_search"] is True
        await changing.write(start + "[server]\nmax_offers = 1\n")
        assert await names(client) == ["one__count"]


async def test_redaction_and_what_the_record_keeps_are_taken_over(tmp_path: Path) -> None:
    start = child("one")
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        await client.call_tool("one__count", {"order_no": "A-1"})
        await changing.write(start + '[record]\nredact_keys = ["order_no"]\nkeep = "3d"\nsync = "interval"\n')
        await client.call_tool("one__count", {"order_no": "B-2"})
        await changing.write(start + 'redact_patterns = ["C-[0-9]"]\n[record]\nmax_body = "1KiB"\n')
        await client.call_tool("one__count", {"order_no": "C-3", "long": "x" * 3000})

        async def are_there() -> list[Any]:
            found = await recorded(changing, "request_json")
            return found if len(found) == 3 else []

        first, second, third = await until(are_there)
        assert "A-1" in first
        assert "B-2" not in second
        assert "C-3" not in str(third)
        assert len(str(third)) < 2_000
        about = await changing.gateway.get("/api/v1/about")
        assert about["record"]["keep_s"] == 30 * 86400.0, "left out again: the default"


async def test_the_largest_body_and_the_number_of_processes_are_taken_over(tmp_path: Path) -> None:
    start = child("one", more=SHARED)
    async with changing_gateway(tmp_path, start) as changing:
        news = await changing.write(
            start
            + '[server]\nmax_body = "2KiB"\nmax_children = 7\nchild_idle_s = 5\nanswer_timeout_s = 9\n'
            + 'max_connections = 900\ndrain = "1s"\n[record]\nsession_gap = "5m"\noffer = true\n'
        )
        assert news["needs_restart"] == []
        refused = await changing.post("/api/v1/query", {"sql": "SELECT 1 -- " + "x" * 4096})
        assert refused["code"] == "caller.too_large"
        assert sorted(await changing.servers()) == ["one", "record"]
        news = await changing.write(start + child("two") + "[server]\nmax_children = 1\n")
        assert "max_children" in news["problem"]


async def test_a_joined_pipe_and_a_new_one_serve_what_the_file_says_now(tmp_path: Path) -> None:
    async with changing_gateway(tmp_path) as changing:
        await changing.write(child("one"))
        told = await run_callgate(tmp_path, "stdio", stdin=line(1, "tools/list"))
        assert [tool["name"] for tool in frames(told.stdout)[0]["result"]["tools"]] == ["one__count"]
        assert told.stderr == "", "it joined: the announced fingerprint followed"


@pytest.mark.parametrize("how", ["cut", "garbled", "deleted", "a folder", "twenty problems"])
async def test_with_any_problem_the_old_configuration_serves_on_and_the_problem_is_shown(
    tmp_path: Path, how: str
) -> None:
    start = child("one")
    async with changing_gateway(tmp_path, start) as changing, Client(changing.gateway.mcp_url) as client:
        await until(partial(is_listed, client))
        good = changing.file.read_text()
        match how:
            case "cut":
                changing.file.write_text(good[: good.rindex('"')])
            case "garbled":
                changing.file.write_bytes(os.urandom(500))
            case "deleted":
                changing.file.unlink()
            case "a folder":
                changing.file.unlink()
                changing.file.mkdir()
            case _:
                many = "".join(f"[mcpServers.x{n}]\nurl = {n}\n" for n in range(20))
                changing.file.write_text(good + many)
        news = await changing.reload()
        assert news["problem"] is not None
        assert news["version"] == 0
        if how == "twenty problems":
            assert "x19" in news["problem"]
        assert await names(client) == ["one__count"]
        assert not (await client.call_tool("one__count", {})).is_error
        health = await changing.gateway.get("/healthz")
        assert (health["status"], health["problems"]) == ("degraded", [news["problem"]])
        if how == "a folder":
            changing.file.rmdir()
        changing.file.write_text(good)
        assert (await changing.reload())["problem"] is None


async def test_a_file_that_changes_all_the_time_is_taken_over_a_few_times_and_the_last_state_wins(
    tmp_path: Path,
) -> None:
    async with changing_gateway(tmp_path, child("one")) as changing:
        for number in range(60):
            changing.file.write_text(f"version = 1\n{child(f'server{number}')}")
            await asyncio.sleep(0.05)

        async def is_last() -> bool:
            return list(await changing.servers()) == ["server59"]

        await until(is_last)
        assert (await changing.gateway.get("/api/v1/settings"))["version"] < 20


async def test_many_who_ask_at_once_share_the_work(tmp_path: Path) -> None:
    async with changing_gateway(tmp_path) as changing:
        changing.file.write_text(f"version = 1\n{child('one')}")
        told = await asyncio.gather(*(changing.reload() for _ in range(20)))
        assert {news["version"] for news in told} == {1}


async def test_every_worker_serves_the_changed_file(tmp_path: Path) -> None:
    async with changing_gateway(tmp_path, child("one"), "--workers", "2") as changing:
        await changing.write(child("one") + child("two"))

        async def all_have_it() -> bool:
            listed: list[Any] = []
            for _ in range(6):  # each comes by a connection of its own, to either worker
                async with Client(changing.gateway.mcp_url) as client:
                    listed.append(await names(client))
            return all(one == ["one__count", "two__count"] for one in listed)

        await until(all_have_it)
        changing.file.write_text("version = 1\n[server\n")
        await changing.reload()

        async def all_say_so() -> bool:
            problems = (await changing.gateway.get("/healthz")).get("problems", [])
            return sum("not taken over" in problem for problem in problems) >= 2

        await until(all_say_so)


async def test_status_names_what_needs_a_new_start(tmp_path: Path) -> None:
    async with changing_gateway(tmp_path) as changing:
        await changing.write("[server]\naudit_stderr = true\n")
        told = await run_callgate(tmp_path, "status")
        assert "need a new start: server.audit_stderr" in told.stdout
        as_json = await run_callgate(tmp_path, "status", "--json")
        assert json.loads(as_json.stdout)["settings"]["needs_restart"] == ["server.audit_stderr"]
