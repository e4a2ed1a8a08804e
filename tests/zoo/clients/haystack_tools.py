"""Haystack: an MCP toolset."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo, StreamableHttpServerInfo


class Client:
    def __init__(self, toolset: MCPToolset) -> None:
        self._tools = list(toolset)

    async def tools(self) -> Any:
        return [tool.tool_spec for tool in self._tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        (tool,) = [tool for tool in self._tools if tool.name == name]
        return await asyncio.to_thread(lambda: tool.invoke(**arguments))


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        target: Any = StreamableHttpServerInfo(url=job.url)
    else:
        command, *args = job.command
        target = StdioServerInfo(command=command, args=args, env=job.env)
    toolset = await asyncio.to_thread(lambda: MCPToolset(target, eager_connect=True))
    try:
        yield Client(toolset)
    finally:
        await asyncio.to_thread(toolset.close)


drive(connect)
