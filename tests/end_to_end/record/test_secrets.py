"""A thousand secrets sent through a real gateway: none is in a byte that it wrote, streamed or handed out."""

import asyncio
import json
import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import duckdb
import pytest
from end_to_end.gateway_process import running_gateway
from end_to_end.raw_clients import LegacyClient
from recorder.secret_samples import MAKERS, found_in
from waiting import until

PATIENCE_S = 60.0
CLIENTS = 8
SSN = "123-45-6789"
READS = [
    "/api/v1/export?format=jsonl", "/api/v1/export?format=csv", "/api/v1/exchanges?limit=1000",
    "/api/v1/tool-calls?limit=1000", "/api/v1/sessions?limit=1000", "/api/v1/stats", "/api/v1/tools",
    "/api/requests", "/api/sources", "/metrics", "/healthz",
]  # fmt: skip


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# What a client can send: the tool and its arguments, or the whole of another request.
PLACES: dict[str, Any] = {
    "sql and result": lambda text: ("query", {"query": f"SELECT {_quoted(text)} AS note"}),
    "nested json": lambda text: (
        "query",
        {"query": f"SELECT {_quoted(json.dumps({'deep': [text]}))} AS note"},
    ),
    "markdown": lambda text: (
        "query",
        {"query": f"SELECT {_quoted(text)} AS note", "response_format": "markdown"},
    ),
    "error of the database": lambda text: ("query", {"query": f"SELECT * FROM {_quoted(text)}"}),
    "refused statement": lambda text: ("query", {"query": f"DROP TABLE {_quoted(text)}"}),
    "unknown argument": lambda text: ("query", {"query": "SELECT 1", "note": text}),
    "under a key": lambda text: ("query", {"query": "SELECT 1", "password": {"deep": [text]}}),
    "name of a tool": lambda text: (text, {}),
}


def planted() -> list[tuple[str, str, str, dict[str, Any]]]:
    """Where, the secret, tool and arguments."""
    chance = random.Random(7)
    calls: list[tuple[str, str, str, dict[str, Any]]] = []
    for kind, make in MAKERS.items():
        for place, fill in PLACES.items():
            for _ in range(2):
                text, secret = make(chance)
                calls.append((f"{kind} in {place}", secret, *fill(text)))
    return calls


class Stream:
    """Every byte of /api/v1/events."""

    def __init__(self) -> None:
        self.heard = bytearray()

    async def until(self, text: bytes) -> None:
        await until(lambda: text in self.heard)


@asynccontextmanager
async def listening(port: int) -> AsyncIterator[Stream]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    stream = Stream()

    async def listen() -> None:
        while chunk := await reader.read(65536):
            stream.heard += chunk

    task = asyncio.create_task(listen())
    try:
        yield stream
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        writer.close()
        await writer.wait_closed()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE people (name TEXT, ssn TEXT)")
        shop.execute("INSERT INTO people VALUES ('Ada', ?)", [SSN])
    shop.close()
    path = tmp_path / "callgate.toml"
    path.write_text(
        "version = 1\n[server]\naudit_stderr = true\n"
        f'[[sources]]\nid = "shop"\ndsn = "sqlite:///{tmp_path}/shop.db"\nredact_keys = ["ssn"]\n'
        f'[[sources]]\nid = "other"\ndsn = "sqlite:///{tmp_path}/shop.db"\n'
    )
    return path


def read(url: str) -> bytes:
    with urlopen(url, timeout=60) as answer:
        return answer.read()


async def test_no_byte_that_leaves_the_gateway_or_stays_holds_a_secret(
    tmp_path: Path, config: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    calls = planted()
    assert len(calls) >= 1000
    waiting = iter(calls)
    async with running_gateway(tmp_path, "--port", "0", "--config", str(config)) as gateway:
        base = gateway.announced["url"]
        port = int(base.rpartition(":")[2])

        async def work(client: LegacyClient) -> None:
            for where, secret, tool, arguments in waiting:
                answered = await client.call(tool, arguments, json.dumps(where).encode())
                assert "jsonrpc" in answered, (where, secret)

        async with listening(port) as stream:
            info = {"name": "ghp_" + "b" * 36, "version": "sk-" + "b" * 30}
            for start in range(CLIENTS):
                async with LegacyClient(port, "/servers/shop/mcp", info=info if not start else None):
                    pass
            await asyncio.gather(*(_with_client(port, work) for _ in range(CLIENTS)))
            async with LegacyClient(port, "/servers/shop/mcp") as client:
                await client.call("query", {"query": "SELECT 'the last call'"})
            await stream.until(b"the last call")
        assert b"events.missed" not in stream.heard
        told = [await asyncio.to_thread(read, base + path) for path in READS]
        parquet = tmp_path / "export.parquet"
        parquet.write_bytes(await asyncio.to_thread(read, f"{base}/api/v1/export?format=parquet"))
    printed = capfd.readouterr()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "record").rglob("*") if path.is_file())
    held = b"".join([bytes(stream.heard), *told, (printed.out + printed.err).encode(), kept])
    held += repr(duckdb.from_parquet(str(parquet)).fetchall()).encode()
    assert b"sql and result" in held, "it was told at all"
    places = {secret: where for where, secret, _, _ in calls}
    found = {places[secret].partition(" in ")[0] for secret in found_in(held, places)}
    assert not found, ", ".join(sorted(found))
    assert b"b" * 30 not in held


async def _with_client(port: int, work: Any) -> None:
    async with LegacyClient(port, "/servers/shop/mcp") as client:
        await work(client)


@pytest.mark.parametrize("response_format", ["json", "markdown"])
async def test_a_listed_column_is_not_recorded_of_its_own_source(
    tmp_path: Path, config: Path, response_format: str
) -> None:
    asked = {"query": "SELECT name, ssn FROM people", "response_format": response_format}
    async with running_gateway(tmp_path, "--port", "0", "--config", str(config)) as gateway:
        port = int(gateway.announced["url"].rpartition(":")[2])
        for source in ("shop", "other"):
            async with LegacyClient(port, f"/servers/{source}/mcp") as client:
                assert SSN in json.dumps(await client.call("query", asked)), "the client gets it"
        told = (await gateway.get("/api/v1/tool-calls"))["tool_calls"]
        assert {row["server"] for row in told} == {"shop", "other"}
        bodies: dict[str, str] = {}
        for row in told:
            whole = await gateway.get(f"/api/v1/tool-calls/{row['id']}")
            bodies[row["server"]] = json.dumps(whole)
    assert SSN in bodies["other"]
    assert SSN not in bodies["shop"]
    assert "Ada" in bodies["shop"]
