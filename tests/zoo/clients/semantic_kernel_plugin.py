"""Semantic Kernel: an MCP plugin of a kernel."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import Job, drive
from semantic_kernel import Kernel
from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin


class Client:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @property
    def _functions(self) -> dict[str, Any]:
        return self._kernel.plugins["x"].functions

    async def tools(self) -> Any:
        return [
            (each.name, each.description, [parameter.schema_data for parameter in each.parameters])
            for each in self._functions.values()
        ]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        result = await self._kernel.invoke(self._functions[name], **arguments)
        return [item.model_dump(mode="json") for item in result.value] if result else None


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        plugin: Any = MCPStreamableHttpPlugin(name="x", url=job.url)
    else:
        command, *args = job.command
        plugin = MCPStdioPlugin(name="x", command=command, args=args, env=job.env)
    async with plugin:
        kernel = Kernel()
        kernel.add_plugin(plugin)
        yield Client(kernel)


drive(connect)
