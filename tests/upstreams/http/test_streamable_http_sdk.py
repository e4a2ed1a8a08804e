"""The official SDK's server, a process of its own, answers through the transport in both eras."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from upstreams.http_servers.recording_receiver import RecordingReceiver
from upstreams.http_servers.sdk_server import sdk_server

from callgate.http_client.client import HttpClient
from callgate.model.envelope import Era
from callgate.upstreams.http.http_transport import HttpSettings
from callgate.upstreams.http.streamable_http import StreamableHttpTransport

pytestmark = pytest.mark.asyncio(loop_scope="module")

KINDS = ["streamable", "json"]
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class Talk:
    transport: StreamableHttpTransport
    receiver: RecordingReceiver
    client: HttpClient
    url: str
    era: Era

    def send(
        self, rpc_id: int | None, method: str, meta: dict[str, Any] | None = None, **params: Any
    ) -> None:
        all_meta = (MODERN_META if self.era is Era.MODERN else {}) | (meta or {})
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params | {"_meta": all_meta}}
        if rpc_id is not None:
            message["id"] = rpc_id
        name = params.get("name") if method == "tools/call" else None
        assert self.transport.send(json.dumps(message).encode(), rpc_id, method, name)

    async def result(self, rpc_id: int) -> Any:
        told = await self.receiver.next()
        assert told[0] == "received"
        assert told[2] == told[1]["id"] == rpc_id
        return told[1]["result"]

    async def shake_hands(self) -> None:
        if self.era is Era.MODERN:
            return
        hello = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.send(0, "initialize", protocolVersion="2025-11-25", **hello)
        self.transport.negotiated((await self.result(0))["protocolVersion"])
        self.send(None, "notifications/initialized")
        self.transport.listen()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def urls() -> AsyncIterator[dict[str, str]]:
    """Of one server of each kind."""
    async with AsyncExitStack() as stack:
        yield {kind: await stack.enter_async_context(sdk_server(kind)) for kind in KINDS}


@asynccontextmanager
async def talk(url: str, era: Era) -> AsyncIterator[Talk]:
    client, receiver = HttpClient(), RecordingReceiver()
    transport = StreamableHttpTransport(HttpSettings("sdk", url), era, client, receiver)
    try:
        yield Talk(transport, receiver, client, url, era)
    finally:
        await transport.close()
        await client.close()


@pytest.mark.parametrize("era", list(Era))
@pytest.mark.parametrize("kind", KINDS)
async def test_the_sdks_server_answers_through_the_transport(
    urls: dict[str, str], kind: str, era: Era
) -> None:
    async with talk(urls[kind], era) as on:
        await on.shake_hands()
        on.send(1, "tools/list")
        names = [tool["name"] for tool in (await on.result(1))["tools"]]
        assert names == ["add", "count", "größe"]
        on.send(2, "tools/call", name="add", arguments={"a": 2, "b": 3})
        assert (await on.result(2))["content"][0]["text"] == "5"
        on.send(3, "tools/call", name="größe", arguments={"text": "four"})
        assert (await on.result(3))["content"][0]["text"] == "4"
        if kind == "streamable":
            on.send(4, "tools/call", {"progressToken": "p"}, name="count", arguments={"to": 3})
            told = [await on.receiver.next() for _ in range(3)]
            assert [what[1]["params"]["progress"] for what in told] == [1, 2, 3]
            assert {what[2] for what in told} == {4}
            assert (await on.result(4))["content"][0]["text"] == "counted"


async def test_the_era_probe_can_tell_what_the_sdks_server_speaks(urls: dict[str, str]) -> None:
    async with talk(urls["streamable"], Era.MODERN) as on:
        discover = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": MODERN_META}}
        headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")]
        answer = await on.client.post(on.url, headers, json.dumps(discover).encode(), 20.0)
        assert answer.status == 200
        assert "2026-07-28" in json.loads(answer.body)["result"]["supportedVersions"]


async def test_the_sdks_server_forgets_a_session_that_was_ended(urls: dict[str, str]) -> None:
    async with talk(urls["json"], Era.LEGACY) as on:
        await on.shake_hands()
        session_id = on.transport.session_id
        assert session_id is not None
        await on.transport.close()
        again = StreamableHttpTransport(HttpSettings("sdk", on.url), Era.LEGACY, on.client, on.receiver)
        assert again.session_given(session_id)
        again.negotiated("2025-11-25")
        again.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 1, "tools/list")
        told, error = await on.receiver.next()
        assert (told, error.code.code) == ("lost", "upstream.session_lost")
        await again.close()
