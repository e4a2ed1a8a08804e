"""Roles on a real gateway: who may do what, at every operation, by every way in."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from end_to_end.gateway_process import GatewayProcess, run_callgate, running_gateway
from end_to_end.test_stdio import frames, line
from waiting import until

from callgate.model.identity import Role, token_hash_of

TOKENS = {
    None: "",
    "call": "9f3c27d1a8e64b05",
    "watch": "kX7-vq2LmZ9_wR4tB0aD",
    "operate": "0a91c4f26b7d83e5",
}
CONFIG = "version = 1\n" + "".join(
    f'[principals.{role}er]\ntoken_hash = "{token_hash_of(token)}"\nrole = "{role}"\n'
    for role, token in TOKENS.items()
    if role is not None
)
# Every address of the API that is not in the OpenAPI file.
BESIDE = {("get", "/api/v1/openapi.json"): "watch", ("get", "/metrics"): "watch"}
REFUSED = {"refused.role", "refused.unauthenticated"}


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    # With an operator's token nobody comes without one, on loopback too.
    operators = 'version = 1\n[server]\ntokens = ["c81e5f0392ad467b"]'
    (tmp_path / "callgate.toml").write_text(CONFIG.replace("version = 1", operators))
    async with running_gateway(tmp_path) as running:
        yield running


def send(url: str, method: str, token: str, body: bytes | None = None) -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    if body is not None:
        headers["content-type"] = "application/json"
    try:
        with urlopen(Request(url, body, headers, method=method.upper()), timeout=30) as answer:
            head = answer.read(2_000) if "event-stream" in answer.headers["content-type"] else answer.read()
            return answer.status, head
    except HTTPError as problem:
        with problem:
            return problem.code, json.loads(problem.read() or b"null")


def operations() -> dict[tuple[str, str], str]:
    document = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text())
    told = {
        (method, path): operation["x-callgate-role"]
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    return told | BESIDE


def test_every_operation_names_its_role() -> None:
    told = operations()
    assert len(told) > 25
    assert set(told.values()) <= {role.word for role in Role}
    assert [path for (_, path), role in told.items() if role == "call"] == ["/api/v1/me"]


@pytest.mark.parametrize("role", TOKENS)
async def test_each_role_gets_exactly_what_the_table_says(gateway: GatewayProcess, role: str | None) -> None:
    mine = 0 if role is None else Role[role.upper()]
    for (method, path), needed in operations().items():
        if path.endswith("/stream") or "events" in path:
            continue  # see below
        target = gateway.announced["url"] + path.replace("{", "").replace("}", "")
        body = b"{}" if method in ("post", "patch") else None
        status, answer = await asyncio.to_thread(send, target, method, TOKENS[role], body)
        code = answer.get("code") if isinstance(answer, dict) else None
        if mine >= Role[needed.upper()]:
            assert code not in REFUSED, (method, path, answer)
        else:
            expected = (401, "refused.unauthenticated") if role is None else (403, "refused.role")
            assert (status, code) == expected, (method, path)


async def test_a_caller_calls_and_sees_nothing_of_the_record(gateway: GatewayProcess) -> None:
    url, token = gateway.announced["url"], TOKENS["call"]
    said = line(1, "tools/call", name="demo__query", arguments={"query": "SELECT 41 + 1"})
    headers = {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "demo__query",
        "authorization": f"Bearer {token}",
    }  # fmt: skip
    with await asyncio.to_thread(urlopen, Request(f"{url}/mcp", said, headers), timeout=30) as answer:
        assert json.load(answer)["result"]["structuredContent"]["rows"] == [[42]]
    status, me = await asyncio.to_thread(send, f"{url}/api/v1/me", "get", token)
    assert (status, json.loads(me)) == (200, {"principal": "caller", "role": "call"})
    for path in ("/api/v1/events", "/api/requests", "/api/v1/tool-calls", "/api/v1/sessions"):
        status, problem = await asyncio.to_thread(send, url + path, "get", token)
        assert (status, problem["code"]) == (403, "refused.role"), path
    _, health = await asyncio.to_thread(send, f"{url}/healthz", "get", token)
    assert "servers" not in json.loads(health)


async def test_a_joined_pipe_is_who_its_token_says(gateway: GatewayProcess) -> None:
    said = line(1, "tools/call", name="demo__query", arguments={"query": "SELECT 7 AS mine"})
    done = await run_callgate(gateway.state, "stdio", stdin=said, CALLGATE_TOKEN=TOKENS["watch"])
    (answer,) = frames(done.stdout)
    assert answer["result"]["structuredContent"]["rows"] == [[7]]
    await run_callgate(gateway.state, "stdio", stdin=line(1, "server/discover"))

    async def principals() -> set[str]:
        target = f"{gateway.announced['url']}/api/v1/sessions"
        _, told = await asyncio.to_thread(send, target, "get", TOKENS["operate"])
        return {one["principal"] for one in json.loads(told)["sessions"]}

    async def are_known() -> bool:
        return {"watcher", "local"} <= await principals()

    await until(are_known)


async def test_a_wrong_token_joins_nothing(gateway: GatewayProcess) -> None:
    done = await run_callgate(
        gateway.state, "stdio", stdin=line(1, "server/discover"), CALLGATE_TOKEN="f" * 8 + "3c27d1a8"
    )
    assert (done.exit_code, done.stdout) == (6, "")
    assert "The bearer token is not valid" in done.stderr
    assert "CALLGATE_TOKEN" in done.stderr


async def test_without_the_operators_tokens_the_person_at_the_machine_needs_none(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(CONFIG)
    async with running_gateway(tmp_path) as running:
        assert await running.get("/api/v1/me") == {"principal": "local", "role": "operate"}
        status, _ = await asyncio.to_thread(
            send, running.announced["url"] + "/api/v1/about", "get", TOKENS["call"]
        )
        assert status == 403
        done = await run_callgate(tmp_path, "calls", "--json")
        assert done.exit_code == 0, done.stderr
