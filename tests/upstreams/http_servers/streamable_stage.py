"""A Streamable HTTP transport in front of a scripted server, with a receiver that remembers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from upstreams.http_servers.recording_receiver import RecordingReceiver
from upstreams.http_servers.scripted_http import (
    Script,
    ScriptedHttp,
    Seen,
    Wire,
    scripted_http,
)

from callgate.http_client.client import HttpClient
from callgate.http_client.pool import PoolLimits
from callgate.model.envelope import Era
from callgate.upstreams.http.http_transport import HttpSettings
from callgate.upstreams.http.streamable_http import StreamableHttpTransport

SECRETS = (("Authorization", "Bearer hidden-token"), ("X-Team", "blue"))


@dataclass
class Stage:
    server: ScriptedHttp
    transport: StreamableHttpTransport
    receiver: RecordingReceiver
    client: HttpClient

    def ask(self, rpc_id: int = 1, method: str = "tools/call", **more: Any) -> bool:
        frame = json.dumps({"jsonrpc": "2.0", "id": rpc_id, "method": method}).encode()
        return self.transport.send(frame, rpc_id, method, **more)

    def tell(self, method: str = "notifications/progress") -> bool:
        frame = json.dumps({"jsonrpc": "2.0", "method": method}).encode()
        return self.transport.send(frame, None, method)

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


def rpc_error(rpc_id: int | None, code: int = -32601) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": code, "message": "Method not found"}}
