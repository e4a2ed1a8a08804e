"""Twenty upstreams, one of them dead: the others are served, and everybody can see what is missing."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import duckdb
import pytest
from end_to_end.upstream_stage import Actor, Stage, client_of, staged, text_of
from kept_port import kept_port
from upstreams.processes import is_alive
from waiting import until

FINE = {"answer": "fine"}


@asynccontextmanager
async def port_of(how: str) -> AsyncIterator[int]:
    """A port that refuses, or one that takes connections and never says a word."""
    if how == "refuses":
        with kept_port() as port:
            yield port
        return
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: held.append(writer), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in held:
            writer.close()


def nineteen(folder: Path) -> list[Actor]:
    return [Actor(f"s{number:02}", folder) for number in range(19)]


@pytest.mark.parametrize("how", ["exits at once", "refuses", "never answers"])
async def test_with_one_of_twenty_dead_the_others_are_listed_and_health_says_which_and_why(
    tmp_path: Path, how: str
) -> None:
    needed, dead = tmp_path / "needed", Actor("dead", tmp_path)
    others = nineteen(tmp_path)
    async with port_of(how) as port:
        if how == "exits at once":
            dead.options = ["--needs", str(needed)]
        else:
            dead.url = f"http://127.0.0.1:{port}/mcp"
        async with staged(*others[:10], dead, *others[10:]) as stage, stage.client() as client:
            for actor in others:
                await stage.until_state(actor.name, "up")
            names = await client.names()
            assert names == [f"{actor.name}__{tool}" for actor in others for tool in ("play", "echo")]
            down = await stage.until_state("dead", "down")
            assert down["code"] in ("upstream.exited", "upstream.unavailable", "upstream.timeout")
            assert ("dead exited with code 3" if how == "exits at once" else str(port)) in down["detail"]
            calls = await asyncio.gather(
                *(
                    client.play(f"{actor.name}__play", {"answer": "@NAME@"}, rpc_id=b"%d" % number)
                    for number, actor in enumerate(others)
                )
            )
            assert [text_of(answer) for answer in calls] == [actor.name for actor in others]


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_its_tools_come_into_the_list_when_it_comes_up_and_listeners_are_told(
    tmp_path: Path, transport: str
) -> None:
    needed, late = tmp_path / "needed", Actor("late", tmp_path)
    late.options = ["--needs", str(needed)]
    with kept_port() as port:
        if transport == "http":
            late.url = f"http://127.0.0.1:{port}/mcp"
        async with staged(Actor("one", tmp_path), late) as stage, stage.client() as client:
            await stage.until_state("one", "up")
            await stage.until_state("late", "down")
            assert await client.names() == ["one__play", "one__echo"]
            heard = await client.listen()
            async with stage.client("/servers/one/mcp") as direct:
                elsewhere = await direct.listen()
                needed.touch()
                if transport == "http":
                    await late.start_http(port)
                await stage.until_state("late", "up")
                await heard.until_method("notifications/tools/list_changed")
                assert await client.names() == ["one__play", "one__echo", "late__play", "late__echo"]
                assert text_of(await client.play("late__play", FINE)) == "fine"
                # A client of one server alone does not hear of another.
                answer = await direct.play("play", announce_now(), FINE)
                assert text_of(answer) == "fine"
                assert (await elsewhere.next())["params"] == {"only": "one"}


def announce_now() -> dict[str, str]:
    frame = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"only": "one"}}
    return {"announce": json.dumps(frame)}


async def test_what_a_server_offered_stays_listed_while_it_is_down_for_a_moment(tmp_path: Path) -> None:
    """A dead upstream neither breaks nor silently empties a list."""
    needed, one = tmp_path / "needed", Actor("one", tmp_path)
    needed.touch()
    one.options = ["--needs", str(needed)]
    async with staged(one, Actor("two", tmp_path)) as stage, stage.client() as client:
        await stage.until_state("one", "up")
        before = await client.names_of("one", "two")
        needed.unlink()
        os.kill(one.pids()[0], signal.SIGKILL)
        await stage.until_state("one", "down")
        assert await client.names() == before


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_call_of_one_server_does_not_wait_for_the_list_of_another(tmp_path: Path, era: str) -> None:
    """The name says whose it is: nobody else needs to be asked."""
    slow, quick = Actor("slow", tmp_path, ["--era", era]), Actor("quick", tmp_path, ["--era", era])
    slow.offer(tools=["play"], silent="tools")
    async with staged(slow, quick) as stage, client_of(stage, era) as client:
        await stage.until_state("slow", "up")
        await stage.until_state("quick", "up")
        assert text_of(await client.play("quick__play", FINE)) == "fine"
        assert not slow.heard("notifications/cancelled"), "the call waited until the other was given up"


async def test_a_list_does_not_ask_a_server_again_that_has_told(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    async with staged(one) as stage, stage.client() as client, stage.client() as other:
        await stage.until_state("one", "up")
        for _ in range(3):
            await asyncio.gather(client.names(), other.names())
        assert len(one.heard("tools/list")) <= 2


# ---- processes


async def test_killing_the_gateway_leaves_no_child_behind(tmp_path: Path) -> None:
    tame, deaf = Actor("tame", tmp_path), Actor("deaf", tmp_path, ["--deaf"])
    async with staged(tame, deaf) as stage, stage.client(capabilities={"roots": {}}) as client:
        for name in ("tame", "deaf"):
            assert text_of(await client.play(f"{name}__play", FINE)) == "fine"
        # A shared one and the client's own each.
        await until(lambda: len(tame.pids()) == len(deaf.pids()) == 2)
        pids = tame.pids() + deaf.pids()
        assert all(is_alive(pid) for pid in pids)
        stage.process.kill()
        await until(lambda: not any(is_alive(pid) for pid in pids))


async def test_a_stopped_gateway_leaves_no_child_behind_and_ends_http_sessions(tmp_path: Path) -> None:
    tame, deaf, remote = Actor("tame", tmp_path), Actor("deaf", tmp_path, ["--deaf"]), Actor("http", tmp_path)
    await remote.start_http()
    async with staged(tame, deaf, remote) as stage:
        for name in ("tame", "deaf", "http"):
            await stage.until_state(name, "up")
        pids = tame.pids() + deaf.pids()
        await stage.stop()
        assert stage.process.returncode == 0
        assert not any(is_alive(pid) for pid in pids)
        assert tame.lines()[-1].get("end") == "stdin", "it was asked to go, not killed"
        opened = {line["get"] for line in remote.lines() if "get" in line}
        # A session that only lists may end before it has come to listen.
        assert {line["delete"] for line in remote.lines() if "delete" in line} >= opened
        assert opened


# ---- the record


def rows(stage: Stage, sql: str) -> list[tuple[object, ...]]:
    (day,) = (stage.folder / "record" / "days").glob("*.duckdb")
    with duckdb.connect(str(day), read_only=True) as store:
        return store.execute(sql).fetchall()


async def test_a_call_is_recorded_with_the_server_its_version_and_its_leg(tmp_path: Path) -> None:
    async with staged(Actor("one", tmp_path), Actor("two", tmp_path)) as stage, stage.client() as client:
        assert text_of(await client.play("one__play", FINE)) == "fine"
        await client.play("two__play", {"exit": 1})
        await stage.stop()
        found = rows(
            stage,
            "SELECT e.server_name, e.server_version, e.server_protocol, e.tool_name, e.ok, e.outcome,"
            " e.ended_by, e.error_code, u.server_name, u.ok, u.duration_ms > 0,"
            " u.duration_ms <= e.duration_ms, u.request_json LIKE '%\"play\"%',"
            " e.request_json LIKE '%__play%'"
            " FROM rpc_events e JOIN rpc_event_upstreams u ON e.id = u.event_id"
            " WHERE e.method = 'tools/call' ORDER BY e.ts",
        )
        assert found == [
            (
                "one", "1.2.3", "2025-11-25", "one__play", True, "answered", "upstream", None,
                "one", True, True, True, True, True,
            ),
            (
                "two", "1.2.3", "2025-11-25", "two__play", False, "failed", "upstream", "upstream.exited",
                "two", False, True, True, True, True,
            ),
        ]  # fmt: skip


async def test_a_merged_list_is_recorded_with_one_leg_for_each_server(tmp_path: Path) -> None:
    dead = Actor("dead", tmp_path, ["--needs", str(tmp_path / "nothing")])
    bare = Actor("bare", tmp_path)
    bare.offer(prompts=[])  # it does not know tools/list
    async with staged(Actor("one", tmp_path), bare, dead) as stage, stage.client() as client:
        await stage.until_state("one", "up")
        await stage.until_state("dead", "down")
        for _ in range(2):
            assert await client.names() == ["one__play", "one__echo"]
        await stage.stop()
        legs = rows(
            stage,
            "SELECT u.server_name, u.ok, u.cached, u.error IS NULL FROM rpc_events e"
            " JOIN rpc_event_upstreams u ON e.id = u.event_id WHERE e.method = 'tools/list'"
            " ORDER BY e.ts, u.server_name",
        )
        # Whether the first list came before or after their own coming up is not said.
        assert [(name, ok, fine) for name, ok, _, fine in legs[:3]] == [
            ("bare", True, True), ("dead", False, False), ("one", True, True),
        ]  # fmt: skip
        assert legs[3:] == [
            ("bare", True, True, True), ("dead", False, False, False), ("one", True, True, True),
        ]  # fmt: skip
        events = rows(
            stage,
            "SELECT DISTINCT server_name, server_version, server_protocol FROM rpc_events"
            " WHERE method = 'tools/list'",
        )
        assert events == [("aggregate", None, None)], "a version of one server is not that of all"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_cancelled_call_is_recorded_as_ended_by_the_client(tmp_path: Path, era: str) -> None:
    one = Actor("one", tmp_path, ["--era", era])
    async with staged(one) as stage, client_of(stage, era) as client:
        params = {"name": "one__play", "arguments": {"steps": [{"wait_cancelled": 1}]}}
        answering = await client.send("tools/call", params, b'"x"')
        await until(lambda: one.heard("tools/call"))
        if era == "legacy":
            await client.notify("notifications/cancelled", {"requestId": "x"})
        else:
            await answering.hang_up()
        await until(lambda: one.heard("notifications/cancelled"))
        await stage.stop()
        found = rows(stage, "SELECT outcome, ended_by, ok FROM rpc_events WHERE method = 'tools/call'")
        assert found == [("cancelled", "client", False)]
