"""What every Python driver does: connect as its client does, take the same steps, print what it saw as JSON.

    python langchain_adapters.py '[{"target": {"url": "http://…"}, "prefix": "everything__", …}]'

Each job of the list is a connection of its own, one after the other, and a line of the output.

A driver has `connect(job)`, an async context manager. What it yields has `tools()` and
`call(name, arguments)`, and may have `prompts`, `prompt`, `resources`, `read`, `progress` and `questions`;
only what is there is tried. Standard library only: it runs in the environment of each client.
"""

import asyncio
import base64
import dataclasses
import json
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
CALLS: dict[str, tuple[str, Json]] = {
    "call": ("echo", {"message": "Zoë says ☃"}),
    "call, numbers": ("get-sum", {"a": 19, "b": 23.5}),
    "call, structured": ("get-structured-content", {"location": "Chicago"}),
    "call, image": ("get-tiny-image", {}),
    "call, links": ("get-resource-links", {"count": 3}),
    "call, wrong arguments": ("get-sum", {"a": "nineteen", "b": 1}),
}
LONG = ("trigger-long-running-operation", {"duration": 1, "steps": 3})
QUESTIONS: dict[str, tuple[str, Json]] = {
    "question: elicitation": ("trigger-elicitation-request", {}),
    "question: sampling": ("trigger-sampling-request", {"prompt": "6 times 7?", "maxTokens": 20}),
    "question: roots": ("get-roots-list", {}),
}
ELICITED = {"action": "accept", "content": {"name": "Ada"}}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "forty-two"}, "model": "zoo"}
ROOT = {"uri": "file:///zoo/root", "name": "root"}


@dataclass(frozen=True)
class Job:
    target: Json
    prefix: str = ""
    silent: bool = False
    options: Json = field(default_factory=dict)

    @property
    def url(self) -> str | None:
        return self.target.get("url")

    @property
    def command(self) -> list[str]:
        return self.target["command"]

    @property
    def env(self) -> dict[str, str]:
        return self.target["env"]


Connect = Callable[[Job], AbstractAsyncContextManager[Any]]


def plain(value: Any) -> Any:
    """Whatever a client hands to its user, as JSON."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json", exclude_none=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


class SdkSession:
    """What the session of one SDK generation and the client of the other have in common."""

    def __init__(self, session: Any, questions: tuple[str, ...]) -> None:
        self._session = session
        self.questions = questions

    async def tools(self) -> Any:
        return (await self._session.list_tools()).tools

    async def call(self, name: str, arguments: Json) -> Any:
        return await self._session.call_tool(name, arguments)

    async def progress(self, name: str, arguments: Json) -> Any:
        steps: list[Any] = []

        async def note(*step: Any) -> None:
            steps.append(step)

        result = await self._session.call_tool(name, arguments, progress_callback=note)
        return steps, result

    async def prompts(self) -> Any:
        return (await self._session.list_prompts()).prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._session.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return (await self._session.list_resources()).resources

    async def read(self, uri: str) -> Any:
        return await self._session.read_resource(uri)


async def _step(seen: Json, name: str, work: Any) -> None:
    try:
        seen[name] = plain(await asyncio.wait_for(work, 60))
    except Exception as problem:  # noqa: BLE001 - that is what the client saw
        seen[name] = {"raised": _words(problem)}


def _words(problem: BaseException) -> str:
    if isinstance(problem, BaseExceptionGroup):
        return "; ".join(_words(each) for each in problem.exceptions)
    return f"{type(problem).__name__}: {problem}"


async def _drive(job: Job, connect: Connect) -> Json:
    seen: Json = {}
    async with connect(job) as client:
        await _step(seen, "tools", client.tools())
        for name, (tool, arguments) in CALLS.items() if not job.silent else [("call", CALLS["call"])]:
            await _step(seen, name, client.call(job.prefix + tool, arguments))
        if job.silent:
            return seen
        if hasattr(client, "progress"):
            await _step(seen, "progress", client.progress(job.prefix + LONG[0], LONG[1]))
        if hasattr(client, "prompts"):
            await _step(seen, "prompts", client.prompts())
            await _step(seen, "prompt", client.prompt(f"{job.prefix}args-prompt", {"city": "Paris"}))
        if hasattr(client, "resources"):
            await _step(seen, "resources", client.resources())
            await _step(seen, "resource", client.read("demo://resource/static/document/architecture.md"))
        for name, (tool, arguments) in QUESTIONS.items():
            if name.removeprefix("question: ") in getattr(client, "questions", ()):
                await _step(seen, name, client.call(job.prefix + tool, arguments))
    return seen


def drive(connect: Connect) -> None:
    warnings.simplefilter("ignore")
    for job in json.loads(sys.argv[1]):
        try:
            seen = asyncio.run(_drive(Job(**job), connect))
        except BaseException as problem:  # noqa: BLE001 - said to whoever compares
            seen = {"connection": {"raised": _words(problem)}}
        print("\n" + json.dumps({"seen": seen}, ensure_ascii=False), flush=True)
