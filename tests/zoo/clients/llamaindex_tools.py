"""LlamaIndex: MCP tools of an agent. Its client connects anew for every request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


class Client:
    def __init__(self, client: Any, tools: list[Any]) -> None:
        self._client = client
        self._tools = tools

    async def tools(self) -> Any:
        described = [tool.metadata for tool in self._tools]
        return [(each.name, each.description, each.get_parameters_dict()) for each in described]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        (tool,) = [tool for tool in self._tools if tool.metadata.name == name]
        output = await tool.acall(**arguments)
        return {"content": output.content, "error": output.is_error}

    async def prompts(self) -> Any:
        return (await self._client.list_prompts()).prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._client.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return (await self._client.list_resources()).resources

    async def read(self, uri: str) -> Any:
        return await self._client.read_resource(uri)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        client = BasicMCPClient(job.url)
    else:
        command, *args = job.command
        client = BasicMCPClient(command, args=args, env=job.env)
    yield Client(client, await McpToolSpec(client=client).to_tool_list_async())


drive(connect)
