"""OpenAI's Agents SDK: an MCP server of an agent, as its runner lists and calls it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from driving import Job, drive

set_tracing_disabled(True)


class Client:
    def __init__(self, server: Any) -> None:
        self._server = server

    async def tools(self) -> Any:
        return await self._server.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._server.call_tool(name, arguments)

    async def prompts(self) -> Any:
        return (await self._server.list_prompts()).prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._server.get_prompt(name, arguments)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        server: Any = MCPServerStreamableHttp(params={"url": job.url})
    else:
        command, *args = job.command
        server = MCPServerStdio(params={"command": command, "args": args, "env": job.env})
    async with server:
        yield Client(server)


drive(connect)
