"""A whole gateway, `callgate serve`, as a process that can be killed and asked for its record."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from _http import read_message, request

STUCK = Path(__file__).parent / "_stuck_gateway.py"
# Short forms of the trials run as tests: a gateway that is forked there costs no imports.
_FORK_SERVER = "CALLGATE_FORK_SERVER"
_LIMIT_BYTES = 64 * 1024 * 1024


class Process(Protocol):
    """`asyncio.subprocess.Process`, or what stands for a fork."""

    pid: int
    stdout: asyncio.StreamReader | None

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int: ...

    def send_signal(self, number: signal.Signals, /) -> None: ...


class Gateway:
    def __init__(self, process: Process, url: str, token: str | None = None) -> None:
        self.process = process
        self.port = int(url.rpartition(":")[2])
        self.token = token
        self.echo = f"{url}/servers/echo/mcp"

    @property
    def credentials(self) -> dict[str, str]:
        """The headers of a client that may call."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def get(self, path: str) -> Any:
        return await self._http("GET", path, b"")

    async def post(self, path: str, body: bytes) -> Any:
        return await self._http("POST", path, body)

    async def ask(self, sql: str) -> list[Any]:
        """A read brings the store up to date first."""
        body = json.dumps({"sql": sql, "max_rows": 10_000, "timeout_s": 60}).encode()
        return (await self._http("POST", "/api/v1/query", body))["rows"]

    async def _http(self, method: str, path: str, body: bytes) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=_LIMIT_BYTES)
        headers = {"Content-Type": "application/json", **self.credentials}
        writer.write(request(method, path, body, headers))
        first, _, answered = await read_message(reader)
        writer.close()
        if " 200 " not in first:
            raise AssertionError(f"{path}: {first} {answered[:500]!r}")
        return json.loads(answered)


def command(state: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """One of our own commands, on that state folder and its file; and its environment."""
    where = ["--config", str(state / "callgate.toml"), "--state-dir", str(state)]
    return [sys.executable, "-m", "callgate", *arguments, *where], _environment(state)


def _environment(state: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "PYTHONPATH") if name in os.environ}
    return kept | {"HOME": str(state), "XDG_CONFIG_HOME": str(state)}


@asynccontextmanager
async def running_gateway(
    state: Path,
    upstream: str | None,
    *program: str,
    extra: str = "",
    server: str = "",
    token: str | None = None,
    descriptors: int | None = None,
) -> AsyncIterator[Gateway]:
    """`upstream`: of the server `echo`, if there is to be one. `program`: instead of `-m callgate`. `extra`:
    more of its configuration, `server`: of that section. `descriptors`: as many as it may open. Ends it at
    the end, if it still runs."""
    config = state / "callgate.toml"
    tokens = f"tokens = [{json.dumps(token)}]\n" if token else ""
    echo = f"[mcpServers.echo]\nurl = {json.dumps(upstream)}\n" if upstream else ""
    config.write_text(f"version = 1\n[server]\n{tokens}{server}\n{echo}{extra}")
    environment = _environment(state)
    arguments = ["serve", "--json", "--port", "0", "--config", str(config), "--state-dir", str(state)]
    limited = ["/bin/sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"] if descriptors else []
    with (state / "stderr.log").open("ab") as log:
        if _FORK_SERVER in os.environ and not program and not limited:
            from end_to_end.forked import start_forked  # of the tests, which alone set that variable

            process = await start_forked(
                *arguments, stdout=asyncio.subprocess.PIPE, stderr=log, env=environment, cwd=state
            )
        else:
            process = await asyncio.create_subprocess_exec(
                *limited, sys.executable, *(program or ("-m", "callgate")), *arguments,
                stdout=asyncio.subprocess.PIPE, stderr=log, env=environment, cwd=state,
            )  # fmt: skip
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        if not line:
            raise AssertionError(f"no gateway: {(state / 'stderr.log').read_text()[-2000:]}")
        yield Gateway(process, json.loads(line)["url"], token)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()
