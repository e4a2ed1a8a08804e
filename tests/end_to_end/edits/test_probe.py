"""Trying what somebody pasted, on a real gateway: what is told of it, and that nothing of it is left."""

import asyncio
import json
import socketserver
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from end_to_end.edits.hostile_server import OverHttp
from end_to_end.gateway_process import GatewayProcess, running_gateway
from end_to_end.principals.test_roles import send
from waiting import until

from callgate.sql.demo.demo import make_demo_shop

HOSTILE = Path(__file__).parent / "hostile_server.py"


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    (tmp_path / "callgate.toml").write_text("version = 1\n[record]\nenabled = false\n")
    async with running_gateway(tmp_path) as running:
        yield running


async def probe(gateway: GatewayProcess, text: str, **more: Any) -> tuple[int, Any]:
    body = json.dumps({"text": text, **more}).encode()
    url = f"{gateway.announced['url']}/api/v1/servers/probe"
    status, told = await asyncio.to_thread(send, url, "post", "", body)
    return status, json.loads(told) if isinstance(told, bytes) else told


def command(kind: str, *more: str) -> str:
    return json.dumps({"tried": {"command": sys.executable, "args": [str(HOSTILE), kind, *more]}})


def children(pid: int) -> set[int]:
    found: set[int] = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(status.read_text().rpartition(")")[2].split()[1]) == pid:
                found.add(int(status.parent.name))
        except (OSError, ValueError):
            continue
    return found


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def left(pid: int) -> tuple[set[int], int]:
    return children(pid), descriptors(pid)


def is_as_before(pid: int, before: tuple[set[int], int]) -> bool:
    """Not more: the connection of the request before may still have counted."""
    now = left(pid)
    return now[0] <= before[0] and now[1] <= before[1]


@contextmanager
def http_server(kind: str) -> Iterator[str]:
    handler = type("Handler", (OverHttp,), {"kind": kind})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()


async def test_a_program_tells_its_tools_and_is_gone_afterwards(gateway: GatewayProcess) -> None:
    pid = gateway.process.pid
    await probe(gateway, command("honest"))
    before = left(pid)
    for _ in range(2):
        await probe(gateway, command("honest", "--api-key=hunter2"))
    status, told = await probe(gateway, command("honest", "--api-key=hunter2"))
    assert status == 200
    assert (told["name"], told["kind"], told["era"], told["reachable"]) == ("tried", "mcp", "legacy", True)
    assert [tool["native_name"] for tool in told["tools"]] == ["t0", "t1"]
    assert told["tokens"] > 0
    assert told["secrets"] == ["args[2]"]
    assert "hunter2" not in json.dumps(told)
    await until(lambda: is_as_before(pid, before))
    listed = await gateway.get("/api/v1/servers")
    assert [one["name"] for one in listed["servers"]] == ["demo"], "it is not added"


async def test_a_database_tells_what_its_account_may(gateway: GatewayProcess, tmp_path: Path) -> None:
    make_demo_shop(tmp_path / "other.db")
    _, told = await probe(gateway, "other.db")
    assert (told["name"], told["kind"], told["mode"], told["reachable"]) == (
        "other",
        "sql",
        "read_only",
        True,
    )
    assert told["version"].startswith("SQLite")
    assert told["tools"]
    _, gone = await probe(gateway, "sqlite:///gone.db", name="here")
    assert (gone["name"], gone["reachable"]) == ("here", False)
    assert gone["findings"][0]["severity"] == "problem"


@pytest.mark.parametrize("kind", ["endless", "noise", "many"])
async def test_a_hostile_program_is_bounded(gateway: GatewayProcess, kind: str) -> None:
    pid = gateway.process.pid
    await probe(gateway, command("honest"))
    before = left(pid)
    status, told = await probe(gateway, command(kind, "--api-key=hunter2"))
    assert status == 200
    assert len(told["tools"]) <= 10_000
    assert told["findings"]
    assert "hunter2" not in json.dumps(told)
    await until(lambda: is_as_before(pid, before))
    assert (await probe(gateway, command("honest")))[1]["reachable"]


async def test_a_program_that_never_answers_is_given_up(gateway: GatewayProcess) -> None:
    pid = gateway.process.pid
    await probe(gateway, command("honest"))
    before = left(pid)
    _, told = await probe(gateway, command("silent"))
    assert not told["reachable"]
    assert "15 s" in told["findings"][0]["text"]
    await until(lambda: is_as_before(pid, before))


async def test_who_hangs_up_ends_the_probe(gateway: GatewayProcess) -> None:
    pid = gateway.process.pid
    await probe(gateway, command("honest"))
    before = left(pid)
    host, port = gateway.announced["url"].removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    body = json.dumps({"text": command("silent")}).encode()
    writer.write(
        b"POST /api/v1/servers/probe HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%b" % (len(body), body)
    )
    await until(lambda: len(children(pid)) > len(before[0]))
    writer.close()
    await writer.wait_closed()
    await until(lambda: is_as_before(pid, before))


@pytest.mark.parametrize("kind", ["redirect", "headers", "silent", "login"])
async def test_a_hostile_address_is_bounded(gateway: GatewayProcess, kind: str) -> None:
    pid = gateway.process.pid
    with http_server("redirect") as url:
        await probe(gateway, url)
    before = left(pid)
    with http_server(kind) as url:
        for _ in range(0 if kind == "silent" else 2):
            await probe(gateway, url)
        status, told = await probe(gateway, url)
    assert status == 200
    assert not told["reachable"]
    assert told["findings"]
    assert told["needs_login"] is (kind == "login")
    await until(lambda: is_as_before(pid, before))


async def test_from_elsewhere_nothing_is_started_and_no_file_is_read(gateway: GatewayProcess) -> None:
    """A proxy on this machine says for whom it speaks; nobody else can come over loopback."""
    url = f"{gateway.announced['url']}/api/v1/servers/probe"
    headed = '{"x": {"url": "http://127.0.0.1:9/mcp", "headers": {"a": "file:/etc/passwd"}}}'
    named = headed.replace("file:/etc/passwd", "${HOME}")
    for text in (command("honest"), "sqlite:///shop.db", "orders.csv", headed, named, "npx -y anything"):
        body = json.dumps({"text": text}).encode()
        status, told = await asyncio.to_thread(forwarded, url, body)
        assert (status, told["code"]) == (403, "refused.not_local"), text
    status, told = await asyncio.to_thread(forwarded, url, b'{"text": "http://127.0.0.1:9/mcp"}')
    assert (status, told["reachable"]) == (200, False)


def forwarded(url: str, body: bytes) -> tuple[int, Any]:
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"content-type": "application/json", "x-forwarded-for": "203.0.113.7"}
    try:
        with urlopen(Request(url, body, headers), timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as problem:
        with problem:
            return problem.code, json.load(problem)


async def test_an_entry_with_problems_is_told_all_of_them(gateway: GatewayProcess) -> None:
    status, told = await probe(gateway, '{"x": {"url": "ftp://a", "timeout_s": -1}}')
    assert (status, told["code"]) == (422, "caller.bad_config")
    assert {one["key_path"] for one in told["problems"]} == {"mcpServers.x.url", "mcpServers.x.timeout_s"}
    status, told = await probe(gateway, "{")
    assert (status, told["code"]) == (400, "caller.bad_params")
    assert "Paste" in told["hint"]
