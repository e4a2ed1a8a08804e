"""Streamable HTTP of both eras: what is sent, sessions, abandoning, limits."""

import asyncio

import pytest
from upstreams.http_servers.recording_receiver import RecordingReceiver
from upstreams.http_servers.scripted_http import (
    Seen,
    Wire,
    scripted_http,
    wait_for_hang_up,
)
from upstreams.http_servers.streamable_stage import answers, notice, result, rpc_error, stage

from callgate.http_client.client import HttpClient
from callgate.http_client.pool import PoolLimits
from callgate.model.envelope import Era
from callgate.upstreams.http.http_transport import HttpSettings
from callgate.upstreams.http.streamable_http import MAX_WAITING, StreamableHttpTransport
from callgate.wire.http_rules import decode_header_value

# ---- what is sent


async def test_a_legacy_request_says_the_version_and_the_session_after_the_handshake() -> None:
    async with stage(answers) as on:
        await on.shake_hands()
        on.ask(1)
        assert await on.receiver.next() == (
            "received",
            {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}},
            1,
        )
        on.tell()
        await on.server.until(lambda: len(on.posts()) == 3)
        first, second, third = (seen.headers for seen in on.posts())
        assert "mcp-session-id" not in first
        assert "mcp-protocol-version" not in first
        for sent in (second, third):
            assert (sent["mcp-session-id"], sent["mcp-protocol-version"]) == ("session-1", "2025-11-25")
            assert "mcp-method" not in sent
        for sent in (first, second, third):
            assert sent["accept"] == "application/json, text/event-stream"
            assert sent["content-type"] == "application/json"
            assert (sent["authorization"], sent["x-team"]) == ("Bearer hidden-token", "blue")
        assert on.posts()[0].target == "/mcp?key=hidden-key"


async def test_a_second_handshake_carries_no_session() -> None:
    async with stage(answers) as on:
        await on.shake_hands()
        await on.shake_hands()
        assert "mcp-session-id" not in on.posts()[1].headers


@pytest.mark.parametrize("name", ["get_weather", "größe", " padded ", "a\nb", "=?base64?x?=", "file:///a b"])
async def test_a_modern_request_repeats_itself_in_headers(name: str) -> None:
    async with stage(answers, Era.MODERN) as on:
        on.ask(5, name=name, param_headers=(("Mcp-Param-Region", "eu"), ("Mcp-Param-Bad", "x\r\ny: z")))
        assert (await on.receiver.next())[2] == 5
        on.ask(6, name=name, param_headers=(("Mcp-Param-Region", "eu"),))
        await on.receiver.next()
        sent = on.posts()[1].headers
        assert (sent["mcp-protocol-version"], sent["mcp-method"]) == ("2026-07-28", "tools/call")
        assert decode_header_value(sent["mcp-name"]) == name
        assert sent["mcp-param-region"] == "eu"
        assert "y" not in on.posts()[0].headers
        assert "mcp-session-id" not in sent


async def test_a_modern_transport_ignores_a_session_that_it_is_given() -> None:
    async with stage(answers, Era.MODERN) as on:
        on.ask(0, "initialize")
        await on.receiver.next()
        on.ask(1)
        await on.receiver.next()
        assert "mcp-session-id" not in on.posts()[1].headers


async def test_an_operators_headers_never_replace_those_of_the_protocol() -> None:
    async with scripted_http(answers) as server:
        client, receiver = HttpClient(), RecordingReceiver()
        headers = (("Accept", "text/html"), ("Content-Length", "9"), ("MCP-Protocol-Version", "x"))
        settings = HttpSettings("wiki", server.url, headers)
        transport = StreamableHttpTransport(settings, Era.LEGACY, client, receiver)
        transport.send(b'{"id":1,"method":"x"}', 1, "x")
        assert (await receiver.next())[0] == "received"
        sent = server.requests[0].headers
        assert sent["accept"] == "application/json, text/event-stream"
        assert "mcp-protocol-version" not in sent
        await transport.close()
        await client.close()


# ---- sessions


@pytest.mark.parametrize("what", ["request", "notification"])
async def test_404_with_a_session_loses_the_transport_once(what: str) -> None:
    async def forgets(seen: Seen, wire: Wire) -> None:
        if "mcp-session-id" in seen.headers:
            await wire.json(rpc_error(seen.json().get("id")), status=404)
        else:
            await answers(seen, wire)

    async with stage(forgets) as on:
        await on.shake_hands()
        if what == "request":
            for rpc_id in range(1, 20):
                on.ask(rpc_id)
        else:
            on.tell()
        told, error = await on.receiver.next()
        assert (told, error.code.code) == ("lost", "upstream.session_lost")
        assert not on.ask(99)
    assert all(seen.method != "DELETE" for seen in on.server.requests)


async def test_a_session_id_that_no_header_can_carry_is_refused() -> None:
    async def odd(seen: Seen, wire: Wire) -> None:
        await wire.json(result(seen), Mcp_Session_Id="two words")

    async with stage(odd) as on:
        on.ask(0, "initialize")
        assert "session id" in (await on.receiver.failure(0)).message


