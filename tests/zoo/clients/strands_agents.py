"""Strands Agents: its MCP client, which lives in a thread."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from strands.tools.mcp import MCPClient

try:
    from mcp.client.streamable_http import streamablehttp_client as streamable_http  # pyright: ignore[reportAttributeAccessIssue]
except ImportError:
    from mcp.client.streamable_http import streamable_http_client as streamable_http


class Client:
    def __init__(self, client: MCPClient) -> None:
        self._client = client

    async def tools(self) -> Any:
        return [tool.tool_spec for tool in await asyncio.to_thread(self._client.list_tools_sync)]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool_async("1", name, arguments)

    async def prompts(self) -> Any:
        return (await asyncio.to_thread(self._client.list_prompts_sync)).prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await asyncio.to_thread(self._client.get_prompt_sync, name, arguments)

    async def resources(self) -> Any:
        return (await asyncio.to_thread(self._client.list_resources_sync)).resources

    async def read(self, uri: str) -> Any:
        return await asyncio.to_thread(self._client.read_resource_sync, uri)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    def streams() -> Any:
        if job.url:
            return streamable_http(job.url)
        command, *args = job.command
        return stdio_client(StdioServerParameters(command=command, args=args, env=job.env))

    client = MCPClient(streams)
    await asyncio.to_thread(client.start)
    try:
        yield Client(client)
    finally:
        await asyncio.to_thread(client.stop, None, None, None)


drive(connect)
