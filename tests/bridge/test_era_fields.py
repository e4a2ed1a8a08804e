"""Fields that belong to one era do not cross: a client sees what its own revision's schema knows.

Black box, raw messages: an SDK would drop, or hide, what it does not know.
"""

from pathlib import Path
from typing import Any

import pytest
from bridge.one_server import gateway, server
from end_to_end.raw_clients import LegacyClient, ModernClient
from end_to_end.upstream_stage import Actor, staged
from mcp_types import _v2025_11_25 as legacy_schema
from mcp_types import _v2026_07_28 as modern_schema
from pydantic import BaseModel

Json = dict[str, Any]

LISTS = {
    "tools/list": legacy_schema.ListToolsResult,
    "prompts/list": legacy_schema.ListPromptsResult,
    "resources/list": legacy_schema.ListResourcesResult,
    "resources/templates/list": legacy_schema.ListResourceTemplatesResult,
}
MODERN_KEYS = ("io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/subscriptionId")


def fields_of(model: type[BaseModel]) -> set[str]:
    return {info.alias or name for name, info in model.model_fields.items()}


async def modern_only_fields(client: LegacyClient, name: str, is_direct: bool) -> list[str]:
    """Whatever a result has, of any method, that the handshake era does not know. Lists are asked for twice:
    the second may come from what is known."""

    def named(native: str) -> str:
        return native if is_direct else f"{name}__{native}"

    await client.until_names(bool)  # a list does not wait until the server has started
    found: list[str] = []
    results: list[tuple[str, type[BaseModel], Json]] = []
    for method, model in (*LISTS.items(), *LISTS.items()):
        results.append((method, model, (await client.request(method))["result"]))
    uri = results[2][2]["resources"][0]["uri"]
    for method, params, model in (
        ("tools/call", {"name": named("echo"), "arguments": {"text": "x"}}, legacy_schema.CallToolResult),
        ("prompts/get", {"name": named("greet"), "arguments": {"name": "x"}}, legacy_schema.GetPromptResult),
        ("resources/read", {"uri": uri}, legacy_schema.ReadResourceResult),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": named("greet")},
                "argument": {"name": "name", "value": "a"},
            },
            legacy_schema.CompleteResult,
        ),
        ("resources/subscribe", {"uri": uri}, legacy_schema.EmptyResult),
        ("logging/setLevel", {"level": "error"}, legacy_schema.EmptyResult),
        ("ping", {}, legacy_schema.EmptyResult),
    ):
        answer = await client.request(method, params)
        assert "result" in answer, answer
        results.append((method, model, answer["result"]))
    for method, model, result in results:
        found += [f"{method}: {member}" for member in result.keys() - fields_of(model)]
        found += [f"{method}: _meta {key}" for key in MODERN_KEYS if key in result.get("_meta", {})]
    return found


@pytest.mark.parametrize("is_direct", [True, False], ids=["direct", "aggregate"])
@pytest.mark.parametrize("name", ["reference-http", "reference-stdio", "modern-http"])
async def test_a_handshake_client_sees_nothing_of_the_modern_era(
    tmp_path: Path, name: str, is_direct: bool
) -> None:
    path = f"/servers/{name}/mcp" if is_direct else "/mcp"
    async with server(tmp_path, name) as config, gateway(config) as port, LegacyClient(port, path) as client:
        assert await modern_only_fields(client, name, is_direct) == []


@pytest.mark.parametrize("path", ["/servers/old/mcp", "/mcp"])
async def test_a_modern_client_sees_nothing_of_the_handshake_era(tmp_path: Path, path: str) -> None:
    old, tool = Actor("old", tmp_path), {"name": "play", "inputSchema": {"type": "object"}}
    old.offer(tools=[tool | {"execution": {"taskSupport": "required"}, "x-own": 1}])
    async with staged(old) as stage, ModernClient(stage.port, path) as client:
        await client.until_names(bool)  # a list does not wait until the server has started
        for _ in range(2):  # the second may come from what is known
            (listed,) = (await client.request("tools/list"))["result"]["tools"]
            assert listed.keys() - fields_of(modern_schema.Tool) == {"x-own"}
    async with staged(old) as stage, LegacyClient(stage.port, path) as client:
        await client.until_names(bool)
        (listed,) = (await client.request("tools/list"))["result"]["tools"]
        assert listed["execution"] == {"taskSupport": "required"}, "within its era it passes"
