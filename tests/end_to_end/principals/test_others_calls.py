"""What one principal can do with the calls of another, and what is left of a token that ended."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import GatewayProcess, run_callgate, running_gateway
from end_to_end.principals.test_reload import OPERATOR, ask, stream_that_ends
from end_to_end.principals.test_roles import CONFIG, TOKENS
from end_to_end.test_stdio import frames, line
from waiting import until

from callgate.model.identity import token_hash_of

SELECT = {"query": "SELECT 41 + 1 AS answer"}


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    operators = f'version = 1\n[server]\ntokens = [{{ token = "{OPERATOR}", principal = "ops" }}]'
    (tmp_path / "callgate.toml").write_text(CONFIG.replace("version = 1", operators))
    async with running_gateway(tmp_path) as running:
        yield running


async def recorded(gateway: GatewayProcess, count: int) -> list[list[Any]]:
    """Principal and outcome of every tool call, oldest first."""
    sql = "SELECT principal, outcome FROM rpc_events WHERE method = 'tools/call' ORDER BY ts"

    async def all_of_them() -> list[list[Any]] | None:
        _, told = await ask(gateway, "/api/v1/query", body={"sql": sql})
        return told["rows"] if len(told["rows"]) >= count else None

    found = await until(all_of_them)
    assert found is not None
    return found


async def test_a_call_of_another_is_made_again_in_the_name_of_who_asks(gateway: GatewayProcess) -> None:
    said = line(1, "tools/call", name="demo__query", arguments=SELECT)
    done = await run_callgate(gateway.state, "stdio", stdin=said, CALLGATE_TOKEN=TOKENS["call"])
    assert "result" in frames(done.stdout)[0]
    assert await recorded(gateway, 1) == [["caller", "answered"]]
    _, told = await ask(gateway, "/api/v1/tool-calls", TOKENS["watch"])
    again = f"/api/v1/tool-calls/{told['tool_calls'][0]['id']}/replay"
    status, answer = await ask(gateway, again, TOKENS["watch"], {})
    assert (status, answer["result"]["structuredContent"]["rows"]) == (200, [[42]])
    # With words of its own it is judged as any call is.
    harm = {"arguments": {"query": "DROP TABLE shop.orders"}}
    status, answer = await ask(gateway, again, TOKENS["watch"], harm)
    assert "dangerous" in json.dumps(answer)
    status, answer = await ask(gateway, "/api/v1/call", TOKENS["watch"], {"tool": "demo__query", **harm})
    assert "dangerous" in json.dumps(answer)
    for path in (again, "/api/v1/call"):
        status, answer = await ask(gateway, path, TOKENS["call"], {})
        assert (status, answer["code"]) == (403, "refused.role")
    assert await recorded(gateway, 4) == [
        ["caller", "answered"],
        ["watcher", "answered"],
        ["watcher", "refused"],
        ["watcher", "refused"],
    ]


async def test_a_command_calls_for_its_token_and_without_one_for_the_person_at_the_machine(
    gateway: GatewayProcess,
) -> None:
    call = ("call", "demo__query", f"query={SELECT['query']}")
    for token in (TOKENS["call"], TOKENS["watch"], ""):
        done = await run_callgate(gateway.state, *call, CALLGATE_TOKEN=token)
        assert done.exit_code == 0, done.stderr
    refused = await run_callgate(gateway.state, *call, CALLGATE_TOKEN="f" * 16)
    assert (refused.exit_code, refused.stdout) == (6, "")
    assert [row[0] for row in await recorded(gateway, 3)] == ["caller", "watcher", "local"]


async def test_over_the_local_socket_a_caller_reaches_nothing_but_mcp(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(CONFIG)  # no [server] tokens: commands send their own
    async with running_gateway(tmp_path) as gateway:
        said = line(1, "tools/call", name="demo__query", arguments=SELECT)
        await run_callgate(tmp_path, "stdio", stdin=said)
        _, told = await ask(gateway, "/api/v1/tool-calls", "")
        (call,) = told["tool_calls"]
        for command in (("calls",), ("replay", call["id"]), ("tail",), ("trust",), ("reload",)):
            done = await run_callgate(tmp_path, *command, CALLGATE_TOKEN=TOKENS["call"])
            assert done.exit_code == 6, (command, done.stdout, done.stderr)
            assert "refused.role" in done.stderr
        asked = line(1, "operator/reload") + line(2, "api/v1/tool-calls") + line(3, "tools/list")
        done = await run_callgate(tmp_path, "stdio", stdin=asked, CALLGATE_TOKEN=TOKENS["call"])
        answers = {one["id"]: one for one in frames(done.stdout)}
        assert [answers[number]["error"]["code"] for number in (1, 2)] == [-32601, -32601]
        assert "result" in answers[3]


async def test_a_token_that_expires_ends_its_event_stream(tmp_path: Path) -> None:
    token, ends_at = "d4be0917c6a2f358", datetime.now(UTC) + timedelta(seconds=6)
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[server]\ntokens = ["{OPERATOR}"]\n[principals.guest]\nrole = "watch"\n'
        f'token_hash = "{token_hash_of(token)}"\nexpires = {ends_at.isoformat(timespec="seconds")}\n'
    )
    async with running_gateway(tmp_path) as gateway:
        async with stream_that_ends(gateway, token):
            pass  # its time ends by itself
        assert (await ask(gateway, "/api/v1/me", token))[0] == 401
