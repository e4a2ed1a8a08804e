"""Files and entries of other clients, served as they are: real servers behind names of every kind."""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import GatewayProcess, get_json, run_callgate, running_gateway
from end_to_end.raw_clients import DEADLINE_S, LegacyClient
from end_to_end.upstream_stage import ACTOR, code_of, text_of

PUBLIC = re.compile(r"[a-zA-Z0-9_-]{1,64}")
DOTTED = "awslabs.aws-documentation-mcp-server"
VERY_LONG = "a very long name of a server that nobody would type " * 200
HOSTILE = [
    "../x",
    "a__b",
    "a_b",
    "",
    VERY_LONG,
    "\u202eevil\u0007\n",
    "GitHub",
    "github",
    "天气",
    "a?b=c#d/e%2f",
]


def entry(folder: Path, at: int, offered: list[str], **more: Any) -> dict[str, Any]:
    """A server with these tools, as any client would write it."""
    offers = folder / f"{at}.offers"
    offers.write_text(json.dumps({"tools": offered}))
    args = ["-E", "-S", str(ACTOR), "--log", str(folder / f"{at}.log"), "--offers", str(offers)]
    return {"command": sys.executable, "args": args, "autoApprove": [], "timeout": 60000, **more}


def write(folder: Path, entries: dict[str, Any], name: str = "mcp.json") -> Path:
    path = folder / name
    path.write_text("// as an editor writes it\n" + json.dumps({"mcpServers": entries, "theme": "x"}))
    return path


async def ids_of(gateway: GatewayProcess, count: int) -> list[str]:
    """All servers, once they are up."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            servers = (await gateway.get("/healthz"))["servers"]
            if all(one["state"] == "up" for one in servers):
                assert len(servers) == count
                return [one["name"] for one in servers]
            await asyncio.sleep(0.05)


def client_of(gateway: GatewayProcess, path: str = "/mcp") -> LegacyClient:
    return LegacyClient(int(gateway.announced["url"].rpartition(":")[2]), path)


async def test_every_name_leads_to_its_server_under_one_id_everywhere(tmp_path: Path) -> None:
    entries = {name: entry(tmp_path, at, ["tell"]) for at, name in enumerate(HOSTILE)}
    path = write(tmp_path, entries)
    async with running_gateway(tmp_path, "--config", str(path), "--port", "0") as gateway:
        ids = await ids_of(gateway, len(HOSTILE))
        assert len(set(ids)) == len(HOSTILE)
        told = "\n".join(gateway.announced["notes"])
        async with client_of(gateway) as client:
            names = await client.until_names(lambda names: len(names) == len(HOSTILE))
            assert names == [f"{one}__tell" for one in ids]
            assert all(PUBLIC.fullmatch(name) for name in names)
            for one in ids:
                assert "result" in await client.call(f"{one}__tell")
        for one, written in zip(ids, HOSTILE, strict=True):
            async with client_of(gateway, f"/servers/{one}/mcp") as direct:
                assert await direct.names() == ["tell"]
            shown = await gateway.get(f"/api/v1/servers/{one}")
            assert shown["name"] == one
            assert len(shown["title"]) <= 100
            assert shown["title"].isprintable()
            assert (f'"{one}"' in told) is (one != written)
        calls = (await gateway.get("/api/v1/tool-calls"))["tool_calls"]
        assert {call["server"] for call in calls} <= set(ids)
    listed = await run_callgate(tmp_path, "config", "check", "--config", str(path))
    assert listed.exit_code == 0
    assert "autoApprove" in listed.stdout
    assert "\u202e" not in listed.stdout


async def test_no_public_name_is_one_that_a_client_refuses_and_what_changed_is_told(tmp_path: Path) -> None:
    odd = ["browser.click", "t" * 52, "u" * 90, "plain"]
    path = write(tmp_path, {DOTTED + "-of-the-documentation": entry(tmp_path, 0, odd)})
    async with running_gateway(tmp_path, "--config", str(path), "--port", "0") as gateway:
        (one,) = await ids_of(gateway, 1)
        async with client_of(gateway) as client:
            names = await client.until_names(lambda names: len(names) == len(odd))
            assert all(PUBLIC.fullmatch(name) for name in names)
            assert names[1].endswith("__" + "t" * 52)
            assert names[3] == f"{one}__plain"
            for name, native in zip(names, odd, strict=True):
                assert text_of(await client.call(name)).endswith(f": {native}")
        (health,) = (await gateway.get("/healthz"))["servers"]
        assert names[0] in "".join(health["notes"])
    examined = await run_callgate(tmp_path, "doctor", "--config", str(path))
    assert names[0] in examined.stdout


@pytest.mark.parametrize("how", [{"leave_out": ["odd", "drop_*", "typo_*"]}, {"only": ["good", "typo_*"]}])
async def test_tools_that_are_left_out_are_neither_listed_nor_called(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    path = write(tmp_path, {"Shop": entry(tmp_path, 0, ["good", "odd", "drop_all"], tools=how)})
    async with running_gateway(tmp_path, "--config", str(path), "--port", "0") as gateway:
        await ids_of(gateway, 1)
        for where, prefix in (("/mcp", "shop__"), ("/servers/shop/mcp", "")):
            async with client_of(gateway, where) as client:
                assert await client.until_names(bool) == [f"{prefix}good"]
                assert "result" in await client.call(f"{prefix}good")
                for name in ("odd", "drop_all"):
                    answer = await client.call(f"{prefix}{name}")
                    assert code_of(answer) == "refused.left_out"
                    assert name in answer["error"]["message"]
        (health,) = (await gateway.get("/healthz"))["servers"]
        assert "drop_all" in "".join(health["notes"])
        (key,) = how
        unused = f'tools.{key}: "typo_*" fits no tool that shop lists'
        assert unused in health["notes"]
        shown = await gateway.get("/api/v1/tools")
        assert [tool["name"] for tool in shown["tools"]] == ["shop__good"]
    examined = await run_callgate(tmp_path, "doctor", "--config", str(path))
    assert unused in " ".join(examined.stdout.split())


async def test_a_disabled_server_is_not_started(tmp_path: Path) -> None:
    entries = {"on": entry(tmp_path, 0, ["t"]), "off": entry(tmp_path, 1, ["t"], disabled=True)}
    path = write(tmp_path, entries)
    async with running_gateway(tmp_path, "--config", str(path), "--port", "0") as gateway:
        assert await ids_of(gateway, 1) == ["on"]
        url = f"{gateway.announced['url']}/api/v1/servers/off"
        assert "error" in str(get_json(url)) or "code" in get_json(url)
    assert not (tmp_path / "1.log").exists()
