"""What the gateway benchmark measures, and how each is started: on loopback, at a free port."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from _processes import FOLDER, IDLE_S, Cores, free_port, running, wait_for_port

BENCH = Path(__file__).parent
# What was recorded is stored every five seconds: only after that has a gateway done what it served.
STORED_S = 6.0
_POLICY = Path("/usr/sbin/policy-rc.d")

_NGINX_CONF = """
daemon off;
worker_processes 1;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000;
    upstream echo {{
        server 127.0.0.1:{upstream};
        keepalive 128;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://echo;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
}}
"""


class UnavailableError(Exception):
    """This peer cannot be measured here; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    url: str
    pid: int  # whose process tree is charged
    tool: str = "echo"
    # JSON, %n is the number of the call; of several one at random; none: mcpload's own.
    arguments: tuple[str, ...] = ()
    expected: str | None = None  # what every reply must contain
    is_modern: bool = False  # the era of its clients
    quiet_s: float = IDLE_S  # how long it must have been without work to be done with it


def build_tools() -> None:
    """The load generator and the upstream, compiled when their source is newer."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("mcpload", "echo_mcp"):
        source, binary = BENCH / f"{name}.c", FOLDER / name
        newest = max(source.stat().st_mtime, (BENCH / "jsonv.h").stat().st_mtime)
        if not binary.exists() or binary.stat().st_mtime < newest:
            subprocess.run(["gcc", "-O2", "-o", binary, source], check=True)


@contextmanager
def echo(cores: Cores, *options: str) -> Iterator[Target]:
    """`options` of `echo_mcp`."""
    port = free_port()
    command = cores.on_load([str(FOLDER / "echo_mcp"), "--port", str(port), *options])
    with running(command, FOLDER / "echo.log") as process:
        wait_for_port(port, process)
        yield Target("direct", f"http://127.0.0.1:{port}/mcp", process.pid)


# ---- nginx


@contextmanager
def nginx(cores: Cores, upstream: Target) -> Iterator[Target]:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or _install_nginx()
    folder = FOLDER / "nginx"
    folder.mkdir(exist_ok=True)
    port, upstream_port = free_port(), upstream.url.split(":")[2].partition("/")[0]
    user = pwd.getpwuid(os.geteuid()).pw_name
    conf = _NGINX_CONF.format(folder=folder, user=user, port=port, upstream=upstream_port)
    (folder / "nginx.conf").write_text(conf)
    command = cores.on_target([program, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"])
    with running(command, FOLDER / "nginx.log") as process:
        wait_for_port(port, process)
        yield Target("nginx", f"http://127.0.0.1:{port}/mcp", process.pid)


def _install_nginx() -> str:
    """Debian's package, and never its service: packages ask the policy file before they start one."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise UnavailableError(
            "nginx is not installed, and only root can install it (apt-get install nginx-light)"
        )
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    is_ours = not _POLICY.exists()  # a machine that has one has already decided
    try:
        if is_ours:
            _POLICY.write_text("#!/bin/sh\nexit 101\n")
            _POLICY.chmod(0o755)
        with (FOLDER / "apt.log").open("w") as log:
            for step in (["update"], ["install", "-y", "--no-install-recommends", "nginx-light"]):
                subprocess.run(
                    [*apt, *step], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True
                )
    except (subprocess.CalledProcessError, OSError) as problem:
        raise UnavailableError(f"nginx could not be installed, see {FOLDER}/apt.log ({problem})") from problem
    finally:
        if is_ours:
            _POLICY.unlink(missing_ok=True)
    return "/usr/sbin/nginx"


# ---- the least gateway in Python


@contextmanager
def sketch(cores: Cores, name: str, behind: list[str]) -> Iterator[Target]:
    """`behind`: the address of a server, or "--" and its command."""
    port = free_port()
    command = cores.on_target([sys.executable, str(BENCH / "_sketch.py"), str(port), *behind])
    with running(command, FOLDER / "sketch.log") as process:
        wait_for_port(port, process)
        yield Target(name, f"http://127.0.0.1:{port}/mcp", process.pid)


# ---- FastMCP


