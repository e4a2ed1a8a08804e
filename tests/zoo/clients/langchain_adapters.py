"""LangChain's MCP adapters: tools of an agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.prompts import load_mcp_prompt
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_mcp_adapters.tools import load_mcp_tools


class Client:
    def __init__(self, session: Any, tools: list[Any]) -> None:
        self._session = session
        self._tools = tools

    async def tools(self) -> Any:
        return [(tool.name, tool.description, tool.args_schema, tool.metadata) for tool in self._tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        (tool,) = [tool for tool in self._tools if tool.name == name]
        message = await tool.ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        return {"content": message.content, "artifact": message.artifact}

    async def prompts(self) -> Any:
        return (await self._session.list_prompts()).prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        messages = await load_mcp_prompt(self._session, name, arguments=arguments)
        return [message.content for message in messages]

    async def resources(self) -> Any:
        return (await self._session.list_resources()).resources

    async def read(self, uri: str) -> Any:
        (blob,) = await load_mcp_resources(self._session, uris=[uri])
        return blob.as_string()


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        target: Any = {"transport": "streamable_http", "url": job.url}
    else:
        command, *args = job.command
        target = {"transport": "stdio", "command": command, "args": args, "env": job.env}
    async with MultiServerMCPClient({"x": target}).session("x") as session:
        yield Client(session, await load_mcp_tools(session))


drive(connect)