async def test_closing_ends_the_session() -> None:
    async with stage(answers) as on:
        await on.shake_hands()
        await on.transport.close()
        farewell = on.server.requests[-1]
        assert (farewell.method, farewell.headers["mcp-session-id"]) == ("DELETE", "session-1")
        assert farewell.headers["authorization"] == "Bearer hidden-token"
        assert not on.ask(5)


async def test_what_was_said_last_reaches_the_server_before_the_session_ends() -> None:
    async def keeps_calls_open(seen: Seen, wire: Wire) -> None:
        if seen.method == "POST" and seen.json().get("method") == "tools/call":
            await wait_for_hang_up(wire)  # the next message needs a connection of its own
        await answers(seen, wire)

    async with stage(keeps_calls_open) as on:
        await on.shake_hands()
        on.ask(1)
        await on.server.until(lambda: any(b"tools/call" in seen.body for seen in on.server.requests))
        on.tell()
        await on.transport.close()
        said, farewell = on.server.requests[-2:]
        assert (said.json()["method"], farewell.method) == ("notifications/progress", "DELETE")


async def test_closing_waits_only_a_moment_for_a_server_that_does_not_answer() -> None:
    async def sulks(seen: Seen, wire: Wire) -> None:
        if seen.method == "DELETE":
            await wait_for_hang_up(wire)
        await answers(seen, wire)

    async with stage(sulks) as on:
        await on.shake_hands()
        await on.transport.close()
        await on.server.until(lambda: on.server.open_now == 0)


# ---- abandoning, limits


async def silent(seen: Seen, wire: Wire) -> None:
    await wait_for_hang_up(wire)


async def test_abandoning_closes_the_requests_stream_and_nothing_more_is_heard_of_it() -> None:
    async def streams(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.event(notice("started"))
        await wait_for_hang_up(wire)

    async with stage(streams, Era.MODERN) as on:
        on.ask(1)
        await on.receiver.next()
        on.transport.abandon(1)
        on.transport.abandon(1)
        await on.server.until(lambda: on.server.open_now == 0)


async def test_closing_with_requests_under_way_tells_nobody_and_leaves_no_connection() -> None:
    async with stage(silent) as on:
        for rpc_id in range(5):
            on.ask(rpc_id)
        await on.server.until(lambda: len(on.server.requests) == 5)
        await on.transport.close()
        await on.server.until(lambda: on.server.open_now == 0)


async def test_too_many_waiting_requests_are_refused_but_never_a_notification() -> None:
    async with stage(silent, limits=PoolLimits(max_connections=1)) as on:
        assert on.ask(0)
        await on.server.until(lambda: len(on.server.requests) == 1)
        assert all(on.ask(rpc_id) for rpc_id in range(1, MAX_WAITING + 1))
        assert not on.ask(MAX_WAITING + 1)
        assert on.tell()
        await on.server.until(lambda: len(on.server.requests) == 2)
        on.transport.abandon(5)
        assert on.ask(MAX_WAITING + 2)


async def test_a_server_that_does_not_end_a_stream_after_its_response_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("callgate.upstreams.http.message_post._AFTER_RESPONSE_S", 0.05)

    async def lingers(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.event(result(seen))
        await wait_for_hang_up(wire)

    async with stage(lingers) as on:
        on.ask(1)
        assert (await on.receiver.next())[2] == 1
        await on.server.until(lambda: on.server.open_now == 0)


async def test_a_paused_stream_goes_on_when_it_is_resumed() -> None:
    go_on = asyncio.Event()

    async def streams(seen: Seen, wire: Wire) -> None:
        if "id" not in seen.json():
            await wire.answer(202)
            return
        await wire.start_sse()
        await wire.event(notice("one"))
        await go_on.wait()
        await wire.event(result(seen))
        await wire.end_sse()

    async with stage(streams) as on:
        on.ask(1)
        await on.receiver.next()
        on.transport.pause_stream(1)
        go_on.set()
        on.tell()
        await on.server.until(lambda: len(on.server.requests) == 2)
        assert on.receiver.told.empty()
        on.transport.resume_stream(1)
        assert (await on.receiver.next())[1]["id"] == 1
        on.transport.pause_stream(77)


async def test_a_tool_call_is_never_sent_twice_but_a_listing_is() -> None:
    async def dies_when_reused(seen: Seen, wire: Wire) -> None:
        if seen.json()["id"] % 10 == 2 and seen.connection % 2:
            wire.hang_up()
            raise ConnectionError
        await answers(seen, wire)

    async with stage(dies_when_reused) as on:
        on.ask(1)
        await on.receiver.next()
        on.ask(2, "tools/list")
        assert (await on.receiver.next())[2] == 2
        assert len(on.posts()) == 3
        on.transport.abandon(2)
    async with stage(dies_when_reused) as on:
        on.ask(1)
        await on.receiver.next()
        on.ask(2, "tools/call")
        assert "without an answer" in (await on.receiver.failure(2)).message
        assert len(on.posts()) == 2
