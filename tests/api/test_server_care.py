"""What a server offers beside tools, how it is configured, what is wrong with it, and to try it again."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from api.conftest import Stage
from api.real_gateway import CONFIG, Whole, whole_gateway
from waiting import until

from callgate.sql.demo.demo import make_demo_shop

CONTENT = Path(__file__).parent.parent / "browser" / "content_server.py"
MORE = """
[mcpServers.content]
command = {python}
args = ["-E", "-S", {script}, "--api-key=hunter2"]
timeout_s = 20
[mcpServers.far]
url = "http://127.0.0.1:9/mcp?key=hunter2"
"""


@pytest.fixture
async def whole(tmp_path: Path) -> AsyncIterator[Whole]:
    more = MORE.format(python=json.dumps(sys.executable), script=json.dumps(str(CONTENT)))
    async with whole_gateway(tmp_path, CONFIG + more) as whole:
        yield whole


async def test_a_server_is_asked_for_its_resources_and_prompts_and_each_question_is_recorded(
    whole: Whole,
) -> None:
    async def asked(server: str, method: str, **params: Any) -> dict[str, Any]:
        answered = await whole.ask(f"/api/v1/servers/{server}/ask", {"method": method, "params": params})
        assert answered.status == 200, answered.body
        return answered.json

    listed = await asked("content", "resources/list")
    assert [one["uri"] for one in listed["result"]["resources"]] == ["notes://today", "notes://logo"]
    found = await asked("content", "resources/read", uri="notes://monday/tea")
    assert found["result"]["contents"][0]["text"] == "# Note of notes://monday/tea"
    prompt = await asked("content", "prompts/get", name="review", arguments={"topic": "tea"})
    assert "Review tea" in json.dumps(prompt["result"])
    assert "sqlite" in json.dumps((await asked("shop", "resources/templates/list"))["result"])
    none = await asked("shop", "prompts/list")
    assert none["result"] is None
    assert none["error"]["code"] == -32601
    row = await until(lambda: _recorded(whole, found["id"]))
    assert (row["method"], row["server"], row["outcome"]) == ("resources/read", "content", "answered")


async def _recorded(whole: Whole, call_id: str) -> dict[str, Any]:
    answered = await whole.ask(f"/api/v1/exchanges/{call_id}")
    return answered.json if answered.status == 200 and answered.json["outcome"] else {}


@pytest.mark.parametrize(
    ("target", "body", "status", "code"),
    [
        ("nobody/ask", {"method": "prompts/list"}, 404, "caller.unknown_server"),
        ("demo/ask", {"method": "tools/call", "params": {"name": "query"}}, 400, "caller.bad_params"),
        ("demo/ask", {"method": "resources/subscribe"}, 400, "caller.bad_params"),
        ("nobody/retry", {}, 404, "caller.unknown_server"),
        ("nobody/examine", {}, 404, "caller.unknown_server"),
        ("demo/retry", {"force": True}, 400, "caller.bad_params"),
    ],
)
async def test_what_cannot_be_asked_says_why(
    stage: Stage, target: str, body: dict[str, object], status: int, code: str
) -> None:
    answered = await stage.ask(f"/api/v1/servers/{target}", body)
    assert (answered.status, answered.json["code"]) == (status, code)
    assert not stage.caller.asked


async def test_a_server_tells_where_it_is_and_its_limits_but_no_secret(whole: Whole) -> None:
    servers = {one["name"]: one for one in (await whole.get("/api/v1/servers"))["servers"]}
    assert servers["shop"]["address"].endswith("/shop.db?schema=shop")
    assert servers["shop"]["limits"]["max_rows"] == 1000
    assert servers["content"]["limits"] == {"timeout_s": 20, "start_timeout_s": 120}
    assert str(CONTENT) in servers["content"]["address"]
    assert servers["far"]["address"].startswith("http://127.0.0.1:9/mcp?key=")
    assert "hunter2" not in json.dumps(servers)


async def test_a_database_that_came_back_is_up_as_soon_as_somebody_tries_it_again(whole: Whole) -> None:
    assert (await whole.get("/api/v1/servers/gone"))["state"] == "down"
    assert (await whole.ask("/api/v1/servers/gone/retry", {})).json["state"] == "down"
    make_demo_shop(whole.folder / "gone.db")
    assert (await whole.ask("/api/v1/servers/gone/retry", {})).json["state"] == "up"


async def test_a_program_that_came_back_need_not_wait_for_its_back_off(whole: Whole) -> None:
    async def is_down() -> bool:
        return (await whole.get("/api/v1/servers/files"))["state"] == "down"

    await until(is_down)
    program = whole.folder / "no-such-program"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -E -S {CONTENT}\n")
    program.chmod(0o755)
    # Answers when the attempt is over: a gateway that only waits would still say that it is down.
    told = (await whole.ask("/api/v1/servers/files/retry", {})).json
    assert (told["state"], told["version"]) == ("up", "0.9"), told["detail"]


async def test_the_doctor_says_of_one_server_what_is_wrong(whole: Whole) -> None:
    async def findings(name: str) -> list[dict[str, str]]:
        answered = await whole.ask(f"/api/v1/servers/{name}/examine", {})
        assert (answered.status, answered.json["name"]) == (200, name)
        return answered.json["findings"]

    (gone,) = await findings("gone")
    assert gone["severity"] == "problem"
    assert "gone.db" in gone["text"]
    (files,) = await findings("files")
    assert files["severity"] == "problem"
    assert "no-such-program" in files["text"]
    assert not [one for one in await findings("shop") if one["severity"] == "problem"]
    assert await findings("content") == []
