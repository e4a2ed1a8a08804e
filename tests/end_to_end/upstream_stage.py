"""A gateway process in front of actors (`servers/actor.py`), and the steps they are given."""

import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from end_to_end.forked import Command, start_forked
from end_to_end.gateway_process import clean_environment, get_json
from end_to_end.raw_clients import LegacyClient, ModernClient
from upstreams.processes import is_alive
from waiting import until

ACTOR = Path(__file__).with_name("servers") / "actor.py"


@dataclass
class Actor:
    """One upstream as the configuration has it, and what it wrote down."""

    name: str
    folder: Path
    options: list[str] = field(default_factory=list)
    timeout_s: float = 20.0
    isolation: str = "auto"
    trust: str = "watch"
    url: str | None = None
    process: asyncio.subprocess.Process | None = None

    @property
    def log_path(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def offers_path(self) -> Path:
        return self.folder / f"{self.name}.offers"

    def offer(self, **offers: Any) -> None:
        """Replaces what it lists from now on."""
        draft = self.offers_path.with_suffix(".draft")
        draft.write_text(json.dumps(offers))
        draft.replace(self.offers_path)

    @property
    def command(self) -> list[str]:
        line = [sys.executable, "-E", "-S", str(ACTOR), "--log", str(self.log_path), "--name", self.name]
        if self.offers_path.exists():
            line += ["--offers", str(self.offers_path)]
        return line + self.options

    async def start_http(self, port: int = 0) -> None:
        """It listens; the gateway knows it by its url."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command, "--http", str(port), stdout=asyncio.subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{int(await self.process.stdout.readline())}/mcp"

    async def stop_http(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def toml(self) -> str:
        if self.url is not None:
            how = f"url = {json.dumps(self.url)}"
        else:
            command, *args = self.command
            how = f"command = {json.dumps(command)}\nargs = {json.dumps(args)}"
        return (
            f'[mcpServers.{self.name}]\n{how}\ntimeout_s = {self.timeout_s}\nisolation = "{self.isolation}"\n'
            f'trust = "{self.trust}"\n'
        )

    # ---- its log

    def all_lines(self) -> list[dict[str, Any]]:
        if not self.log_path.exists():
            return []
        whole = self.log_path.read_bytes().rpartition(b"\n")[0]  # the last line may be half written
        return [json.loads(line) for line in whole.splitlines()]

    def lines(self) -> list[dict[str, Any]]:
        """Without what the gateway says on connections that only list for clients which declare something."""
        lines = self.all_lines()
        only_lists = [line for line in lines if _opens_listing(line["raw"])]
        if self.url is not None:
            return [line for line in lines if line not in only_lists]
        pids = {line["pid"] for line in only_lists}
        return [line for line in lines if line["pid"] not in pids]

    def heard(self, method: str) -> list[dict[str, Any]]:
        """Every frame of that method, read, with the log's own remarks beside it."""
        found: list[dict[str, Any]] = []
        for line in self.lines():
            if line["raw"].startswith("{"):
                frame = json.loads(line["raw"])
                if frame.get("method") == method:
                    found.append(frame | {"pid": line["pid"], "session": line.get("session"), "line": line})
        return found

    def has_only_shared(self) -> bool:
        """Whether the processes that only list have come and gone."""
        listing = [line["pid"] for line in self.all_lines() if _opens_listing(line["raw"])]
        return bool(listing) and not any(map(is_alive, listing))

    def pids(self) -> list[int]:
        """Of every process of it that ever started, in order."""
        return [line["pid"] for line in self.lines() if line.get("start")]


def _opens_listing(raw: str) -> bool:
    if '"initialize"' not in raw:
        return False
    params = json.loads(raw)["params"]
    return params["clientInfo"].get("title") == "Callgate" and params["capabilities"] != {}


@dataclass
class Stage:
    port: int
    folder: Path
    process: Command
    stderr: Path

    async def health(self) -> dict[str, Any]:
        body = await asyncio.to_thread(get_json, f"http://127.0.0.1:{self.port}/healthz")
        return {entry["name"]: entry for entry in body["servers"]}

    async def until_state(self, name: str, state: str) -> dict[str, Any]:
        async def in_that_state() -> dict[str, Any] | None:
            entry = (await self.health())[name]
            return entry if entry["state"] == state else None

        entry = await until(in_that_state)
        assert entry is not None
        return entry

    def client(self, path: str = "/mcp", **more: Any) -> LegacyClient:
        return LegacyClient(self.port, path, **more)

    def modern(self, path: str = "/mcp", **more: Any) -> ModernClient:
        return ModernClient(self.port, path, **more)

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        await self.process.wait()


@asynccontextmanager
async def staged(
    *actors: Actor, server: str = "", extra: str = "", may_complain: bool = False
) -> AsyncIterator[Stage]:
    """The gateway in front of these. A traceback on its stderr is a failure of the test."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = f'version = 1\n[server]\nlisten = "127.0.0.1:0"\n{server}\n{extra}' + "".join(
            actor.toml() for actor in actors
        )
        (folder / "callgate.toml").write_text(config)
        stderr = folder / "stderr"
        with stderr.open("wb") as sink:
            process = await start_forked(
                "serve", "--json",
                stdout=asyncio.subprocess.PIPE, stderr=sink, env=clean_environment(folder), cwd=folder,
            )  # fmt: skip
        assert process.stdout is not None
        stage = None
        try:
            line = await process.stdout.readline()
            assert line, stderr.read_text()
            stage = Stage(int(json.loads(line)["url"].rpartition(":")[2]), folder, process, stderr)
            yield stage
        finally:
            if stage is not None:
                await stage.stop()
            for actor in actors:
                await actor.stop_http()
        said = stderr.read_text()
        assert may_complain or "Traceback" not in said, said


def tokens_for(*principals: str) -> tuple[dict[str, str], str]:
    """A token for each, and the line of [server] that says so."""
    tokens = {name: f"{name}-9f3c27d1a8e64b05" for name in principals}
    entries = [f'{{ token = "{token}", principal = "{name}" }}' for name, token in tokens.items()]
    return tokens, f"tokens = [{', '.join(entries)}]"


def client_of(stage: Stage, era: str, path: str = "/mcp", **more: Any) -> Any:
    """`more`: what it declares."""
    return stage.client(path, **more) if era == "legacy" else stage.modern(path, **more)


def say(method: str, params: Any = None) -> dict[str, Any]:
    """A step: this notification."""
    return {"say": json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}})}


def announce(method: str, params: Any = None) -> dict[str, Any]:
    return {"announce": json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}})}


def text_of(answer: dict[str, Any]) -> str:
    return answer["result"]["content"][0]["text"]


def code_of(answer: dict[str, Any]) -> str:
    assert "error" in answer, answer
    return answer["error"]["data"]["code"]
