"""HTTP+SSE of 2024-11-05: the stream, its endpoint, and how both end."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

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
from upstreams.http_servers.sdk_server import sdk_server

from callgate.http_client.client import HttpClient
from callgate.model.errors import UpstreamError
from callgate.upstreams.http.http_transport import HttpSettings
from callgate.upstreams.http.legacy_sse import LegacySseTransport

ENDPOINT = b"event: endpoint\r\ndata: /messages?session_id=hidden-session\r\n\r\n"


@dataclass
class Stage:
    server: ScriptedHttp
    transport: LegacySseTransport
    receiver: RecordingReceiver

    def ask(self, rpc_id: int = 1) -> bool:
        frame = json.dumps({"jsonrpc": "2.0", "id": rpc_id, "method": "tools/call"}).encode()
        return self.transport.send(frame, rpc_id, "tools/call")


@asynccontextmanager
async def stage(script: Script) -> AsyncIterator[Stage]:
    async with scripted_http(script) as server:
        client, receiver = HttpClient(), RecordingReceiver()
        settings = HttpSettings("old", f"{server.url}?key=hidden-key", (("X-Key", "hidden-header"),))
        transport = LegacySseTransport(settings, client, receiver)
        try:
            yield Stage(server, transport, receiver)
        finally:
            await transport.close()
            await transport.close()
            await client.close()
            assert receiver.told.empty(), receiver.told


class Good:
    """A server whose stream a test can write to; POSTs are answered with `status`."""

    def __init__(self, status: int = 202) -> None:
        self.status = status
        self.stream: Wire | None = None

    async def __call__(self, seen: Seen, wire: Wire) -> None:
        if seen.method == "POST":
            await wire.answer(self.status)
            return
        self.stream = wire
        await wire.start_sse()
        await wire.chunk(ENDPOINT)
        await wait_for_hang_up(wire)

    async def say(self, message: object) -> None:
        assert self.stream is not None
        await self.stream.event(message, event="message")


async def test_messages_go_to_the_named_endpoint_and_answers_come_on_the_stream() -> None:
    good = Good()
    async with stage(good) as on:
        await on.transport.start()
        on.transport.negotiated("2025-03-26")
        assert on.ask(1)
        await on.server.until(lambda: len(on.server.requests) == 2)
        post = on.server.requests[1]
        assert (post.method, post.target) == ("POST", "/messages?session_id=hidden-session")
        assert post.headers["x-key"] == "hidden-header"
        assert post.headers["mcp-protocol-version"] == "2025-03-26"
        assert on.server.requests[0].target == "/mcp?key=hidden-key"
        await good.say({"jsonrpc": "2.0", "id": 1, "result": {}})
        assert await on.receiver.next() == ("received", {"jsonrpc": "2.0", "id": 1, "result": {}}, None)


async def test_the_end_of_the_stream_loses_the_transport_once() -> None:
    good = Good()
    async with stage(good) as on:
        await on.transport.start()
        assert good.stream is not None
        await good.stream.end_sse()
        told, error = await on.receiver.next()
        assert (told, error.code.code) == ("lost", "upstream.unavailable")
        assert "hidden" not in error.message
        assert not on.ask(2)


async def test_a_broken_stream_loses_the_transport() -> None:
    good = Good()
    async with stage(good) as on:
        await on.transport.start()
        assert good.stream is not None
        good.stream.reset()
        assert (await on.receiver.next())[0] == "lost"


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (b"http://127.0.0.1:1/messages", "another origin (http://127.0.0.1:1)"),
        (b"//evil.example/messages", "another origin (http://evil.example:80)"),
        (b"https://127.0.0.1/x", "another origin"),
        (b"ftp://host/", "not a URL"),
        (b"\xff", "not a URL"),
    ],
)
async def test_an_endpoint_elsewhere_is_refused_so_that_credentials_stay(endpoint: bytes, words: str) -> None:
    async def elsewhere(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.chunk(b"event: endpoint\ndata: " + endpoint + b"\n\n")
        await wait_for_hang_up(wire)

    async with stage(elsewhere) as on:
        with pytest.raises(UpstreamError) as caught:
            await on.transport.start()
        assert caught.value.code.code == "upstream.failed"
        assert words in caught.value.message
        assert not on.ask(1)


async def test_a_relative_endpoint_is_resolved_against_the_url() -> None:
    async def relative(seen: Seen, wire: Wire) -> None:
        if seen.method == "POST":
            await wire.answer(202)
            return
        await wire.start_sse()
        await wire.chunk(b"event: endpoint\ndata: inbox\n\n")
        await wait_for_hang_up(wire)

    async with stage(relative) as on:
        await on.transport.start()
        on.ask(1)
        await on.server.until(lambda: len(on.server.requests) == 2)
        assert on.server.requests[1].target == "/inbox"


@pytest.mark.parametrize(
    ("status", "code"), [(401, "upstream.unauthorized"), (404, "upstream.failed"), (200, "upstream.failed")]
)
async def test_an_address_without_a_stream_fails_the_start(status: int, code: str) -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        await wire.answer(status, b"no stream", content_type="text/plain")

    async with stage(refuses) as on:
        with pytest.raises(UpstreamError) as caught:
            await on.transport.start()
        assert caught.value.code.code == code


async def test_a_stream_that_names_no_endpoint_fails_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.upstreams.http.legacy_sse._ENDPOINT_TIMEOUT_S", 0.1)

    async def mute(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wait_for_hang_up(wire)

    async with stage(mute) as on:
        with pytest.raises(UpstreamError) as caught:
            await on.transport.start()
        assert caught.value.code.code == "upstream.timeout"
        await on.server.until(lambda: on.server.open_now == 0)


async def test_a_refused_message_fails_its_request_alone() -> None:
    good = Good(status=500)
    async with stage(good) as on:
        await on.transport.start()
        on.ask(1)
        assert (await on.receiver.failure(1)).code.code == "upstream.failed"
        on.transport.send(b"{}", None, "notifications/x")
        await on.server.until(lambda: len(on.server.requests) == 3)


async def test_a_forgotten_session_loses_the_transport() -> None:
    async with stage(Good(status=404)) as on:
        await on.transport.start()
        on.ask(1)
        told, error = await on.receiver.next()
        assert (told, error.code.code) == ("lost", "upstream.session_lost")
        assert "hidden" not in error.message


async def test_an_abandoned_message_is_not_heard_of_again() -> None:
    async def slow(seen: Seen, wire: Wire) -> None:
        if seen.method == "POST":
            await wait_for_hang_up(wire)
        await good(seen, wire)

    good = Good()
    async with stage(slow) as on:
        await on.transport.start()
        on.ask(1)
        await on.server.until(lambda: len(on.server.requests) == 2)
        on.transport.abandon(1)
        await on.server.until(lambda: on.server.open_now == 1)


async def test_the_sdks_server_answers_over_http_and_sse() -> None:
    async with sdk_server("sse") as url:
        client, receiver = HttpClient(), RecordingReceiver()
        transport = LegacySseTransport(HttpSettings("sdk", url), client, receiver)
        await transport.start()

        def send(rpc_id: int | None, method: str, **params: object) -> None:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            if rpc_id is not None:
                message["id"] = rpc_id
            assert transport.send(json.dumps(message).encode(), rpc_id, method)

        hello = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        send(1, "initialize", protocolVersion="2024-11-05", **hello)
        assert (await receiver.next())[1]["result"]["protocolVersion"] == "2024-11-05"
        send(None, "notifications/initialized")
        send(2, "tools/call", name="add", arguments={"a": 2, "b": 3})
        assert (await receiver.next())[1]["result"]["content"][0]["text"] == "5"
        await transport.close()
        await client.close()
