"""Who hears what: cancellation, progress and questions go between one client and the server it called."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import stdio_server, text_in
from end_to_end.raw_clients import LegacyClient
from end_to_end.upstream_stage import Actor, client_of, code_of, say, staged, text_of
from mcp import Client
from mcp_types import ElicitResult
from upstreams.processes import is_alive
from waiting import until

FINE = {"answer": "fine"}
PROGRESS = (
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":@TOKEN@,"progress":%d}}'
)
ERAS = ["legacy", "modern"]
TRANSPORTS = ["stdio", "http"]
PATHS = ["/mcp", "/servers/one/mcp"]


async def actor(folder: Path, name: str, transport: str, era: str = "legacy", **more: Any) -> Actor:
    made = Actor(name, folder, ["--era", era], **more)
    if transport == "http":
        await made.start_http()
    return made


def tool_of(path: str, name: str = "play", server: str = "one") -> str:
    return f"{server}__{name}" if path == "/mcp" else name


def ask(method: str, **params: Any) -> dict[str, Any]:
    return {"ask": {"method": method, "params": params}}


# ---- cancellation


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_cancellation_reaches_the_one_server_under_the_id_it_knows(
    tmp_path: Path, era: str, transport: str, path: str
) -> None:
    one = await actor(tmp_path, "one", transport, era, isolation="shared")
    two = await actor(tmp_path, "two", transport, era, isolation="shared")
    gate = tmp_path / "gate"
    async with (
        staged(one, two) as stage,
        client_of(stage, era, path) as client,
        client_of(stage, era) as other,
    ):
        # The same id for three calls: two of one client's neighbour, on both servers, and ours.
        held = {"wait_file": str(gate)}
        neighbours = [
            asyncio.create_task(other.play("one__play", held, FINE, rpc_id=b"5")),
            asyncio.create_task(other.play("two__play", held, FINE, rpc_id=b"6")),
        ]
        await until(lambda: one.heard("tools/call") and two.heard("tools/call"))
        (theirs,) = one.heard("tools/call")
        params = {"name": tool_of(path), "arguments": {"steps": [{"wait_cancelled": 1}]}}
        answering = await client.send("tools/call", params, b"5")
        await until(lambda: len(one.heard("tools/call")) == 2)
        ours = one.heard("tools/call")[1]
        if era == "legacy":
            await client.notify("notifications/cancelled", {"requestId": 5, "reason": "no more"})
            await answering.read_head()
            assert await answering.all() == [], "a cancelled request gets no response"
        else:
            await answering.hang_up()
        if era == "modern" and transport == "http":
            closed = await until(lambda: [line["raw"] for line in one.lines() if line.get("end") == "closed"])
            assert closed == [json.dumps(ours["id"])]
            assert not one.heard("notifications/cancelled"), "the closed stream says it"
        else:
            (cancelled,) = await until(lambda: one.heard("notifications/cancelled"))
            assert cancelled["params"]["requestId"] == ours["id"] != theirs["id"]
        gate.touch()
        assert [text_of(answer) for answer in await asyncio.gather(*neighbours)] == ["fine", "fine"]
        assert not two.heard("notifications/cancelled")


async def test_a_legacy_client_that_hangs_up_has_not_cancelled(tmp_path: Path) -> None:
    one, gate = Actor("one", tmp_path), tmp_path / "gate"
    async with staged(one) as stage, stage.client() as client:
        params = {
            "name": "one__play",
            "arguments": {"steps": [{"wait_file": str(gate)}, {"wait_file": str(gate)}]},
        }
        answering = await client.send("tools/call", params)
        await until(lambda: one.heard("tools/call"))
        await answering.hang_up()
        assert text_of(await client.play("one__play", FINE, rpc_id=b"2")) == "fine"
        assert not one.heard("notifications/cancelled")
        gate.touch()


async def test_a_client_cannot_cancel_the_call_of_another(tmp_path: Path) -> None:
    one, gate = Actor("one", tmp_path, isolation="shared"), tmp_path / "gate"
    async with staged(one) as stage, stage.client() as client, stage.client() as other:
        call = asyncio.create_task(client.play("one__play", {"wait_file": str(gate)}, FINE, rpc_id=b"5"))
        (heard,) = await until(lambda: one.heard("tools/call"))
        for rpc_id in (5, heard["id"], str(heard["id"])):
            await other.notify("notifications/cancelled", {"requestId": rpc_id})
        gate.touch()
        assert text_of(await call) == "fine"
        assert not one.heard("notifications/cancelled")


# ---- progress


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_progress_carries_the_clients_own_token_also_when_two_chose_the_same(
    tmp_path: Path, era: str, transport: str, path: str
) -> None:
    one = await actor(tmp_path, "one", transport, era, isolation="shared")
    gate = tmp_path / "gate"
    async with (
        staged(one) as stage,
        client_of(stage, era, path) as client,
        client_of(stage, era, path) as other,
    ):

        def params(number: int, token: Any) -> dict[str, Any]:
            steps = [{"wait_file": str(gate)}, {"say": PROGRESS % number}, {"answer": str(number)}]
            meta = {"progressToken": token}
            return {"name": tool_of(path), "arguments": {"steps": steps}, "_meta": meta}

        tokens: list[Any] = ["t", "t", 7, 7, "7", 0, "1", 1]
        calls = [
            asyncio.create_task(
                (client if number % 2 else other).frames("tools/call", params(number, token), b"%d" % number)
            )
            for number, token in enumerate(tokens)
        ]
        await until(lambda: len(one.heard("tools/call")) == len(tokens))
        gate.touch()
        for number, frames in enumerate(await asyncio.gather(*calls)):
            moved, answer = map(json.loads, frames)
            assert moved["params"] == {"progressToken": tokens[number], "progress": number}
            assert text_of(answer) == str(number)
        sent = [heard["params"]["_meta"]["progressToken"] for heard in one.heard("tools/call")]
        assert len(set(map(json.dumps, sent))) == len(tokens), "no two alike on the server's side"


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_progress_extends_the_time_out(tmp_path: Path, transport: str) -> None:
    """Five steps, each a good part of the time-out away from the one before."""
    one = await actor(tmp_path, "one", transport, timeout_s=2)
    gates = [tmp_path / f"gate{number}" for number in range(5)]
    steps: list[dict[str, Any]] = []
    for number, gate in enumerate(gates):
        steps += [{"wait_file": str(gate)}, {"say": PROGRESS % number}]
    async with staged(one) as stage, stage.client() as client:
        params = {
            "name": "one__play",
            "arguments": {"steps": [*steps, FINE]},
            "_meta": {"progressToken": 1},
        }
        answering = await client.send("tools/call", params)
        for gate in gates:
            await asyncio.sleep(1.0)  # the passing of time is the subject here, not a synchronisation
            gate.touch()
        await answering.read_head()
        frames = [json.loads(frame) for frame in await answering.all()]
        assert text_of(frames[-1]) == "fine"
        assert len(frames) == 6


# ---- questions of the server


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_question_reaches_the_client_whose_call_it_was_and_nobody_else(
    tmp_path: Path, transport: str, path: str
) -> None:
    one = await actor(tmp_path, "one", transport)
    declared = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}
    methods = ["elicitation/create", "sampling/createMessage", "roots/list"]

    async def converse(client: LegacyClient, who: str) -> str:
        """Three calls at once, each with a question; every answer names the asked one."""

        async def one_call(number: int, method: str) -> str:
            steps = [ask(method, who=who, number=number), {"answer": "@ANSWER@"}]
            params = {"name": tool_of(path), "arguments": {"steps": steps}}
            answering = await client.send("tools/call", params, b"%d" % number)
            await answering.read_head()
            asked = await answering.next()
            assert (asked["method"], asked["params"]["who"]) == (method, who)
            await client.respond(asked, {"said by": who, "number": asked["params"]["number"]})
            return text_of(await answering.next())

        if transport == "http":  # every question is on its call's own stream
            said = await asyncio.gather(*(one_call(n, method) for n, method in enumerate(methods)))
        else:  # on one pipe questions of one client's calls cannot be told apart, so one after the other
            said = [await one_call(number, method) for number, method in enumerate(methods)]
        assert [json.loads(text) for text in said] == [{"said by": who, "number": n} for n in range(3)]
        return who

    async with (
        staged(one) as stage,
        stage.client(path, capabilities=declared, info={"name": "A", "version": "1"}) as first,
        stage.client(path, capabilities=declared, info={"name": "B", "version": "2"}) as second,
    ):
        for _ in range(3):
            await asyncio.gather(converse(first, "A"), converse(second, "B"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_server_sees_exactly_what_the_client_declared(
    tmp_path: Path, transport: str, path: str
) -> None:
    one = await actor(tmp_path, "one", transport)
    declared = {"elicitation": {"form": {}, "url": {}}, "experimental": {"x": {"n": 1.0}}}
    info = {"name": "fancy", "version": "9.9", "title": "Fancy \u00e9", "x-own": [1]}
    async with staged(one) as stage:
        async with stage.client(path, capabilities=declared, info=info) as client:
            assert text_of(await client.play(tool_of(path), FINE)) == "fine"
            hello = one.heard("initialize")[-1]
            assert hello["params"]["capabilities"] == declared
            assert hello["params"]["clientInfo"] == info
            assert hello["params"]["protocolVersion"] == "2025-11-25"
            # Its call went over that very connection.
            (call,) = one.heard("tools/call")
            if transport == "stdio":
                assert call["pid"] == hello["pid"]
        shared = one.heard("initialize")[0]
        assert shared["params"]["capabilities"] == {}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_clients_without_capabilities_share_a_connection_that_declares_none(
    tmp_path: Path, transport: str
) -> None:
    one = await actor(tmp_path, "one", transport, isolation="shared" if transport == "stdio" else "auto")
    async with staged(one) as stage, stage.client() as first, stage.client("/servers/one/mcp") as second:
        assert text_of(await first.play("one__play", FINE)) == "fine"
        assert text_of(await second.play("play", FINE)) == "fine"
        (hello,) = one.heard("initialize")
        assert hello["params"]["capabilities"] == {}
        assert len({call["session"] for call in one.heard("tools/call")}) == 1


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_client_that_declared_nothing_is_never_asked(tmp_path: Path, transport: str) -> None:
    """The connection is shared: whose answer it would be, nobody can say."""
    one = await actor(tmp_path, "one", transport, isolation="shared")
    async with staged(one) as stage, stage.client() as client, stage.client() as other:
        gate = tmp_path / "gate"
        waiting = asyncio.create_task(other.frames("tools/call", held(gate)))
        await until(lambda: one.heard("tools/call"))
        steps = [ask("elicitation/create", message="your password?"), {"answer": "@ANSWER@"}]
        frames = await client.frames("tools/call", {"name": "one__play", "arguments": {"steps": steps}})
        assert "error" in json.loads(text_of(json.loads(frames[-1])))
        assert len(frames) == 1
        gate.touch()
        assert len(await waiting) == 1


def held(gate: Path) -> dict[str, Any]:
    return {"name": "one__play", "arguments": {"steps": [{"wait_file": str(gate)}, FINE]}}


@pytest.mark.parametrize("isolation", ["shared", "session"])
async def test_isolation_can_be_forced(tmp_path: Path, isolation: str) -> None:
    one = Actor("one", tmp_path, isolation=isolation)
    async with (
        staged(one) as stage,
        stage.client(capabilities={"sampling": {}}) as first,
        stage.client() as second,
    ):
        for client in (first, second):
            assert text_of(await client.play("one__play", FINE)) == "fine"
        pids = {call["pid"] for call in one.heard("tools/call")}
        assert len(pids) == (1 if isolation == "shared" else 2)


@pytest.mark.parametrize("how", ["delete", "stdio"])
async def test_the_child_of_a_session_ends_with_it(tmp_path: Path, how: str) -> None:
    one = Actor("one", tmp_path)
    async with staged(one) as stage:
        await stage.until_state("one", "up")
        if how == "delete":
            async with stage.client(capabilities={"roots": {}}) as client:
                assert text_of(await client.play("one__play", FINE)) == "fine"
                await client.end()
        else:

            async def answer(context: Any, params: Any) -> ElicitResult:
                return ElicitResult(action="decline")

            server = stdio_server(stage.folder)
            async with Client(server, mode="legacy", elicitation_callback=answer) as sdk:
                await sdk.call_tool("one__play", {"steps": [FINE]})
        shared, own = one.pids()[0], one.heard("tools/call")[0]["pid"]
        assert own != shared
        await until(lambda: not is_alive(own))
        assert is_alive(shared)
        assert any(line.get("end") == "stdin" and line["pid"] == own for line in one.lines())


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_when_clients_come_often_the_next_one_gets_a_child_that_is_there_already(
    tmp_path: Path, end: str
) -> None:
    one = Actor("one", tmp_path)
    async with (
        staged(one) as stage,
        stage.client() as first,
        stage.client() as second,
        stage.client() as third,
    ):
        assert text_of(await first.play("one__play", FINE)) == "fine"
        # Until: one that only lists counts until it has said so.
        await until(lambda: len(one.pids()) == 2)  # one client alone needs no spare
        assert text_of(await second.play("one__play", FINE)) == "fine"
        await until(lambda: len(one.pids()) == 4)
        used = [call["pid"] for call in one.heard("tools/call")]
        (spare,) = set(one.pids()[1:]) - set(used)
        assert spare not in {line["pid"] for line in one.lines() if line["raw"]}, "nobody spoke to it"
        assert text_of(await third.play("one__play", FINE)) == "fine"
        assert [call["pid"] for call in one.heard("tools/call")] == [*used, spare]
        await until(lambda: len(one.pids()) == 5)
        assert all(map(is_alive, one.pids()))
        if end == "kill":
            stage.process.kill()
            await stage.process.wait()
    await until(lambda: not any(map(is_alive, one.pids())))


async def test_an_http_session_of_a_client_ends_with_it(tmp_path: Path) -> None:
    one = await actor(tmp_path, "one", "http")
    async with staged(one) as stage, stage.client(capabilities={"roots": {}}) as client:
        assert text_of(await client.play("one__play", FINE)) == "fine"
        (call,) = one.heard("tools/call")
        await client.end()
        deleted = await until(lambda: [line["delete"] for line in one.lines() if "delete" in line])
        assert deleted == [call["session"]]


async def test_the_time_of_the_client_does_not_count_as_the_servers(tmp_path: Path) -> None:
    one = Actor("one", tmp_path, timeout_s=1)
    async with staged(one) as stage, stage.client(capabilities={"elicitation": {}}) as client:
        steps = [ask("elicitation/create", message="?"), {"answer": "@ANSWER@"}]
        answering = await client.send("tools/call", {"name": "one__play", "arguments": {"steps": steps}})
        await answering.read_head()
        asked = await answering.next()
        await asyncio.sleep(2.5)  # the passing of time is the subject here, not a synchronisation
        await client.respond(asked, {"action": "accept"})
        assert json.loads(text_of(await answering.next())) == {"action": "accept"}


async def test_a_question_that_the_server_takes_back_is_taken_back_under_the_id_the_client_knows(
    tmp_path: Path,
) -> None:
    gate, one = tmp_path / "gate", Actor("one", tmp_path)
    question = {"jsonrpc": "2.0", "id": "mine", "method": "elicitation/create", "params": {"message": "?"}}
    steps = [
        {"say": json.dumps(question)},
        {"wait_file": str(gate)},
        say("notifications/cancelled", {"requestId": "mine", "reason": "never mind"}),
        FINE,
    ]
    async with staged(one) as stage, stage.client(capabilities={"elicitation": {}}) as client:
        answering = await client.send("tools/call", {"name": "one__play", "arguments": {"steps": steps}})
        await answering.read_head()
        asked = await answering.next()
        gate.touch()
        taken_back = await answering.next()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"] == {"requestId": asked["id"], "reason": "never mind"}
        assert text_of(await answering.next()) == "fine"


async def test_an_answer_of_one_client_to_the_question_of_another_is_ignored(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    declared = {"elicitation": {}}
    async with (
        staged(one) as stage,
        stage.client(capabilities=declared) as client,
        stage.client(capabilities=declared) as other,
    ):
        steps = [ask("elicitation/create", message="?"), {"answer": "@ANSWER@"}]
        answering = await client.send("tools/call", {"name": "one__play", "arguments": {"steps": steps}})
        await answering.read_head()
        asked = await answering.next()
        await other.respond(asked, {"action": "stolen"})
        await client.respond(asked, {"action": "accept"})
        assert json.loads(text_of(await answering.next())) == {"action": "accept"}


async def test_a_change_of_roots_reaches_only_the_servers_connection_of_that_client(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    declared = {"roots": {"listChanged": True}}
    async with (
        staged(one) as stage,
        stage.client(capabilities=declared) as client,
        stage.client(capabilities=declared) as other,
    ):
        for each in (client, other):
            assert text_of(await each.play("one__play", FINE)) == "fine"
        mine = one.heard("tools/call")[0]["pid"]
        await client.notify("notifications/roots/list_changed")
        (heard,) = await until(lambda: one.heard("notifications/roots/list_changed"))
        assert heard["pid"] == mine


async def test_a_log_message_of_one_clients_call_is_not_heard_by_another(tmp_path: Path) -> None:
    one, gate = Actor("one", tmp_path), tmp_path / "gate"
    declared = {"roots": {}}
    async with (
        staged(one) as stage,
        stage.client(capabilities=declared) as client,
        stage.client(capabilities=declared) as other,
    ):
        waiting = asyncio.create_task(other.frames("tools/call", held(gate)))
        await until(lambda: one.heard("tools/call"))
        steps = [say("notifications/message", {"level": "info", "data": "secret"}), FINE]
        frames = await client.frames("tools/call", {"name": "one__play", "arguments": {"steps": steps}})
        assert len(frames) == 2
        gate.touch()
        assert len(await waiting) == 1


async def test_past_the_ceiling_on_connections_of_their_own_the_longest_idle_one_makes_room(
    tmp_path: Path,
) -> None:
    """Over HTTP: a hundred processes would make a slow test, a hundred sessions do not."""
    one = await actor(tmp_path, "one", "http")
    async with staged(one) as stage:
        await stage.until_state("one", "up")
        codes: list[str] = []
        last: dict[str, Any] = {}
        for _ in range(101):
            async with stage.client(capabilities={"roots": {}}) as client:
                answer = await client.play("one__play", FINE)
                codes.append("fine" if "result" in answer else code_of(answer))
                last = answer
        assert codes == ["fine"] * 101, last


# ---- with the official client


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_two_sdk_clients_each_answer_their_own_elicitations(tmp_path: Path, transport: str) -> None:
    one = await actor(tmp_path, "one", transport)
    async with staged(one) as stage:

        async def run(who: str) -> None:
            async def answer(context: Any, params: Any) -> ElicitResult:
                assert params.message == who
                return ElicitResult(action="accept", content={"who": who})

            url = f"http://127.0.0.1:{stage.port}/mcp"
            async with Client(url, mode="legacy", elicitation_callback=answer) as client:
                for _ in range(5):
                    question = ask(
                        "elicitation/create",
                        message=who,
                        requestedSchema={"type": "object", "properties": {}},
                    )
                    result = await client.call_tool(
                        "one__play", {"steps": [question, {"answer": "@ANSWER@"}]}
                    )
                    said = json.loads(text_in(result.content[0]))
                    assert said["content"] == {"who": who}

        async with asyncio.timeout(60):
            await asyncio.gather(run("A"), run("B"))
