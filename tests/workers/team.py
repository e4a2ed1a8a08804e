"""One gateway of several workers, as its user runs it, with the counting server of the replicas' tests."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from end_to_end.forked import Command, start_forked
from end_to_end.gateway_process import clean_environment, get_json
from end_to_end.raw_clients import LegacyClient, ModernClient
from replicas.fleet import SERVER
from waiting import until


@dataclass
class Team:
    """The same to tests as a `Fleet`: every request has a connection of its own, and so any worker."""

    folder: Path
    process: Command | asyncio.subprocess.Process
    url: str

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    @property
    def sockets(self) -> Path:
        """Where the workers' Unix sockets are."""
        return Path((self.folder / "state" / "workers" / "sockets").read_text())

    def said(self) -> list[str]:
        log = self.folder / "server.log"
        return log.read_text().splitlines() if log.exists() else []

    def client(self, **more: Any) -> LegacyClient:
        return LegacyClient(self.port, more.pop("path", "/mcp"), **more)

    def modern(self, **more: Any) -> ModernClient:
        return ModernClient(self.port, more.pop("path", "/mcp"), **more)

    def get(self, path: str) -> Any:
        return get_json(self.url + path)

    def ask(self, sql: str) -> list[list[str]]:
        """As the page asks the record; any worker may be the one that is asked."""
        body = json.dumps({"sql": sql.replace("callgate.", ""), "max_rows": 10_000}).encode()
        headers = {"content-type": "application/json"}
        with urlopen(Request(f"{self.url}/api/v1/query", body, headers), timeout=60) as answer:
            return [[str(value) for value in row] for row in json.load(answer)["rows"]]

    async def until_up(self) -> None:
        await until(lambda: all(one["state"] == "up" for one in self.get("/healthz").get("servers", ())))

    def pids(self) -> dict[int, int]:
        """Of the workers that serve, by their numbers."""
        found: dict[int, int] = {}
        for place in self.sockets.glob("[0-9]*.sock"):
            with socket.socket(socket.AF_UNIX) as stream, suppress(OSError):
                stream.connect(str(place))
                raw = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                found[int(place.name.partition(".")[0])] = int.from_bytes(raw[:4], sys.byteorder)
        return found

    async def until_whole(self, count: int, besides: int = 0) -> dict[int, int]:
        """All workers serve, and none of them is the process `besides`."""

        def is_whole() -> dict[int, int] | None:
            pids = self.pids()
            return pids if len(pids) == count and besides not in pids.values() else None

        found = await until(is_whole)
        assert found is not None
        return found

    def kill(self, number: int) -> int:
        pid = self.pids()[number]
        os.kill(pid, signal.SIGKILL)
        return pid


def config(folder: Path, extra: str = "") -> Path:
    path = folder / "callgate.toml"
    args = json.dumps([str(SERVER), str(folder / "server.log")])
    path.write_text(f"""version = 1
{extra}
[mcpServers.counter]
command = "{sys.executable}"
args = {args}
""")
    return path


@asynccontextmanager
async def running_team(
    folder: Path, *, workers: int = 3, extra: str = "", is_cut: bool = False, program: Sequence[str] = ()
) -> AsyncIterator[Team]:
    """`is_cut`: before anything was passed on, the workers' ways to one another are removed. `program`: how
    to start it otherwise than by a fork."""
    state = folder / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    written = str(config(folder, extra))
    start = partial(asyncio.create_subprocess_exec, *program) if program else start_forked
    with (folder / "stderr").open("wb") as stderr:
        process = await start(
            "serve", "--json", "--port", "0", "--workers", str(workers), "--config", written,
            stdout=asyncio.subprocess.PIPE, stderr=stderr.fileno(), env=clean_environment(state), cwd=folder,
        )  # fmt: skip
    assert process.stdout is not None
    line = await process.stdout.readline()
    if line in (b"", b"{\n"):  # it did not start, and may say why
        why = line + await process.stdout.read()
        raise AssertionError(why.decode() + (folder / "stderr").read_text())
    announced = json.loads(line)
    assert announced["workers"] == workers
    team = Team(folder, process, announced["url"])
    try:
        if is_cut:
            for place in team.sockets.glob("[0-9]*.sock"):
                place.unlink()
        else:
            await team.until_up()
        yield team
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()
        assert "Traceback" not in team.stderr, team.stderr
