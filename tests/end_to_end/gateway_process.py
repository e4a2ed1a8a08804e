"""A gateway as its user runs it: a real process, found by what it prints."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from end_to_end.forked import Command, forked_callgate, machine_environment, start_forked
from mcp import StdioServerParameters
from mcp_types import TextContent, TextResourceContents

CALLGATE = [sys.executable, "-m", "callgate"]


def clean_environment(state: Path, **extra: str) -> dict[str, str]:
    """Ours alone: no variable of the machine may configure the gateway under test."""
    home = {"HOME": str(state), "XDG_CONFIG_HOME": str(state), "CALLGATE_STATE_DIR": str(state)}
    return machine_environment() | home | extra


@dataclass
class GatewayProcess:
    process: asyncio.subprocess.Process | Command
    state: Path
    announced: dict[str, Any]

    @property
    def mcp_url(self) -> str:
        return self.announced["mcp"]

    async def get(self, path: str) -> Any:
        return await asyncio.to_thread(get_json, self.announced["url"] + path)

    async def requests(self) -> list[dict[str, Any]]:
        return (await self.get("/api/requests"))["requests"]


def get_json(url: str) -> Any:
    try:
        with urlopen(Request(url), timeout=30) as answer:
            return json.load(answer)
    except HTTPError as problem:
        with problem:
            return json.load(problem)


@asynccontextmanager
async def running_gateway(
    state: Path,
    *arguments: str,
    cwd: Path | None = None,
    command: Sequence[str] | None = None,
    stderr: int | None = None,
    **extra_environment: str,
) -> AsyncIterator[GatewayProcess]:
    """`command`: how to start it otherwise than by a fork."""
    start = start_forked if command is None else partial(asyncio.create_subprocess_exec, *command)
    process = await start(
        "serve", "--json", *(arguments or ("--port", "0")), stdout=asyncio.subprocess.PIPE, stderr=stderr,
        env=clean_environment(state, **extra_environment), cwd=cwd or state,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        assert line, f"the gateway ended with {await process.wait()}"
        yield GatewayProcess(process, state, json.loads(line))
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


def stdio_server(state: Path, *arguments: str) -> StdioServerParameters:
    command, *rest = [*forked_callgate(), "stdio", *arguments]
    return StdioServerParameters(command=command, args=rest, env=clean_environment(state), cwd=state)


@dataclass
class Finished:
    exit_code: int
    stdout: str
    stderr: str


async def run_callgate(
    state: Path, *arguments: str, stdin: bytes = b"", cwd: Path | None = None, **extra_environment: str
) -> Finished:
    """One command from its start to its end. A fork, unless Python itself is told something."""
    is_ordinary = not any(name.startswith("PYTHON") for name in extra_environment)
    start = start_forked if is_ordinary else partial(asyncio.create_subprocess_exec, *CALLGATE)
    process = await start(
        *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=clean_environment(state, **extra_environment), cwd=cwd or state,
    )  # fmt: skip
    stdout, stderr = await process.communicate(stdin)
    assert process.returncode is not None
    return Finished(process.returncode, stdout.decode(), stderr.decode())


def text_in(part: object) -> str:
    """Of a part that the official client gave, which may also be an image or a link."""
    assert isinstance(part, TextContent | TextResourceContents)
    return part.text
