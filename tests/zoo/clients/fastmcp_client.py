"""FastMCP's own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from fastmcp import Client as FastMcpClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


class Client:
    questions = ("sampling", "roots", "elicitation")

    def __init__(self, client: Any) -> None:
        self._client = client

    async def tools(self) -> Any:
        return await self._client.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        result = await self._client.call_tool(name, arguments, raise_on_error=False)
        return {"content": result.content, "structured": result.structured_content, "error": result.is_error}

    async def progress(self, name: str, arguments: dict[str, Any]) -> Any:
        steps: list[Any] = []

        async def note(*step: Any) -> None:
            steps.append(step)

        result = await self._client.call_tool(name, arguments, progress_handler=note)
        return steps, result.content

    async def prompts(self) -> Any:
        return await self._client.list_prompts()

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._client.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return await self._client.list_resources()

    async def read(self, uri: str) -> Any:
        return await self._client.read_resource(uri)


async def _sample(messages: Any, params: Any, context: Any) -> str:
    return "forty-two"


async def _elicit(message: str, response_type: Any, params: Any, context: Any) -> Any:
    return {"name": "Ada"}


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        transport: Any = StreamableHttpTransport(job.url)
    else:
        command, *args = job.command
        transport = StdioTransport(command, args, env=job.env, keep_alive=False)
    async with FastMcpClient(
        transport, roots=["file:///zoo/root"], sampling_handler=_sample, elicitation_handler=_elicit
    ) as client:
        yield Client(client)


drive(connect)
