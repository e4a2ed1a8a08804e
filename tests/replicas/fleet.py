"""Several real gateways behind a real nginx, with one PostgreSQL and state folders of their own."""

import asyncio
import json
import re
import signal
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from databases.database import Database
from databases.postgres import new_database
from databases.server import program
from end_to_end.forked import Command, start_forked
from end_to_end.gateway_process import clean_environment, get_json
from end_to_end.raw_clients import LegacyClient, ModernClient
from kept_port import kept_port
from waiting import until

SERVER = Path(__file__).with_name("counting_server.py")
# One more entry: the same as a server of the modern era, one process for all clients of a replica.
NEWER = f"""
[mcpServers.newer]
command = "{sys.executable}"
args = {json.dumps([str(SERVER), "/dev/null", "modern"])}
isolation = "shared"
"""
PAGE = Path(__file__).parents[2] / "docs" / "replicas.md"
STATE_KEY = "8d41f0c7b29e6a35d07c1f84be52a963"
TOKENS = {"ann": "a93fd1e07c5b2846a93fd1e07c5b2847", "bob": "b72c4e90f1d83a56b72c4e90f1d83a57"}

_MAIN = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
access_log off;
client_body_temp_path {folder}/body;
proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi;
scgi_temp_path {folder}/scgi;
{site}
}}
"""


def nginx_file() -> str:
    """The very file that the page shows."""
    found = re.search(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@dataclass
class Replica:
    process: Command | asyncio.subprocess.Process
    folder: Path
    port: int
    gateway: str = ""  # its name in the directory

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    def client(self, **more: Any) -> LegacyClient:
        return LegacyClient(self.port, more.pop("path", "/mcp"), **more)

    def modern(self, **more: Any) -> ModernClient:
        return ModernClient(self.port, more.pop("path", "/mcp"), **more)

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process.returncode is None:
            self.process.send_signal(number)
        await self.process.wait()


@dataclass
class Fleet:
    folder: Path
    database: Database
    reached: Database  # the same, perhaps through a pooler
    extra: str
    replicas: list[Replica]
    port: int = 0  # nginx's
    affinity: str = "session"
    is_joined: bool = True
    drain: str = "0s"
    record: str = ""  # more lines of [record]
    servers: str = ""  # entries of the configuration; empty: the counting server
    hop_listen: str = "127.0.0.1:0"
    program: tuple[str, ...] = ()  # instead of a fork of ours, for replicas that start from now on
    ports: ExitStack = field(default_factory=ExitStack)  # nobody else is given them between two replicas

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def said(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def client(self, **more: Any) -> LegacyClient:
        """Every request on a connection of its own, so each goes to the next replica."""
        return LegacyClient(self.port, more.pop("path", "/mcp"), **more)

    def modern(self, **more: Any) -> ModernClient:
        return ModernClient(self.port, more.pop("path", "/mcp"), **more)

    def ask(self, sql: str) -> list[list[str]]:
        rows = self.database.run(sql).splitlines()
        return [row.split("\t") for row in rows]

    def config(self) -> str:
        args = json.dumps([str(SERVER), str(self.log)])
        counter = f"""
[mcpServers.counter]
command = "{sys.executable}"
args = {args}
affinity = "{self.affinity}"
"""
        joined = f"""
[record]
store = "postgres"
{self.record}
[replicas]
database = "{self.reached.dsn}"
listen = "{self.hop_listen}"
{self.extra}
"""
        return f"""version = 1
