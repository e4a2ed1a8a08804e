"""The proxies' files in `deploy/` serve: TLS, large bodies, and event streams that are not held back."""

import asyncio
import json
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from end_to_end.gateway_process import running_gateway
from replicas.fleet import free_ports, is_decided, start_nginx
from upstreams.http_servers.certificates import make_certificates
from waiting import until

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = "callgate.example.com"
TOKEN = "5f0c2d9a71e84b36c2f7e1d09a4b6835"
CONFIG = f'version = 1\n[server]\nlisten = "127.0.0.1:0"\nallowed_hosts = ["{NAME}"]\ntokens = ["{TOKEN}"]\n'


@asynccontextmanager
async def nginx(folder: Path, gateway_port: int) -> AsyncIterator[int]:
    def site(port: int) -> str:
        text = (DEPLOY / "nginx.conf").read_text().replace("127.0.0.1:7420", f"127.0.0.1:{gateway_port}")
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
        text = re.sub(r"\nserver \{\s+listen 80;.*\Z", "", text, flags=re.DOTALL)  # no second port is needed
        text = re.sub(r"/etc/letsencrypt\S+/fullchain", f"{folder}/certificate", text)
        return re.sub(r"/etc/letsencrypt\S+/privkey", f"{folder}/key", text)

    process, port = await start_nginx(folder, site)
    yield port
    process.terminate()
    await process.wait()


@asynccontextmanager
async def caddy(folder: Path, gateway_port: int) -> AsyncIterator[int]:
    program = shutil.which("caddy")
    if program is None:
        pytest.skip("caddy is not here (Debian: caddy)")
    environment = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    for port in free_ports():
        text = (DEPLOY / "Caddyfile").read_text().replace("127.0.0.1:7420", f"127.0.0.1:{gateway_port}")
        own = f"{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {folder}/certificate.pem {folder}/key.pem\n"
        head = "{\n\tadmin off\n\tauto_https off\n}\n"
        (folder / "Caddyfile").write_text(head + text.replace(f"{NAME} {{\n", own))
        process = await asyncio.create_subprocess_exec(
            program, "run", "--config", str(folder / "Caddyfile"),
            env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        await until(partial(is_decided, process, port))
        if process.returncode is None:
            yield port
            process.terminate()
            await process.wait()
            return
    pytest.fail("caddy did not start")


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_the_document_shows_the_file(name: str) -> None:
    page = (DEPLOY.parent / "docs" / "deploy.md").read_text()
    assert f"```text\n{(DEPLOY / name).read_text()}```" in page


class Visitor:
    """A browser or client, as far as HTTP/1.1 goes."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self._port = port
        self._trust = trust

    async def open(self, head: str, body: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self._port, ssl=self._trust, server_hostname=NAME
        )
        lines = [
            head + " HTTP/1.1",
            f"Host: {NAME}",
            f"Authorization: Bearer {TOKEN}",
            f"Content-Length: {len(body)}",
        ]
        lines += ["Content-Type: application/json", f"Origin: https://{NAME}", "Sec-Fetch-Site: same-origin"]
        lines += ["Accept: application/json, text/event-stream", "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()
        return reader, writer

    async def ask(self, head: str, body: bytes = b"") -> tuple[int, str]:
        reader, writer = await self.open(head, body)
        answer = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        text = await reader.readexactly(int(found[1])) if found else await reader.readuntil(b"\r\n0\r\n\r\n")
        writer.close()
        return int(answer.split()[1]), text.decode()


@pytest.mark.parametrize("proxy", [nginx, caddy])
async def test_a_client_behind_the_proxy_calls_and_hears_of_it_at_once(
    folder: Path, proxy: Callable[[Path, int], AbstractAsyncContextManager[int]]
) -> None:
    trust = make_certificates(folder, f"DNS:{NAME}").trusting_context
    (folder / "callgate.toml").write_text(CONFIG)
    async with running_gateway(folder, "--config", str(folder / "callgate.toml")) as gateway:
        gateway_port = int(gateway.announced["url"].rpartition(":")[2])
        async with proxy(folder, gateway_port) as port, asyncio.timeout(60):
            visitor = Visitor(port, trust)
            status, page = await visitor.ask("GET /connect")
            assert (status, "<title>Callgate</title>" in page) == (200, True)

            stream, writer = await visitor.open("GET /api/v1/events")
            assert b" 200 " in await stream.readline()
            call = json.dumps({"tool": "demo__query", "arguments": {"query": "SELECT 41 + 1 AS n"}}).encode()
            assert (await visitor.ask("POST /api/v1/call", call))[0] == 200
            await stream.readuntil(b"SELECT 41 + 1")  # it comes while the stream is open
            writer.close()

            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            }
            first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            status, answer = await visitor.ask("POST /mcp", json.dumps(first).encode())
            assert (status, "serverInfo" in answer) == (200, True)

            large = {"tool": "demo__query", "arguments": {"query": "SELECT 1 -- " + "x" * 2_000_000}}
            status, answer = await visitor.ask("POST /api/v1/call", json.dumps(large).encode())
            assert status == 200, answer[:200]  # and not the proxy's 413
