"""The record as an operator finds it: every call in it, once, whatever became of the gateways."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import duckdb
from edge.http_probe import JSON_HEADERS
from end_to_end.gateway_process import run_callgate, running_gateway
from end_to_end.raw_clients import LegacyClient
from end_to_end.upstream_stage import Actor, announce, say, staged, text_of
from waiting import until

FINE = {"answer": "fine"}


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    (day,) = (folder / "record" / "days").glob("*.duckdb")
    with duckdb.connect(str(day), read_only=True) as store:
        return store.execute(sql).fetchall()


async def test_a_handshake_a_list_and_a_call_are_one_session_and_three_events(tmp_path: Path) -> None:
    async with staged(Actor("one", tmp_path), Actor("two", tmp_path)) as stage, stage.client() as client:
        await client.request("tools/list")
        assert text_of(await client.play("two__play", FINE)) == "fine"
        await stage.stop()
        sums = "SELECT era, transport, tool_call_count, error_count, client_name IS NOT NULL FROM sessions"
        assert rows(stage.folder, sums) == [("legacy", "http", 1, 0, True)]
        assert rows(
            stage.folder,
            "SELECT method, server_name, outcome, kind, sender, rpc_id IS NOT NULL, tool_name,"
            " request_tokens > 0 FROM rpc_events ORDER BY ts, method DESC",
        ) == [
            ("initialize", None, "answered", "request", "client", True, None, True),
            ("tools/list", "aggregate", "answered", "request", "client", True, None, True),
            ("tools/call", "two", "answered", "request", "client", True, "two__play", True),
        ]
        assert rows(
            stage.folder,
            "SELECT method, list(u.server_name ORDER BY u.server_name) FROM rpc_events e"
            " JOIN rpc_event_upstreams u ON e.id = u.event_id GROUP BY method ORDER BY method",
        ) == [("tools/call", ["two"]), ("tools/list", ["one", "two"])]


async def test_what_a_server_says_during_a_call_is_recorded_too(tmp_path: Path) -> None:
    async with staged(Actor("one", tmp_path)) as stage, stage.client() as client:
        told = say("notifications/message", {"level": "info", "data": "half way"})
        assert text_of(await client.play("one__play", told, FINE)) == "fine"
        await client.notify("notifications/roots/list_changed")
        await stage.stop()
        assert rows(
            stage.folder,
            "SELECT method, sender, server_name, ok FROM rpc_events WHERE kind = 'notification' ORDER BY ts",
        ) == [
            ("notifications/message", "server", "one", True),
            ("notifications/roots/list_changed", "client", "one", True),
        ]


async def test_what_is_said_outside_of_any_call_is_recorded_either_way(tmp_path: Path) -> None:
    one = Actor("one", tmp_path)
    async with staged(one) as stage, stage.client(capabilities={"roots": {}}) as client:
        listening = await client.listen()
        changed = announce("notifications/tools/list_changed")
        assert text_of(await client.play("one__play", changed, FINE)) == "fine"
        await listening.until_method("notifications/tools/list_changed")
        waiting = asyncio.create_task(client.play("one__play", {"wait_file": "never"}, rpc_id=b"77"))
        await until(lambda: [call for call in one.heard("tools/call") if "never" in str(call)])
        await client.notify("notifications/cancelled", {"requestId": 77, "reason": "enough"})
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await stage.stop()
        assert rows(
            stage.folder,
            "SELECT method, sender, server_name, outcome FROM rpc_events WHERE kind = 'notification'"
            " ORDER BY sender, ts",
        ) == [
            ("notifications/cancelled", "client", None, "answered"),
            ("notifications/tools/list_changed", "server", "one", "answered"),
        ]


async def test_what_a_server_asks_and_what_the_client_answers_are_recorded(tmp_path: Path) -> None:
    async with staged(Actor("one", tmp_path)) as stage, stage.client(capabilities={"roots": {}}) as client:
        question = {"ask": {"method": "roots/list", "params": {}}}
        asking = await client.send(
            "tools/call", {"name": "one__play", "arguments": {"steps": [question, FINE]}}
        )
        await asking.read_head()
        asked = await asking.until_method("roots/list")
        await client.respond(asked, {"roots": [{"uri": "file:///home", "token": "hunter2"}]})
        await asking.next()
        await stage.stop()
        assert rows(
            stage.folder,
            "SELECT kind, sender, server_name, outcome, ended_by, response_json FROM rpc_events"
            " WHERE method = 'roots/list'",
        ) == [
            (
                "request",
                "server",
                "one",
                "answered",
                "client",
                '{"roots":[{"uri":"file:///home","token":"***"}]}',
            ),
        ]


async def test_a_question_that_the_client_never_declared_is_recorded_as_refused(tmp_path: Path) -> None:
    async with staged(Actor("one", tmp_path)) as stage, stage.client() as client:
        question = {"ask": {"method": "sampling/createMessage", "params": {"maxTokens": 1}}}
        await client.play("one__play", question, FINE)
        await stage.stop()
        found = rows(
            stage.folder,
            "SELECT kind, sender, server_name, outcome, request_json, response_json LIKE '%-32601%'"
            " FROM rpc_events WHERE method = 'sampling/createMessage'",
        )
    assert found == [("request", "server", "one", "refused", '{"maxTokens":1}', True)]


async def test_what_is_refused_at_the_door_is_recorded_over_http_and_stdio(tmp_path: Path) -> None:
    tokens = 'tokens = ["9f3c27d1a8e64b05"]'
    async with staged(Actor("one", tmp_path), server=tokens) as stage:
        client, body = stage.client(), b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        for headers, sent, status in (
            ({}, body, 401),
            ({"authorization": "Bearer not-the-token-at-all"}, body, 401),
            ({"origin": "https://evil.example"}, body, 403),
            ({"authorization": "Bearer 9f3c27d1a8e64b05"}, b'{"password":"hunter2"', 400),
            ({"authorization": "Bearer 9f3c27d1a8e64b05", "mcp-session-id": "x"}, body, 404),
        ):
            answering = await client.http("POST", JSON_HEADERS | headers, sent)
            await answering.read_head()
            assert answering.status == status
            await answering.hang_up()
        unreadable, too_early = b"nonsense", b'{"jsonrpc":"2.0","id":1,"method":"x"}'
        joined = await run_callgate(stage.folder, "stdio", stdin=unreadable + b"\n" + too_early + b"\n")
        assert joined.exit_code == 0
        await stage.stop()
        assert rows(
            stage.folder,
            "SELECT method, outcome, error_code, client, principal, session_id FROM rpc_events ORDER BY ts",
        ) == [
            ("POST /mcp", "refused", "refused.unauthenticated", "127.0.0.1", None, None),
            ("POST /mcp", "refused", "refused.unauthenticated", "127.0.0.1", None, None),
            ("POST /mcp", "refused", "refused.origin", "127.0.0.1", None, None),
            ("POST /mcp", "refused", "caller.bad_json", "127.0.0.1", "token-1", None),
            ("tools/list", "refused", "caller.unknown_session", "127.0.0.1", "token-1", None),
            ("stdio", "refused", "caller.bad_json", "stdio", "local", None),
            ("x", "refused", "caller.not_initialized", "stdio", "local", None),
        ]
        kept = b"".join(path.read_bytes() for path in (stage.folder / "record").rglob("*") if path.is_file())
        assert b"not-the-token" not in kept
        assert b"hunter2" not in kept


async def test_a_call_that_the_gateway_did_not_survive_is_lost_in_the_record(tmp_path: Path) -> None:
    async with staged(Actor("one", tmp_path)) as stage, stage.client() as client:
        calling = asyncio.create_task(client.play("one__play", {"wait_file": str(tmp_path / "never")}, FINE))
        journal = stage.folder / "record" / "journal"
        async with asyncio.timeout(20):
            while not any(b"tools/call" in path.read_bytes() for path in journal.glob("*.journal")):
                await asyncio.sleep(0.02)
        stage.process.send_signal(signal.SIGKILL)
        await stage.process.wait()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        async with running_gateway(stage.folder) as gateway:
            await gateway.requests()  # a read brings the store up to date
        assert rows(
            stage.folder, "SELECT outcome, ended_by, ok FROM rpc_events WHERE method = 'tools/call'"
        ) == [("lost", "gateway", False)]
        assert rows(stage.folder, "SELECT count(*) FROM sessions WHERE ended_at IS NULL") == [(0,)]


async def test_three_gateways_on_one_folder_killed_in_turn_leave_one_record(tmp_path: Path) -> None:
    """Every answered call is in it once: the first holds the store, the others' journals come later."""
    calls = 0
    async with AsyncExitStack() as stack:
        gateways = [await stack.enter_async_context(running_gateway(tmp_path)) for _ in range(3)]
        for number, gateway in enumerate(gateways):
            for one in gateways[number:]:
                port = int(one.announced["url"].rpartition(":")[2])
                async with LegacyClient(port, "/mcp") as client:
                    for _ in range(5):
                        answered = await client.call("demo__query", {"sql": "SELECT 1"})
                        assert "result" in answered
                        calls += 1
            gateway.process.send_signal(signal.SIGKILL)
            await gateway.process.wait()
    async with running_gateway(tmp_path) as last:
        await last.requests()
    found = rows(tmp_path, "SELECT count(*), count(DISTINCT id) FROM rpc_events WHERE method = 'tools/call'")
    assert found == [(calls, calls)]
