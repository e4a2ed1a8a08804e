"""Google's Agent Development Kit: the MCP toolset of an agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from driving import Job, drive
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from mcp import StdioServerParameters


class Client:
    def __init__(self, tools: list[Any]) -> None:
        self._tools = tools

    async def tools(self) -> Any:
        return [tool._get_declaration() for tool in self._tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        (tool,) = [tool for tool in self._tools if tool.name == name]
        context = SimpleNamespace(
            state={}
        )  # what an agent's run would hand over; it is not read without authentication
        return await tool._run_async_impl(args=arguments, tool_context=context, credential=None)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        target: Any = StreamableHTTPConnectionParams(url=job.url)
    else:
        command, *args = job.command
        server = StdioServerParameters(command=command, args=args, env=job.env)
        target = StdioConnectionParams(server_params=server, timeout=60)
    toolset = McpToolset(connection_params=target)
    try:
        yield Client(await toolset.get_tools())
    finally:
        await toolset.close()


drive(connect)
