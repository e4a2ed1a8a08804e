"""`listen = "unix:…"`: HTTP over a Unix socket, for this user, or for a proxy of another one."""

import asyncio
import grp
import json
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import GatewayProcess, run_callgate, running_gateway
from replicas.fleet import start_nginx

TOKEN = "5f0c2d9a71e84b36c2f7e1d09a4b6835"
OWN_GROUP = grp.getgrgid(os.getegid()).gr_name


@asynccontextmanager
async def gateway_at(path: Path, *lines: str, workers: int = 1) -> AsyncIterator[GatewayProcess]:
    state = path.parent / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    (state / "callgate.toml").write_text(
        f'version = 1\n[server]\nlisten = "unix:{path}"\nworkers = {workers}\n' + "\n".join(lines)
    )
    async with running_gateway(state, "--config", str(state / "callgate.toml")) as gateway:
        yield gateway


async def ask(place: Path | int, head: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
    """As `curl --unix-socket` does, or to a port."""
    opened = asyncio.open_unix_connection(str(place)) if isinstance(place, Path) else None
    reader, writer = await (opened or asyncio.open_connection("127.0.0.1", place))  # pyright: ignore[reportArgumentType]
    lines = [f"{head} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}"]
    sent = {"Host": "localhost", "Content-Type": "application/json"} | headers
    lines += [f"{name}: {value}" for name, value in sent.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    async with asyncio.timeout(45):
        answer = await reader.read()
    writer.close()
    top, _, text = answer.partition(b"\r\n\r\n")
    at = text.find(b"{")
    return int(top.split()[1]), json.loads(text[at : text.rfind(b"}") + 1]) if at >= 0 else None


@pytest.mark.parametrize("workers", [1, 2])
async def test_its_user_needs_no_token_and_commands_find_it(folder: Path, workers: int) -> None:
    path = folder / "http.sock"
    async with gateway_at(path, workers=workers) as gateway:
        assert gateway.announced["url"] == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert (await ask(path, "GET /api/v1/me"))[1]["principal"] == "local"
        assert (await ask(path, "GET /api/v1/me", Host="evil.example.com"))[0] == 421
        command = ["--config", str(gateway.state / "callgate.toml")]
        called = await run_callgate(gateway.state, "call", "demo__query", "SELECT 41 + 1 AS n", *command)
        assert "42" in called.stdout, called
        status = await run_callgate(gateway.state, "status", *command)
        assert f"runs at unix:{path}" in status.stdout, status
        connected = await run_callgate(gateway.state, "connect", "cursor", *command)
        assert "listens on a Unix socket" in connected.stderr, connected
        counted = await run_callgate(
            gateway.state,
            "query",
            "SELECT count(*) FROM rpc_events WHERE method = 'tools/call'",
            "--json",
            *command,
        )
        assert json.loads(counted.stdout)["rows"] == [[1]]
    assert not path.exists()


async def test_what_a_killed_gateway_left_is_replaced_and_a_living_ones_is_not(folder: Path) -> None:
    path = folder / "http.sock"
    async with gateway_at(path) as killed:
        killed.process.send_signal(signal.SIGKILL)
        await killed.process.wait()
    assert path.is_socket()
    async with gateway_at(path) as gateway:
        config = str(gateway.state / "callgate.toml")
        other = folder / "other"
        other.mkdir(mode=0o700)
        refused = await run_callgate(other, "serve", "--config", config)
        assert refused.exit_code == 4
        assert f"Cannot listen on unix:{path}" in refused.stderr
        assert (await ask(path, "GET /healthz"))[0] == 200


async def test_a_file_that_is_no_socket_stays(folder: Path) -> None:
    path = folder / "http.sock"
    path.write_text("somebody's")
    state = folder / "state"
    state.mkdir(mode=0o700)
    (state / "callgate.toml").write_text(f'version = 1\n[server]\nlisten = "unix:{path}"\n')
    refused = await run_callgate(state, "serve")
    assert refused.exit_code == 4
    assert "no socket" in refused.stderr
    assert path.read_text() == "somebody's"


async def test_a_socket_that_took_our_place_is_not_removed_at_the_end(folder: Path) -> None:
    path = folder / "http.sock"
    with socket.socket(socket.AF_UNIX) as other:
        async with gateway_at(path):
            path.unlink()
            other.bind(str(path))
        assert path.is_socket()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('listen = "unix:/no/such/folder/http.sock"', "there is no folder"),
        (f'listen = "unix:/{"a" * 107}"', "at most 107 bytes"),
        ('listen = "unix:http.sock"', "absolute path"),
        (f'listen = "unix:/tmp/x.sock"\nsocket_group = "{OWN_GROUP}"', "other users can reach needs"),
        (
            f'listen = "unix:/tmp/x.sock"\nsocket_group = "no-such"\ntokens = ["{TOKEN}"]',
            'no group "no-such"',
        ),
        (f'socket_group = "{OWN_GROUP}"\ntokens = ["{TOKEN}"]', "for a Unix socket"),
    ],
)
async def test_what_cannot_work_is_a_problem_of_the_configuration(
    tmp_path: Path, lines: str, words: str
) -> None:
    (tmp_path / "callgate.toml").write_text(f"version = 1\n[server]\n{lines}\n")
    told = await run_callgate(tmp_path, "config", "check")
    assert told.exit_code == 3
    assert words in told.stderr


async def test_behind_nginx_clients_need_a_token_and_are_not_on_this_machine(folder: Path) -> None:
    path = folder / "http.sock"
    async with gateway_at(path, f'socket_group = "{OWN_GROUP}"', f'tokens = ["{TOKEN}"]'):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        path.chmod(0o666)  # nginx's worker is in no group of ours here

        def site(port: int) -> str:
            forwarded = "proxy_set_header X-Forwarded-For $remote_addr;"
            return (
                f"server {{ listen 127.0.0.1:{port}; "
                f"location / {{ proxy_pass http://unix:{path}; {forwarded} }} }}"
            )

        nginx, port = await start_nginx(folder, site)
        try:
            bearer: Any = {"Authorization": f"Bearer {TOKEN}"}
            assert (await ask(path, "GET /api/v1/me"))[0] == 401
            assert (await ask(port, "GET /api/v1/me"))[0] == 401
            assert (await ask(port, "GET /api/v1/me", **bearer))[1]["principal"] == "token-1"
            probe = json.dumps({"text": sys.executable}).encode()
            near = await ask(path, "POST /api/v1/servers/probe", probe, **bearer)
            far = await ask(port, "POST /api/v1/servers/probe", probe, **bearer)
            assert (near[0], far[0]) == (200, 403), (near, far)
        finally:
            nginx.terminate()
            await nginx.wait()
