"""Streamable HTTP of both eras: what is sent, and what every kind of answer means."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from upstreams.http_servers.recording_receiver import RecordingReceiver
from upstreams.http_servers.scripted_http import (
    Script,
    ScriptedHttp,
    Seen,
    Wire,
    scripted_http,
    wait_for_hang_up,
)

from callgate.model.envelope import Era
from callgate.upstreams.http_client import HttpClient
from callgate.upstreams.http_pool import PoolLimits
from callgate.upstreams.http_settings import HttpSettings
from callgate.upstreams.streamable_http import MAX_WAITING, StreamableHttpTransport
from callgate.upstreams.transport import Outgoing
from callgate.wire.http_rules import decode_header_value

SECRETS = (("Authorization", "Bearer hidden-token"), ("X-Team", "blue"))


@dataclass
class Stage:
    server: ScriptedHttp
    transport: StreamableHttpTransport
    receiver: RecordingReceiver
    client: HttpClient

    def ask(self, rpc_id: int = 1, method: str = "tools/call", **more: Any) -> bool:
        frame = json.dumps({"jsonrpc": "2.0", "id": rpc_id, "method": method}).encode()
        return self.transport.send(Outgoing(frame, rpc_id, method, **more))

    def tell(self, method: str = "notifications/progress") -> bool:
        frame = json.dumps({"jsonrpc": "2.0", "method": method}).encode()
        return self.transport.send(Outgoing(frame, None, method))

    async def shake_hands(self) -> None:
        """Leaves a session behind; the script answers `initialize` by `result_with_session`."""
        assert self.ask(0, "initialize")
        assert (await self.receiver.next())[0] == "received"
        self.transport.negotiated("2025-11-25")

    def posts(self) -> list[Seen]:
        return [seen for seen in self.server.requests if seen.method == "POST"]


@asynccontextmanager
async def stage(
    script: Script, era: Era = Era.LEGACY, limits: PoolLimits | None = None
) -> AsyncIterator[Stage]:
    async with scripted_http(script) as server:
        client = HttpClient(limits=limits or PoolLimits())
        receiver = RecordingReceiver()
        settings = HttpSettings("wiki", f"{server.url}?key=hidden-key", SECRETS)
        transport = StreamableHttpTransport(settings, era, client, receiver)
        await transport.start()
        try:
            yield Stage(server, transport, receiver, client)
        finally:
            await transport.close()
            await transport.close()
            await client.close()
            assert receiver.told.empty(), receiver.told


def result(seen: Seen, **content: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": seen.json()["id"], "result": content}


def notice(text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text}}


async def answers(seen: Seen, wire: Wire) -> None:
    """A good server with a session and neither streams nor farewells."""
    if seen.method != "POST":
        await wire.answer(405)
    elif "id" not in seen.json():
        await wire.answer(202)
    elif seen.json()["method"] == "initialize":
        await wire.json(result(seen), Mcp_Session_Id="session-1")
    else:
        await wire.json(result(seen, ok=True))


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
        transport.send(Outgoing(b'{"id":1,"method":"x"}', 1, "x"))
        assert (await receiver.next())[0] == "received"
        sent = server.requests[0].headers
        assert sent["accept"] == "application/json, text/event-stream"
        assert "mcp-protocol-version" not in sent
        await transport.close()
        await client.close()


# ---- good answers


async def test_the_answers_bytes_pass_as_they_came() -> None:
    body = b'{"jsonrpc":"2.0",  "id":1,"result":{"n":1.50,"z":99999999999999999999},"new":1}'

    async def odd(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, body, content_type="application/json; charset=utf-8")

    async with stage(odd) as on:
        on.ask(1)
        await on.receiver.next()
        assert on.receiver.frames == [body]


async def test_a_stream_of_notices_and_the_response_arrives_in_order_however_it_is_cut() -> None:
    async def streams(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        messages = [notice("one"), notice("two"), result(seen, ok=True)]
        text = ": hi\r\n\r\n" + "".join(f"event: message\r\ndata: {json.dumps(m)}\r\n\r\n" for m in messages)
        for start in range(0, len(text), 7):
            await wire.chunk(text[start : start + 7].encode())
        await wire.end_sse()

    for era in Era:
        async with stage(streams, era) as on:
            for rpc_id in (1, 2):
                on.ask(rpc_id)
                told = [await on.receiver.next() for _ in range(3)]
                assert [what[1].get("params", {}).get("data") for what in told] == ["one", "two", None]
                assert {what[2] for what in told} == {rpc_id}
                await asyncio.sleep(0)
            assert on.server.connections <= 2


async def test_a_stream_that_was_read_to_its_end_leaves_its_connection_for_the_next() -> None:
    async def streams(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        data = json.dumps(result(seen)).encode()
        await wire.raw(b"%x\r\ndata: %b\n\n\r\n0\r\n\r\n" % (len(data) + 8, data))

    async with stage(streams) as on:
        for rpc_id in range(5):
            on.ask(rpc_id)
            await on.receiver.next()
        assert on.server.connections == 1


async def test_a_thousand_requests_at_once_get_their_own_answers() -> None:
    async with stage(answers) as on:
        await on.shake_hands()
        for rpc_id in range(1, 1001):
            assert on.ask(rpc_id)
        told = [await on.receiver.next() for _ in range(1000)]
        assert sorted(what[2] for what in told) == list(range(1, 1001))
        assert all(what[1]["id"] == what[2] for what in told)


async def test_a_notification_may_be_answered_with_anything_and_nobody_is_told() -> None:
    async def odd(seen: Seen, wire: Wire) -> None:
        if "id" in seen.json():
            await wire.json(result(seen))
        else:
            await wire.json({"error": {"message": "no"}}, status=500)

    async with stage(odd) as on:
        on.tell()
        await on.server.until(lambda: len(on.posts()) == 1)
        on.ask(1)
        assert (await on.receiver.next())[2] == 1


async def test_our_answer_to_the_server_is_posted() -> None:
    async def accepts(seen: Seen, wire: Wire) -> None:
        await wire.answer(202)

    async with stage(accepts) as on:
        assert on.transport.send(Outgoing(b'{"jsonrpc":"2.0","id":"s1","result":{}}', None, None))
        await on.server.until(lambda: len(on.posts()) == 1)
        assert on.posts()[0].json() == {"jsonrpc": "2.0", "id": "s1", "result": {}}


# ---- bad answers


def rpc_error(rpc_id: int | None, code: int = -32601) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": code, "message": "Method not found"}}


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_a_json_rpc_error_of_our_id_reaches_the_client_with_any_status(status: int) -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        await wire.json(rpc_error(7), status=status)

    async with stage(refuses, Era.MODERN) as on:
        on.ask(7)
        assert await on.receiver.next() == ("received", rpc_error(7), 7)


@pytest.mark.parametrize("rpc_id", [None, 8])
async def test_a_json_rpc_error_without_our_id_fails_the_request_with_its_message(rpc_id: int | None) -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        await wire.json(rpc_error(rpc_id), status=400)

    async with stage(refuses) as on:
        on.ask(7)
        error = await on.receiver.failure(7)
        assert error.code.code == "upstream.failed"
        assert "answered 400 Bad Request: Method not found" in error.message


@pytest.mark.parametrize(
    ("status", "headers", "code", "words"),
    [
        (401, {"WWW_Authenticate": 'Bearer realm="hidden-key"'}, "upstream.unauthorized", "401 Unauthorized"),
        (403, {}, "upstream.unauthorized", "403 Forbidden"),
        (404, {}, "upstream.failed", "404 Not Found"),
        (429, {}, "upstream.unavailable", "429"),
        (500, {}, "upstream.failed", "500 Internal Server Error"),
        (503, {}, "upstream.unavailable", "503 Service Unavailable"),
        (799, {}, "upstream.failed", "799"),
        (202, {}, "upstream.failed", "202 Accepted without a response"),
        (307, {"Location": "https://u:hidden-key@evil.example:8/x?hidden-key"}, "upstream.failed",
         "redirects to evil.example:8 (307)"),
        (308, {"Location": "/other?hidden-key"}, "upstream.failed", "another path of the same host"),
    ],
)  # fmt: skip
async def test_an_http_error_fails_the_request_in_words_without_secrets(
    status: int, headers: dict[str, str], code: str, words: str
) -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        await wire.answer(status, b"<html>hidden-key</html>", content_type="text/html", **headers)

    async with stage(refuses) as on:
        on.ask(1)
        error = await on.receiver.failure(1)
        assert error.code.code == code
        assert words in error.message
        assert error.message.startswith(f"wiki (http://127.0.0.1:{on.server.port}/mcp)")
        assert "hidden" not in error.message + error.hint
        assert len(on.server.requests) == 1


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html>", "text/html"),
        (b"not json", "application/json"),
        (b'{"jsonrpc":"2.0","id":2,"result":{}}', "application/json"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "application/json"),
        (b"[]", "application/json"),
    ],
)
async def test_an_answer_that_is_not_the_response_fails_the_request(body: bytes, content_type: str) -> None:
    async def odd(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, body, content_type=content_type)

    async with stage(odd) as on:
        on.ask(1)
        error = await on.receiver.failure(1)
        assert error.code.code == "upstream.failed"
        assert "without a response" in error.message


async def test_a_compressed_answer_is_refused_because_none_was_asked_for() -> None:
    async def zipped(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, b"\x1f\x8b", Content_Encoding="gzip")

    async with stage(zipped) as on:
        on.ask(1)
        assert "compressed" in (await on.receiver.failure(1)).message


async def test_a_refused_connection_fails_the_request_and_the_transport_lives() -> None:
    async with stage(answers) as on:
        working = on.transport
        dead = StreamableHttpTransport(
            HttpSettings("dead", "http://127.0.0.1:1/mcp"), Era.LEGACY, on.client, on.receiver
        )
        assert dead.send(Outgoing(b"{}", 3, "tools/call"))
        error = await on.receiver.failure(3)
        assert (error.code.code, "refused" in error.message) == ("upstream.unavailable", True)
        assert working.send(Outgoing(b'{"id":4,"method":"x"}', 4, "x"))
        assert (await on.receiver.next())[2] == 4
        await dead.close()


@pytest.mark.parametrize("kind", ["json", "sse"])
async def test_a_message_past_the_limit_fails_its_request_alone(kind: str) -> None:
    async def huge(seen: Seen, wire: Wire) -> None:
        if kind == "sse":
            await wire.start_sse()
            await wire.chunk(b"data: ")
        else:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            await wire.raw(head)
        while True:
            await wire.chunk(b"x" * 1_000_000)

    async with stage(huge) as on:
        on.ask(1)
        assert (await on.receiver.failure(1)).code.code == "upstream.too_large"
        await on.server.until(lambda: on.server.open_now == 0)


async def test_a_stream_without_the_response_fails_the_request() -> None:
    async def ends_early(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.event(notice("only this"))
        if seen.json()["id"] == 1:
            await wire.end_sse()
        else:
            wire.reset()

    async with stage(ends_early) as on:
        on.ask(1)
        assert (await on.receiver.next())[0] == "received"
        assert "without the response" in (await on.receiver.failure(1)).message
        on.ask(2)
        assert (await on.receiver.next())[0] == "received"
        assert "in the middle" in (await on.receiver.failure(2)).message


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
    monkeypatch.setattr("callgate.upstreams.message_post._AFTER_RESPONSE_S", 0.05)

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


# ---- resuming (legacy)


def primed(*, retry: str | None = "10") -> dict[str, str]:
    return {"id": "e-1"} if retry is None else {"id": "e-1", "retry": retry}


async def test_an_interrupted_legacy_stream_goes_on_after_the_last_event() -> None:
    async def polls(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        if seen.method == "POST":
            await wire.event(None, **primed())
            await wire.event(notice("one"), id="e-2")
        elif seen.headers["last-event-id"] == "e-2":
            await wire.event(notice("two"), id="e-3")
        elif len(on.server.requests) < 5:
            pass  # an empty poll
        else:
            await wire.event({"jsonrpc": "2.0", "id": 1, "result": {}}, id="e-4")
        await wire.end_sse()

    async with stage(polls) as on:
        on.ask(1)
        told = [await on.receiver.next() for _ in range(7)]
        assert [what[0] for what in told] == [
            "received", "paused", "received", "paused", "paused", "paused", "received",
        ]  # fmt: skip
        assert told[1] == ("paused", 1, 10)
        assert told[-1][1:] == ({"jsonrpc": "2.0", "id": 1, "result": {}}, 1)
        assert [seen.headers.get("last-event-id") for seen in on.server.requests] == [
            None, "e-2", "e-3", "e-3", "e-3",
        ]  # fmt: skip
        resumed = on.server.requests[1]
        assert resumed.method == "GET"
        assert resumed.headers["accept"] == "text/event-stream"
        assert resumed.headers["authorization"] == "Bearer hidden-token"


async def test_a_legacy_stream_that_broke_is_resumed_without_being_called_a_pause() -> None:
    async def breaks(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        if seen.method == "POST":
            await wire.event(None, **primed())
            wire.reset()
        else:
            await wire.event({"jsonrpc": "2.0", "id": 1, "result": {}})

    async with stage(breaks) as on:
        on.ask(1)
        assert (await on.receiver.next())[0] == "received"


async def test_a_resume_that_is_refused_fails_the_request() -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        if seen.method == "GET":
            await wire.answer(405)
            return
        await wire.start_sse()
        await wire.event(None, **primed())
        await wire.end_sse()

    async with stage(refuses) as on:
        on.ask(1)
        assert (await on.receiver.next())[0] == "paused"
        assert "405" in (await on.receiver.failure(1)).message


async def test_a_resume_is_given_up_after_a_few_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.upstreams.get_stream._PAUSE_S", 0.001)

    async def broken(seen: Seen, wire: Wire) -> None:
        if seen.method == "GET":
            await wire.answer(503)
            return
        await wire.start_sse()
        await wire.event(None, **primed(retry=None))
        await wire.end_sse()

    async with stage(broken) as on:
        on.ask(1)
        assert await on.receiver.next() == ("paused", 1, None)
        assert "503" in (await on.receiver.failure(1)).message
        assert len(on.server.requests) == 6


async def test_a_resumed_request_can_be_abandoned() -> None:
    async def polls(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        if seen.method == "GET":
            await wait_for_hang_up(wire)
        await wire.event(None, **primed())
        await wire.end_sse()

    async with stage(polls) as on:
        on.ask(1)
        assert (await on.receiver.next())[0] == "paused"
        await on.server.until(lambda: len(on.server.requests) == 2)
        on.transport.abandon(1)
        await on.server.until(lambda: on.server.open_now <= 1)


async def test_a_session_lost_while_resuming_loses_the_transport() -> None:
    async def forgets(seen: Seen, wire: Wire) -> None:
        if seen.method == "GET":
            await wire.answer(404)
        elif seen.json()["method"] == "initialize":
            await answers(seen, wire)
        else:
            await wire.start_sse()
            await wire.event(None, **primed())
            await wire.end_sse()

    async with stage(forgets) as on:
        await on.shake_hands()
        on.ask(1)
        assert (await on.receiver.next())[0] == "paused"
        assert (await on.receiver.next())[1].code.code == "upstream.session_lost"


async def test_a_modern_stream_is_never_resumed() -> None:
    async def primes(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.event(None, **primed())
        await wire.end_sse()

    async with stage(primes, Era.MODERN) as on:
        on.ask(1)
        assert "without the response" in (await on.receiver.failure(1)).message


# ---- the listen stream (legacy)


async def test_the_listen_stream_brings_the_servers_own_messages_and_comes_back() -> None:
    async def listens(seen: Seen, wire: Wire) -> None:
        if seen.method != "GET":
            await answers(seen, wire)
            return
        await wire.start_sse()
        if "last-event-id" not in seen.headers:
            await wire.event(notice("one"), id="g-1", retry="10")
            await wire.end_sse()
            return
        await wire.event(notice("two"), id="g-2")
        await wait_for_hang_up(wire)

    async with stage(listens) as on:
        await on.shake_hands()
        on.transport.listen()
        on.transport.listen()
        told = [await on.receiver.next(), await on.receiver.next()]
        assert [(what[0], what[1]["params"]["data"], what[2]) for what in told] == [
            ("received", "one", None), ("received", "two", None),
        ]  # fmt: skip
        gets = [seen for seen in on.server.requests if seen.method == "GET"]
        assert [seen.headers.get("last-event-id") for seen in gets] == [None, "g-1"]
        assert gets[0].headers["mcp-session-id"] == "session-1"
        assert gets[0].headers["mcp-protocol-version"] == "2025-11-25"
        on.ask(1)
        assert (await on.receiver.next())[2] == 1


async def test_a_server_without_a_listen_stream_is_asked_once() -> None:
    async with stage(answers) as on:
        await on.shake_hands()
        on.transport.listen()
        await on.server.until(lambda: len(on.server.requests) == 2)
        while not on.transport.is_listen_refused:
            await asyncio.sleep(0)
        on.transport.listen()
        on.ask(1)
        await on.receiver.next()
        assert [seen.method for seen in on.server.requests] == ["POST", "GET", "POST"]


async def test_a_listen_stream_in_trouble_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.upstreams.get_stream._PAUSE_S", 0.001)

    async def unsteady(seen: Seen, wire: Wire) -> None:
        number = len(on.server.requests)
        if number == 1:
            await wire.answer(503)
        elif number == 2:
            wire.reset()
            raise ConnectionError
        elif number == 3:
            await wire.start_sse()
            await wire.end_sse()
        else:
            await wire.start_sse()
            await wire.event(notice("finally"))
            await wait_for_hang_up(wire)

    async with stage(unsteady) as on:
        on.transport.listen()
        assert (await on.receiver.next())[1] == notice("finally")


async def test_a_modern_transport_has_no_listen_stream() -> None:
    async with stage(answers, Era.MODERN) as on:
        on.transport.listen()
        on.ask(1)
        await on.receiver.next()
        assert [seen.method for seen in on.server.requests] == ["POST"]
