"""The official Python SDK, 2.x. The option `mode` is "auto", which finds the modern era, or "legacy"."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as t
from driving import ELICITED, ROOT, SAMPLED, Job, SdkSession, drive
from mcp import Client, StdioServerParameters


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


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    server: Any = job.url
    if server is None:
        command, *args = job.command
        server = StdioServerParameters(command=command, args=args, env=job.env)
    async with Client(server, mode=job.options["mode"], **_answers(job)) as client:
        yield SdkSession(client, ("sampling", "roots", "elicitation"))


drive(connect)
