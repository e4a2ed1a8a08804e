"""Agno: the MCP toolkit of an agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agno.tools.mcp import MCPTools
from driving import Job, drive
from mcp import StdioServerParameters


class Client:
    def __init__(self, toolkit: MCPTools) -> None:
        self._toolkit = toolkit

    async def tools(self) -> Any:
        return [(each.name, each.description, each.parameters) for each in self._toolkit.functions.values()]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._toolkit.session.call_tool(name, arguments)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        toolkit = MCPTools(url=job.url, transport="streamable-http", timeout_seconds=60)
    else:
        command, *args = job.command
        server = StdioServerParameters(command=command, args=args, env=job.env)
        toolkit = MCPTools(server_params=server, transport="stdio", timeout_seconds=60)
    async with toolkit:
        yield Client(toolkit)


drive(connect)