@contextmanager
def fastmcp(cores: Cores, upstream: Target) -> Iterator[Target]:
    python = FOLDER / "fastmcp" / "bin" / "python"
    if not (python.parent / "fastmcp").exists():
        _install_fastmcp(python)
    port = free_port()
    version = subprocess.run(
        [python, "-c", "import fastmcp; print(fastmcp.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    command = cores.on_target([str(python), str(BENCH / "_fastmcp_proxy.py"), upstream.url, str(port)])
    with running(command, FOLDER / "fastmcp.log", cwd=FOLDER) as process:
        wait_for_port(port, process)
        yield Target(f"FastMCP {version} proxy", f"http://127.0.0.1:{port}/mcp", process.pid)


def _install_fastmcp(python: Path) -> None:
    try:
        with (FOLDER / "pip.log").open("w") as log:
            for step in (
                [sys.executable, "-m", "venv", python.parent.parent],
                [python, "-m", "pip", "install", "--quiet", "fastmcp"],
            ):
                subprocess.run(step, stdout=log, stderr=log, check=True)
    except (subprocess.CalledProcessError, OSError) as problem:
        raise UnavailableError(
            f"FastMCP could not be installed, see {FOLDER}/pip.log ({problem})"
        ) from problem


# ---- Callgate


@dataclass(frozen=True, slots=True)
class Gateway:
    """One running `callgate serve` with the echo server behind it twice: over HTTP and as a child."""

    base: str
    pid: int
    quiet_s: float = STORED_S

    def over_http(self, name: str = "Callgate, HTTP upstream") -> Target:
        return self._target(name, "/servers/echo/mcp")

    def over_stdio(self, name: str = "Callgate, stdio upstream") -> Target:
        return self._target(name, "/servers/pipe/mcp")

    def aggregate(self, name: str = "Callgate, aggregate /mcp, HTTP upstream") -> Target:
        return self._target(name, "/mcp", "echo__echo")

    def over_modern_http(self, name: str = "Callgate, HTTP upstream, modern clients and server") -> Target:
        return replace(self._target(name, "/servers/modern/mcp"), is_modern=True)

    def _target(self, name: str, path: str, tool: str = "echo") -> Target:
        return Target(name, f"{self.base}{path}", self.pid, tool, quiet_s=self.quiet_s)


@contextmanager
def callgate(
    cores: Cores,
    upstream: Target,
    state: Path,
    *,
    recording: bool = True,
    sync: str | None = None,
    with_child: bool = True,
    modern: Target | None = None,
    source: Path | None = None,
    workers: int = 1,
) -> Iterator[Gateway]:
    """`modern`: one more upstream, of that era; `source`: another `src` folder than the installed one."""
    text = "version = 1\n" + (f"[server]\nworkers = {workers}\n" if workers > 1 else "")
    text += f"[record]\nenabled = {str(recording).lower()}\n"
    if sync is not None:
        text += f"sync = {json.dumps(sync)}\n"
    text += http_server("echo", upstream)
    if with_child:
        text += stdio_server("pipe", cores)
    if modern is not None:
        text += http_server("modern", modern)
    env = {} if source is None else {"PYTHONPATH": str(source)}
    with serving(cores, state, text, env) as (base, pid):
        yield Gateway(base, pid, STORED_S if recording else IDLE_S)


def http_server(name: str, upstream: Target) -> str:
    """The table of one server in `callgate.toml`."""
    return f"[mcpServers.{name}]\nurl = {json.dumps(upstream.url)}\n"


def stdio_server(name: str, cores: Cores, *options: str) -> str:
    """The same for an echo server as a child; options of `echo_mcp`."""
    child = cores.on_load([str(FOLDER / "echo_mcp"), "--stdio", *options])
    text = f"[mcpServers.{name}]\ncommand = {json.dumps(child[0])}\nargs = {json.dumps(child[1:])}\n"
    return text + 'isolation = "shared"\n'  # one pipe for all: 64 processes would measure the machine


@contextmanager
def serving(
    cores: Cores, state: Path, text: str, env: dict[str, str], program: Sequence[str] = ("-m", "callgate")
) -> Iterator[tuple[str, int]]:
    """`callgate serve` with this configuration: its base address, and its pid."""
    state.mkdir(parents=True, exist_ok=True)
    config = state / "callgate.toml"
    config.write_text(text)
    command = [sys.executable, *program, "serve", "--json", "--port", "0"]
    command += ["--config", str(config), "--state-dir", str(state)]
    with running(cores.on_target(command), state / "stderr.log", env, state) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"Callgate did not start: {(state / 'stderr.log').read_text()}")
        yield json.loads(line)["mcp"].removesuffix("/mcp"), process.pid
