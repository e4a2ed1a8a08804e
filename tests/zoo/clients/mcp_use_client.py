"""mcp-use: its client and one session of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from mcp_use import MCPClient


class Client:
    def __init__(self, session: Any) -> None:
        self._session = session

    async def tools(self) -> Any:
        return await self._session.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._session.call_tool(name, arguments)

    async def prompts(self) -> Any:
        return await self._session.list_prompts()

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._session.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return await self._session.list_resources()

    async def read(self, uri: str) -> Any:
        return await self._session.read_resource(uri)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        target: Any = {"url": job.url}
    else:
        command, *args = job.command
        target = {"command": command, "args": args, "env": job.env}
    client = MCPClient.from_dict({"mcpServers": {"x": target}})
    try:
        yield Client(await client.create_session("x"))
    finally:
        await client.close_all_sessions()


drive(connect)
