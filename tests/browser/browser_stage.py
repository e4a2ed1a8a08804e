"""A gateway as the page's tests need it: the demo shop, a server with every kind of badge, and traffic."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from end_to_end.gateway_process import GatewayProcess, running_gateway
from mcp import Client

from callgate.sql.demo.demo import make_demo_shop

TICKETS = Path(__file__).with_name("tickets_server.py")
COUNT = "SELECT count(*) AS n FROM shop.orders"


@dataclass
class Stage:
    gateway: GatewayProcess

    @property
    def url(self) -> str:
        return self.gateway.announced["url"]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, **options: Any) -> Client:
        """The official SDK's, in the era that it chooses unless told."""
        return Client(self.gateway.mcp_url, **options)

    async def ask(self, client: Client, query: str = COUNT) -> str:
        """One call by the client; its id in the record."""
        await client.call_tool("demo__query", {"query": query})
        return (await self.calls(limit=1))[0]["id"]

    async def calls(self, limit: int = 1000, **filters: str) -> list[dict[str, Any]]:
        """The record's tool calls, newest first."""
        query = "&".join(f"{name}={value}" for name, value in {"limit": limit, **filters}.items())
        return (await self.gateway.get(f"/api/v1/tool-calls?{query}"))["tool_calls"]


def write_config(folder: Path, server: str = "", more: str = "") -> None:
    make_demo_shop(folder / "shop.db")
    command = json.dumps(sys.executable)
    (folder / "callgate.toml").write_text(
        f'version = 1\n[server]\nlisten = "127.0.0.1:0"\n{server}\n'
        '[[sources]]\nid = "demo"\ndsn = "sqlite:///shop.db?schema=shop"\n'
        f'[mcpServers.tickets]\ncommand = {command}\nargs = ["-E", "-S", {json.dumps(str(TICKETS))}]\n'
        f"{more}"
    )


@asynccontextmanager
async def open_stage(
    folder: Path, server: str = "", command: Sequence[str] | None = None, more: str = ""
) -> AsyncIterator[Stage]:
    """`server`: further lines of [server]; `more`: further sources and servers."""
    await asyncio.to_thread(write_config, folder, server, more)
    arguments = ("--config", str(folder / "callgate.toml"))
    async with running_gateway(folder, *arguments, command=command) as gateway:
        yield Stage(gateway)
