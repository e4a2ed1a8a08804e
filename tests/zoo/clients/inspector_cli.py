"""MCP Inspector's command line, which leaves without a word to the server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from command_lines import pairs, run
from driving import Job, drive


class Client:
    def __init__(self, job: Job) -> None:
        if job.url:
            self._first, self._last = [job.url, "--transport", "http"], []
        else:
            self._first = [each for key, value in job.env.items() for each in ("-e", f"{key}={value}")]
            self._last = ["--transport", "stdio", "--", *job.command]

    async def _ask(self, method: str, *more: str) -> Any:
        return await run("mcp-inspector", "--cli", *self._first, "--method", method, *more, *self._last)

    async def tools(self) -> Any:
        return (await self._ask("tools/list"))["tools"]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        given = ["--tool-arg", *pairs(arguments)] if arguments else []
        return await self._ask("tools/call", "--tool-name", name, *given)

    async def prompts(self) -> Any:
        return (await self._ask("prompts/list"))["prompts"]

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._ask("prompts/get", "--prompt-name", name, "--prompt-args", *pairs(arguments))

    async def resources(self) -> Any:
        return (await self._ask("resources/list"))["resources"]

    async def read(self, uri: str) -> Any:
        return await self._ask("resources/read", "--uri", uri)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    yield Client(job)


drive(connect)