[server]
listen = "127.0.0.1:0"
state_key = "{STATE_KEY}"
drain = "{self.drain}"
{joined if self.is_joined else ""}
{self.servers or counter}
"""

    async def start_one(self, port: int = 0) -> Replica:
        """`port`: that of one that was there before."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "callgate.toml").write_text(self.config())
        known = {row[0] for row in self._gateways()}
        port = port or self.ports.enter_context(kept_port())
        start = partial(asyncio.create_subprocess_exec, *self.program) if self.program else start_forked
        with (folder / "stderr").open("wb") as stderr:
            process = await start(
                "serve", "--json", "--config", str(folder / "callgate.toml"), "--port", str(port),
                stdout=asyncio.subprocess.PIPE, stderr=stderr.fileno(),
                env=clean_environment(folder), cwd=folder,
            )  # fmt: skip
        assert process.stdout is not None
        line = await process.stdout.readline()
        assert line, (folder / "stderr").read_text()
        assert urlsplit(json.loads(line)["url"]).port == port
        named = [row[0] for row in self._gateways() if row[0] not in known]
        replica = Replica(process, folder, port, named[0] if len(named) == 1 else "")
        self.replicas.append(replica)
        return replica

    async def replace_first(self) -> None:
        """It stops, and another begins at its port; it is the last of them when it serves."""
        leaving = self.replicas[0]
        await leaving.stop()
        self.replicas.remove(leaving)
        await self.start_one(leaving.port)
        await self.until_up()

    def health(self, at: int = 0) -> dict[str, Any]:
        return get_json(f"http://127.0.0.1:{self.replicas[at].port}/healthz")

    def _gateways(self) -> list[list[str]]:
        with suppress(AssertionError):  # there are no tables yet
            return self.ask("SELECT gateway FROM callgate_replicas.replicas")
        return []

    def homes(self) -> list[list[str]]:
        return self.ask(
            "SELECT home, is_plain, ended_at IS NOT NULL FROM callgate_replicas.homes ORDER BY key"
        )

    async def balance(self) -> "asyncio.subprocess.Process":
        """Starts nginx in front of all."""
        servers = "".join(f"    server 127.0.0.1:{replica.port} max_fails=0;\n" for replica in self.replicas)
        site = re.sub(r"(    server [^\n]+;\n)+", servers, nginx_file(), count=1)
        process, self.port = await start_nginx(
            self.folder, lambda port: site.replace("listen 80;", f"listen 127.0.0.1:{port};")
        )
        return process

    async def until_up(self) -> None:
        """All servers of all replicas are there."""
        for replica in self.replicas:

            async def is_up(port: int = replica.port) -> bool:
                body = await asyncio.to_thread(get_json, f"http://127.0.0.1:{port}/healthz")
                return all(entry["state"] == "up" for entry in body.get("servers", ()))

            await until(is_up)


async def start_nginx(folder: Path, site: Callable[[int], str]) -> "tuple[asyncio.subprocess.Process, int]":
    """With the site that is made for a port, and the port that was free."""
    nginx = program("nginx", "nginx-light", "/usr/sbin")
    command = (nginx, "-e", str(folder / "nginx.log"), "-c", str(folder / "nginx.conf"))
    for port in free_ports():
        (folder / "nginx.conf").write_text(_MAIN.format(folder=folder, site=site(port)))
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
        await until(partial(is_decided, process, port))
        if process.returncode is None:
            return process, port
    raise AssertionError((folder / "nginx.log").read_text())


def free_ports() -> range:
    """Those that one may try, from anywhere."""
    return range(21_000 + uuid.uuid4().int % 9_000, 31_000)


async def is_decided(process: asyncio.subprocess.Process, port: int) -> bool:
    """It listens, or it has given up."""
    if process.returncode is not None:
        return True
    with suppress(OSError):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        return True
    return False


@asynccontextmanager
async def running_fleet(
    server: Database,
    pooler: Database | None = None,
    *,
    count: int = 3,
    extra: str = "",
    affinity: str = "session",
    is_joined: bool = True,
    drain: str = "0s",
    record: str = "",
    servers: str = "",
) -> AsyncIterator[Fleet]:
    database = new_database(server, "replicas")
    reached = database if pooler is None else replace(pooler, database=database.database)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # nginx's worker is another user
        fleet = Fleet(
            Path(folder), database, reached, extra, [], 0, affinity, is_joined, drain, record, servers
        )
        nginx: asyncio.subprocess.Process | None = None
        try:
            for _ in range(count):
                await fleet.start_one()
            if count > 1:
                nginx = await fleet.balance()
            await fleet.until_up()
            yield fleet
        finally:
            if nginx is not None:
                nginx.send_signal(signal.SIGTERM)
                await nginx.wait()
            await asyncio.gather(*(replica.stop() for replica in fleet.replicas))
            fleet.ports.close()
            complaints = [replica.stderr for replica in fleet.replicas if "Traceback" in replica.stderr]
            assert not complaints, complaints
