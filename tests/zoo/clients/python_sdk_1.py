"""The official Python SDK, 1.x: ClientSession over stdio or Streamable HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp.types as t
from driving import ELICITED, ROOT, SAMPLED, Job, SdkSession, drive
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client  # pyright: ignore[reportAttributeAccessIssue] - mcp 1.x


def _streams(job: Job) -> Any:
    if job.url:
        return streamablehttp_client(job.url)
    command, *args = job.command
    return stdio_client(StdioServerParameters(command=command, args=args, env=job.env))


def _answers(job: Job) -> dict[str, Any]:
    if job.silent:
        return {}

    async def sample(_: Any, params: Any) -> Any:
        return t.CreateMessageResult.model_validate(SAMPLED)

    async def roots(_: Any) -> Any:
        return t.ListRootsResult.model_validate({"roots": [ROOT]})

    async def elicit(_: Any, params: Any) -> Any:
        return t.ElicitResult.model_validate(ELICITED)

    answers: dict[str, Any] = {"sampling_callback": sample, "list_roots_callback": roots}
    if hasattr(t, "ElicitResult"):
        answers["elicitation_callback"] = elicit
    return answers


QUESTIONS = ("sampling", "roots", *(("elicitation",) if hasattr(t, "ElicitResult") else ()))


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    async with (
        _streams(job) as (reader, writer, *_),
        ClientSession(reader, writer, **_answers(job)) as session,
    ):
        await session.initialize()
        yield SdkSession(session, QUESTIONS)


drive(connect)
