"""DSPy: tools made from an MCP session."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dspy
from driving import Job, drive
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client  # pyright: ignore[reportAttributeAccessIssue] - mcp 1.x


class Client:
    def __init__(self, tools: list[Any]) -> None:
        self._tools = tools

    async def tools(self) -> Any:
        return [(tool.name, tool.desc, tool.args) for tool in self._tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        (tool,) = [tool for tool in self._tools if tool.name == name]
        return await tool.acall(**arguments)


def _streams(job: Job) -> Any:
    if job.url:
        return streamablehttp_client(job.url)
    command, *args = job.command
    return stdio_client(StdioServerParameters(command=command, args=args, env=job.env))


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    async with _streams(job) as (reader, writer, *_), ClientSession(reader, writer) as session:
        await session.initialize()
        listed = (await session.list_tools()).tools
        yield Client([dspy.Tool.from_mcp_tool(session, tool) for tool in listed])


drive(connect)
