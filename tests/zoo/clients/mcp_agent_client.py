"""mcp-agent: a connection of an app's context, as its agents hold it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from mcp_agent.app import MCPApp
from mcp_agent.config import LoggerSettings, MCPServerSettings, MCPSettings, Settings
from mcp_agent.mcp.gen_client import gen_client


class Client:
    def __init__(self, session: Any) -> None:
        self._session = session

    async def tools(self) -> Any:
        return (await self._session.list_tools()).tools

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._session.call_tool(name, arguments)

    async def prompts(self) -> Any:
        return (await self._session.list_prompts()).prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._session.get_prompt(name, arguments)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        target = MCPServerSettings(name="x", transport="streamable_http", url=job.url)
    else:
        command, *args = job.command
        target = MCPServerSettings(name="x", command=command, args=args, env=job.env)
    settings = Settings(mcp=MCPSettings(servers={"x": target}), logger=LoggerSettings(type="none"))
    async with (
        MCPApp(name="zoo", settings=settings).run() as app,
        gen_client("x", app.context.server_registry, context=app.context) as session,
    ):
        yield Client(session)


drive(connect)
