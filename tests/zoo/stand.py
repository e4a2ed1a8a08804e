"""Where something is tried: a folder, a web site on loopback, the server itself, a gateway before it."""

import asyncio
import json
import os
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

from end_to_end.forked import forked_callgate
from end_to_end.gateway_process import GatewayProcess, clean_environment, running_gateway
from upstreams.processes import exists, is_alive
from zoo.install import ZOO, Installed
from zoo.manifest import Server

START_TIMEOUT_S = 150.0  # a large Node or Python program, on a busy machine; a hang detector
LEAVE_TIMEOUT_S = 15.0  # for processes to end after their gateway has
# Beside that, there is no network but loopback when they run (`offline.py`).
QUIET = {
    "DO_NOT_TRACK": "1", "DISABLE_TELEMETRY": "true", "NO_UPDATE_NOTIFIER": "1", "CI": "1",
    "OTEL_SDK_DISABLED": "true", "CREWAI_DISABLE_TELEMETRY": "true", "MCP_USE_ANONYMIZED_TELEMETRY": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "False", "AGNO_TELEMETRY": "false",
    "MASTRA_TELEMETRY_DISABLED": "1", "OPENAI_AGENTS_DISABLE_TRACING": "1",
}  # fmt: skip
PAGE = b"<html><title>Zoo</title><body><h1>A page</h1><p>with <a href='/x'>a link</a>.</p></body></html>"


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/index.html"
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(PAGE) if found else 0))
        self.end_headers()
        self.wfile.write(PAGE if found else b"")

    def log_message(self, *_: Any, **__: Any) -> None:
        """Nobody reads it."""


@contextmanager
def web_site() -> Iterator[str]:
    site = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=site.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{site.server_port}"
    finally:
        site.shutdown()
        site.server_close()
        thread.join()


@dataclass
class Stand:
    """One server, ready to start on any way. `work` has the same path on all, and is made anew for each."""

    server: Server
    installed: Installed
    page: str
    folder: Path
    mark: str = field(default_factory=lambda: uuid4().hex)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def said(self) -> Path:
        return self.folder / "said.txt"

    def fill(self, text: str) -> str:
        places = {"work": str(self.work), "bin": str(self.installed.bin), "page": self.page}
        if "{chromium}" in text:
            places["chromium"] = shutil.which("chromium") or ""
        for name, value in places.items():
            text = text.replace("{" + name + "}", value)
        return text

    def filled(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.fill(value)
        if isinstance(value, dict):
            return {key: self.filled(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.filled(each) for each in value]
        return value

    def make_anew(self) -> None:
        for name in ("work", "home", "gateway", "stdio"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir(parents=True, mode=0o700)
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")}
        dates = {f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
        for command in self.server.prepare:
            subprocess.run(
                self.filled(command), check=True, env=environment | dates, stdout=subprocess.DEVNULL
            )
        for name, text in self.server.files.items():
            file = self.work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    @property
    def command(self) -> list[str]:
        program, *arguments = self.server.command
        return [self.installed.program(program), *self.filled(arguments)]

    @property
    def environment(self) -> dict[str, str]:
        base = {"PATH": f"{self.installed.bin}:{os.environ['PATH']}", "HOME": str(self.folder / "home")}
        base["PYTHONHASHSEED"] = "0"  # some list a set
        return base | QUIET | {"ZOO_SERVER": self.mark} | self.filled(self.server.env)

    @property
    def cwd(self) -> Path:
        return Path(self.fill(self.server.cwd)) if self.server.cwd else self.work

    def config(self, *others: "Stand", server: Sequence[str] = ()) -> Path:
        """JSON strings and lists are TOML ones too."""
        lines = ["version = 1", "[server]", *server]
        for each in (self, *others):
            command, *arguments = each.command
            lines += [
                f"[mcpServers.{each.server.name}]",
                f"command = {json.dumps(command)}",
                f"args = {json.dumps(arguments)}",
                f"cwd = {json.dumps(str(each.cwd))}",
                f"[mcpServers.{each.server.name}.env]",
                *(f"{name} = {json.dumps(value)}" for name, value in each.environment.items()),
            ]
        file = self.folder / "gateway" / "callgate.toml"
        file.write_text("\n".join(lines) + "\n")
        return file

    def processes(self) -> set[int]:
        """Those of the server, whoever started them."""
        wanted = f"ZOO_SERVER={self.mark}".encode()
        found: set[int] = set()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if wanted in path.read_bytes().split(b"\0"):
                    found.add(int(path.parent.name))
        return set(filter(is_alive, found))

    async def left_behind(self) -> list[str]:
        """Programs that are still there when everything ended; they are ended then."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_TIMEOUT_S):
                while self.processes():
                    await asyncio.sleep(0.05)
        left = self.processes()
        names = sorted(_program(pid) for pid in left)
        self.kill()
        return names

    async def kill_and_see(self) -> None:
        """Until the killed ones are reaped: then whoever started them knows."""
        killed = self.processes()
        self.kill()
        async with asyncio.timeout(LEAVE_TIMEOUT_S):
            while any(map(exists, killed)):
                await asyncio.sleep(0.01)

    def kill(self) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, 9)


def _program(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return "gone"


def stand(server: Server, installed: Installed, page: str, at: Path | None = None) -> Stand:
    made = Stand(server, installed, page, at or ZOO / "run" / server.name)
    made.folder.mkdir(parents=True, exist_ok=True)
    made.said.unlink(missing_ok=True)
    return made


@asynccontextmanager
async def gateway_before(config: Path, state: Path, said: Path) -> AsyncIterator[GatewayProcess]:
    """Ready when every server is: what a client sees before is not what is compared here."""
    with said.open("ab") as stderr:
        async with running_gateway(
            state, "--port", "0", "--config", str(config), stderr=stderr.fileno()
        ) as gateway:
            await _until_up(gateway)
            yield gateway


async def _until_up(gateway: GatewayProcess) -> None:
    async with asyncio.timeout(START_TIMEOUT_S):
        while (await gateway.get("/healthz"))["status"] != "ok":
            await asyncio.sleep(0.1)


def stdio_command(config: Path, state: Path) -> tuple[list[str], dict[str, str]]:
    """`callgate stdio`, which joins a gateway on that state folder if there is one."""
    return [*forked_callgate(), "stdio", "--config", str(config)], clean_environment(state)


def port_of(gateway: GatewayProcess) -> int:
    return int(gateway.announced["url"].rpartition(":")[2])
