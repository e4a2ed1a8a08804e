"""Where a client sits: which SDK it is, by which way it reaches the gateway, and which upstream it means."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.driver_process import DriverProcess
from bridge.upstream_servers import Upstream

Json = dict[str, Any]

MODERN = "2026-07-28"
WAYS = ("http", "direct", "stdio")  # /mcp, /servers/<name>/mcp, `callgate stdio`


@dataclass(frozen=True)
class ClientKind:
    name: str
    era: str
    sdk: str
    mode: str = ""


CLIENTS = {
    client.name: client
    for client in (
        ClientKind("py1", "legacy", "mcp 1.30.0 (Python)"),
        ClientKind("py2-handshake", "legacy", "mcp 2.3.0 (Python), mode legacy", "legacy"),
        ClientKind("ts1", "legacy", "@modelcontextprotocol/sdk 1.32.2"),
        ClientKind("py2-auto", "modern", "mcp 2.3.0 (Python), mode auto", "auto"),
        ClientKind("ts2", "modern", "@modelcontextprotocol/client 2.4.0"),
    )
}


@dataclass(frozen=True)
class Seat:
    driver: DriverProcess
    link: str
    client: ClientKind
    way: str
    upstream: Upstream
    introduced: Json  # what the client knows of the server: version, capabilities, name, instructions
    marks: Path

    @property
    def is_modern(self) -> bool:
        return self.client.era == "modern"

    @property
    def root(self) -> str:
        return f"bridge://{self.upstream.name}"

    def named(self, native: str) -> str:
        return native if self.way == "direct" else f"{self.upstream.name}__{native}"

    async def do(self, what: str, **more: Any) -> Any:
        return await self.driver.order(self.link, what, **more)

    async def call(self, tool: str, **arguments: Any) -> Json:
        done = await self.do("call", name=self.named(tool), arguments=arguments)
        return {**done["result"], "progress": done["progress"]}

    async def said(self, tool: str, **arguments: Any) -> str:
        result = await self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    async def names(self, kind: str) -> list[str]:
        key = {"resources": "uri", "resourceTemplates": "uriTemplate"}.get(kind, "name")
        return [entry[key] for entry in await self.do("list", kind=kind)]

    async def questions(self) -> list[Json]:
        return await self.do("asked")
