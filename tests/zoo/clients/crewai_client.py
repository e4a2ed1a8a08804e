"""CrewAI's MCP client, which its agents use for `mcps=[…]`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from crewai.mcp.client import MCPClient
from crewai.mcp.transports.http import HTTPTransport
from crewai.mcp.transports.stdio import StdioTransport
from driving import Job, drive


class Client:
    def __init__(self, client: MCPClient) -> None:
        self._client = client

    async def tools(self) -> Any:
        return await self._client.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool(name, arguments)

    async def prompts(self) -> Any:
        return await self._client.list_prompts()

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._client.get_prompt(name, arguments)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        transport: Any = HTTPTransport(job.url)
    else:
        command, *args = job.command
        transport = StdioTransport(command, args, job.env)
    async with MCPClient(transport) as client:
        yield Client(client)


drive(connect)
