"""mcp-remote: how a client that speaks stdio only reaches a server at a URL. That client is the zoo's own."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from driving import Job, drive
from zoo.talk import PipeTalk, over_a_pipe


class Client:
    questions = ("sampling", "roots", "elicitation")

    def __init__(self, talk: PipeTalk) -> None:
        self._talk = talk

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        answer = (await self._talk.ask(method, params)).answer
        return answer.get("result", answer.get("error"))

    async def tools(self) -> Any:
        return (await self._ask("tools/list", {}))["tools"]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._ask("tools/call", {"name": name, "arguments": arguments})

    async def prompts(self) -> Any:
        return (await self._ask("prompts/list", {}))["prompts"]

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._ask("prompts/get", {"name": name, "arguments": arguments})

    async def resources(self) -> Any:
        return (await self._ask("resources/list", {}))["resources"]

    async def read(self, uri: str) -> Any:
        return await self._ask("resources/read", {"uri": uri})


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    here = Path.cwd()
    command = ["mcp-remote", job.url, "--allow-http", "--transport", "http-only"] if job.url else job.command
    env = dict(os.environ) | ({} if job.url else job.env)
    async with over_a_pipe(command, env, here, Path("/zoo/root"), here / "mcp-remote.txt") as talk:
        yield Client(talk)


drive(connect)
