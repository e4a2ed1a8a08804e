"""The official Python SDK, 2.x. The option `mode` is "auto", which finds the modern era, or "legacy"."""

from contextlib import asynccontextmanager
from typing import Any

import mcp_types as t
from driving import ELICITED, ROOT, SAMPLED, Job, drive
from mcp import Client as SdkClient
from mcp import StdioServerParameters


def _answers(job: Job) -> dict[str, Any]:
    if job.silent:
        return {}

    async def sample(_: Any, params: Any) -> Any:
        return t.CreateMessageResult.model_validate(SAMPLED)

    async def roots(_: Any) -> Any:
        return t.ListRootsResult.model_validate({"roots": [ROOT]})

    async def elicit(_: Any, params: Any) -> Any:
        return t.ElicitResult.model_validate(ELICITED)

    return {"sampling_callback": sample, "list_roots_callback": roots, "elicitation_callback": elicit}


class Client:
    questions = ("sampling", "roots", "elicitation")

    def __init__(self, client: SdkClient) -> None:
        self._client = client

    async def tools(self) -> Any:
        return (await self._client.list_tools()).tools

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool(name, arguments)

    async def progress(self, name: str, arguments: dict[str, Any]) -> Any:
        steps: list[Any] = []

        async def note(*step: Any) -> None:
            steps.append(step)

        result = await self._client.call_tool(name, arguments, progress_callback=note)
        return steps, result

    async def prompts(self) -> Any:
        return (await self._client.list_prompts()).prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._client.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return (await self._client.list_resources()).resources

    async def read(self, uri: str) -> Any:
        return await self._client.read_resource(uri)


@asynccontextmanager
async def connect(job: Job) -> Any:
    server: Any = job.url
    if server is None:
        command, *args = job.command
        server = StdioServerParameters(command=command, args=args, env=job.env)
    async with SdkClient(server, mode=job.options["mode"], **_answers(job)) as client:
        yield Client(client)


drive(connect)
