"""The six upstreams of the matrix, real processes: three kinds of server, each over HTTP and over stdio."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

SERVERS = Path(__file__).parent / "servers"
STOP_TIMEOUT_S = 5.0  # it waits for open streams


@dataclass(frozen=True)
class Upstream:
    """One server as the gateway knows it. `eras` is what it speaks by itself."""

    name: str
    kind: str
    transport: str
    eras: tuple[str, ...]

    def command(self, marks: Path) -> list[str]:
        script = "legacy_server.py" if self.kind == "legacy" else "reference_server.py"
        words = [str(SERVERS / script), self.name, str(marks), self.transport]
        if self.kind == "legacy":
            return [sys.executable, "-S", *words]
        era = "modern" if self.kind == "modern" else "both"
        return [sys.executable, *words, "--port", "0", "--era", era]

    def environment(self, packages: Path) -> dict[str, str]:
        return {"PYTHONPATH": str(packages)} if self.kind == "legacy" else {}


# What takes long to import; the rest of a server comes with its script.
_MODULES = {
    "reference_server.py": ("mcp.server.lowlevel", "mcp.server.streamable_http", "mcp.server.subscriptions"),
    "legacy_server.py": ("mcp.server.lowlevel", "mcp.server.session"),
}
_MODULES["refserver.py"] = _MODULES["reference_server.py"]
_ERAS = {"reference": ("legacy", "modern"), "legacy": ("legacy",), "modern": ("modern",)}
UPSTREAMS = {
    upstream.name: upstream
    for upstream in (
        Upstream(f"{kind}-{transport}", kind, transport, eras)
        for kind, eras in _ERAS.items()
        for transport in ("http", "stdio")
    )
}


@asynccontextmanager
async def listening(upstream: Upstream, marks: Path, packages: Path) -> AsyncIterator[str]:
    """Its URL; the gateway starts those over stdio itself."""
    process = await asyncio.create_subprocess_exec(
        *upstream.command(marks), stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL,
        env={**os.environ, **upstream.environment(packages)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = await process.stdout.readline()
        assert line, f"{upstream.name} ended with {await process.wait()}"
        yield f"http://127.0.0.1:{int(line)}/mcp"
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def forking(command: list[str], environment: dict[str, str]) -> AsyncIterator[list[str]]:
    """The command that starts a copy of this server, which speaks over stdio."""
    python, *words = command
    at = next(place for place, word in enumerate(words) if word.endswith(".py"))
    modules = (*_MODULES[Path(words[at]).name], "mcp.server.stdio", "anyio._backends._asyncio")
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket has at most 107 bytes
        socket = f"{folder}/socket"
        process = await asyncio.create_subprocess_exec(
            python, *words[:at], str(SERVERS / "fork_children.py"), socket, ",".join(modules), *words[at:],
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **environment},
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert await process.stdout.readline(), f"{words[at]} ended with {await process.wait()}"
            yield [sys.executable, "-E", "-S", str(SERVERS / "forked_child.py"), socket]
        finally:
            process.stdin.close()
            await process.wait()


@asynccontextmanager
async def configured(
    upstreams: list[Upstream], marks: Path, packages: Path, *settings: str
) -> AsyncIterator[str]:
    """Entries of a configuration for all of them, each with these settings; those over HTTP run.

    JSON strings and lists are TOML ones too.
    """
    async with AsyncExitStack() as stack:
        lines: list[str] = []
        over_http = [upstream for upstream in upstreams if upstream.transport == "http"]
        running = [listening(upstream, marks, packages) for upstream in over_http]
        urls = dict(zip(over_http, [await stack.enter_async_context(each) for each in running], strict=True))
        for upstream in upstreams:
            lines += [f"[mcpServers.{upstream.name}]", *settings]
            if upstream in urls:
                lines.append(f"url = {json.dumps(urls[upstream])}")
            else:
                forks = forking(upstream.command(marks), upstream.environment(packages))
                command, *args = await stack.enter_async_context(forks)
                lines += [f"command = {json.dumps(command)}", f"args = {json.dumps(args)}"]
        yield "\n".join(lines) + "\n"
