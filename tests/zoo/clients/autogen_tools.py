"""AutoGen: the MCP workbench of an agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, StreamableHttpServerParams
from driving import Job, drive


class Client:
    def __init__(self, workbench: McpWorkbench) -> None:
        self._workbench = workbench

    async def tools(self) -> Any:
        return await self._workbench.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        result = await self._workbench.call_tool(name, arguments)
        return {"content": result.to_text(), "error": result.is_error}

    async def prompts(self) -> Any:
        return (await self._workbench.list_prompts()).prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._workbench.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return (await self._workbench.list_resources()).resources

    async def read(self, uri: str) -> Any:
        return await self._workbench.read_resource(uri)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        target: Any = StreamableHttpServerParams(url=job.url)
    else:
        command, *args = job.command
        target = StdioServerParams(command=command, args=args, env=job.env, read_timeout_seconds=60)
    async with McpWorkbench(target) as workbench:
        yield Client(workbench)


drive(connect)
