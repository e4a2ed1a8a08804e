"""Hugging Face's smolagents: MCPClient, whose tools are called like functions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from mcp import StdioServerParameters
from smolagents import MCPClient


class Client:
    def __init__(self, tools: list[Any]) -> None:
        self._tools = tools

    async def tools(self) -> Any:
        return [(tool.name, tool.description, tool.inputs, tool.output_type) for tool in self._tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        # It makes Python names of all names.
        (tool,) = [tool for tool in self._tools if tool.name == name.replace("-", "_")]
        answer = await asyncio.to_thread(lambda: tool(**arguments))
        return answer if isinstance(answer, str | dict | list) else type(answer).__name__


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        target: Any = {"url": job.url, "transport": "streamable-http"}
    else:
        command, *args = job.command
        target = StdioServerParameters(command=command, args=args, env=job.env)
    client = await asyncio.to_thread(MCPClient, target, structured_output=False)
    try:
        yield Client(client.get_tools())
    finally:
        await asyncio.to_thread(client.disconnect)


drive(connect)
