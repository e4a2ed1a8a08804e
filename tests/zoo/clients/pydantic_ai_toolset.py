"""Pydantic AI's MCP toolset."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset


class Client:
    def __init__(self, toolset: Any) -> None:
        self._toolset = toolset

    async def tools(self) -> Any:
        return await self._toolset.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._toolset.direct_call_tool(name, arguments)

    async def prompts(self) -> Any:
        return await self._toolset.list_prompts()

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._toolset.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return await self._toolset.list_resources()

    async def read(self, uri: str) -> Any:
        return await self._toolset.read_resource(uri)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    target: Any = job.url
    if target is None:
        command, *args = job.command
        target = StdioTransport(command, args, env=job.env, keep_alive=False)
    async with MCPToolset(target) as toolset:
        yield Client(toolset)


drive(connect)
