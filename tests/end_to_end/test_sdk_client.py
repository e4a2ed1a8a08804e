"""The official MCP SDK client, in each era, over HTTP and over stdio."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from end_to_end.gateway_process import GatewayProcess, running_gateway, stdio_server, text_in
from mcp import Client
from mcp_types import CallToolResult

COUNT = "SELECT count(*) AS n FROM shop.orders"
INSERT = "INSERT INTO shop.orders (id) VALUES (1)"


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    async with running_gateway(tmp_path) as gateway:
        yield gateway


def code_of(result: CallToolResult) -> str | None:
    return (result.meta or {}).get("callgate/code")


async def exercise(client: Client) -> None:
    """List, ask, and be refused."""
    (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "demo__query"]
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is True
    answered = await client.call_tool("demo__query", {"query": COUNT})
    assert not answered.is_error
    assert answered.structured_content is not None
    assert answered.structured_content["rows"][0][0] > 500
    refused = await client.call_tool("demo__query", {"query": INSERT})
    assert refused.is_error
    assert code_of(refused) == "refused.read_only"
    text = text_in(refused.content[0])
    assert text.startswith("Query blocked: INSERT operations are not allowed in READ-ONLY mode.")
    assert 'mode = "write"' in text


@pytest.mark.parametrize(("mode", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
@pytest.mark.parametrize("transport", ["http", "stdio alone", "stdio joined"])
async def test_the_sdk_lists_calls_and_is_refused_and_both_calls_are_recorded_at_once(
    gateway: GatewayProcess, tmp_path: Path, mode: str, revision: str, transport: str
) -> None:
    if transport == "stdio alone":
        # Another configuration than the gateway's: served by the process itself, recorded in the same record.
        other = tmp_path / "other.toml"
        other.write_text("version = 1\n[server]\naudit_stderr = true\n")
        server = stdio_server(tmp_path, "--config", str(other))
    else:
        server = gateway.mcp_url if transport == "http" else stdio_server(tmp_path)
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == revision
        await exercise(client)
    recent = await gateway.requests()
    assert [(entry["sql"], entry["success"]) for entry in recent] == [(INSERT, False), (COUNT, True)]
    newest = recent[0]
    assert newest["errorCode"] == "refused.read_only"
    assert (newest["sourceId"], newest["toolName"], newest["client"]) == ("demo", "demo__query", "mcp/0.1.0")


async def test_one_source_alone_has_its_native_name(gateway: GatewayProcess) -> None:
    async with Client(gateway.announced["url"] + "/servers/demo/mcp") as client:
        assert "query" in [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("query", {"query": "SELECT 1 AS one"})
        assert result.structured_content is not None
        assert result.structured_content["rows"] == [[1]]


async def test_two_stdio_clients_beside_a_gateway_share_one_record(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    async with (
        Client(stdio_server(tmp_path), mode="legacy") as first,
        Client(stdio_server(tmp_path), mode="auto") as second,
        Client(gateway.mcp_url) as third,
    ):
        for number in range(3):
            for name, client in (("first", first), ("second", second), ("third", third)):
                result = await client.call_tool("demo__query", {"query": f"SELECT '{name}-{number}'"})
                assert not result.is_error
    said = {entry["sql"] for entry in await gateway.requests()}
    assert said == {
        f"SELECT '{name}-{number}'" for name in ("first", "second", "third") for number in range(3)
    }


async def test_calls_of_a_stdio_process_that_was_alone_are_there_when_a_gateway_starts(
    tmp_path: Path,
) -> None:
    async with Client(stdio_server(tmp_path)) as client:
        await client.call_tool("demo__query", {"query": "SELECT 'before'"})
    async with running_gateway(tmp_path) as gateway:
        assert [entry["sql"] for entry in await gateway.requests()] == ["SELECT 'before'"]
