"""What the page's frame asks first, and what its Connect shows."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from api.conftest import Stage
from api.parts import NoCaller, NoServers, OneServer, ask, offer
from api.real_gateway import whole_gateway
from recorder.happenings import Record

import callgate
from callgate.api.about_api import ShownSettings
from callgate.api.http_api import ApiParts, HttpApi
from callgate.config.mcp_clients import CLIENTS
from callgate.ports.http_app import HttpApp

CONFIG = """
version = 1
[server]
tokens = ["9f3c27d1a8e64b05c2f7e1d09a4b6835"]
[record]
keep = "7d"
[[sources]]
id = "shop"
dsn = "sqlite:///{folder}/shop.db?schema=shop"
"""


async def test_a_gateway_tells_what_it_is_and_how_its_record_is_doing(tmp_path: Path) -> None:
    async with whole_gateway(tmp_path, CONFIG) as whole:
        await whole.call("shop__query", query="SELECT 1")
        about = await whole.get("/api/v1/about")
        body = (await whole.ask("/api/v1/about")).body.decode()
    assert (about["version"], about["needs_token"], about["is_demo"]) == (callgate.__version__, True, False)
    assert (about["mcp_path"], about["server_mcp_path"]) == ("/mcp", "/servers/{name}/mcp")
    assert (about["servers"]["total"], about["servers"]["up"]) == (1, 1)
    assert about["uptime_s"] >= 0
    assert about["started_at"] <= about["now"]
    record = about["record"]
    assert (record["enabled"], record["problem"], record["gaps"], record["gap_events"]) == (True, None, 0, 0)
    assert (record["events"], record["sessions"], record["keep_s"]) == (1, 1, 7 * 86_400)
    assert record["size_bytes"] > 0
    assert record["oldest_day"] == about["now"][:10]
    assert str(tmp_path) not in body


async def test_a_gateway_that_records_nothing_says_so() -> None:
    app = HttpApi(ApiParts(OneServer([offer("query")]), NoCaller())).app()
    about = (await ask(app, "/api/v1/about")).json
    assert about["record"]["enabled"] is False
    assert about["record"]["events"] is None
    assert about["servers"] == {"total": 1, "up": 1, "tools": 1}


async def test_a_record_that_another_process_holds_is_a_problem_and_no_error(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.get("/api/v1/sessions")  # so it holds the store
    second = Record(tmp_path, keeps_store=False)
    try:
        app = HttpApi(ApiParts(OneServer(), NoCaller(), second.reader)).app()
        about = (await ask(app, "/api/v1/about")).json
    finally:
        await second.close()
    assert "Another process" in about["record"]["problem"]
    assert about["record"]["events"] is None


PROGRAM = "/opt/callgate/bin/callgate"


def app_of(**settings: Any) -> HttpApp:
    shown = ShownSettings(program=PROGRAM, **settings)
    return HttpApi(ApiParts(NoServers(), NoCaller(), setup=lambda: shown)).app()


async def test_every_client_is_told_the_address_that_the_page_was_reached_by() -> None:
    app = app_of()
    told = (await ask(app, "/api/v1/clients?base=https://callgate.example.com")).json
    assert told["url"] == "https://callgate.example.com/mcp"
    assert [client["name"] for client in told["clients"]] == [client.title for client in CLIENTS]
    for client in told["clients"]:
        assert (told["url"] if client["transport"] == "http" else PROGRAM) in client["entry"]
    for host in ("127.0.0.1:7420", "[fd00::1]:7420"):
        assert (await ask(app, "/api/v1/clients", host=host)).json["url"] == f"http://{host}/mcp"


async def test_a_gateway_with_tokens_leaves_a_place_for_one_and_does_not_say_where_it_is_installed() -> None:
    answer = await ask(app_of(needs_token=True), "/api/v1/clients?base=https://callgate.example.com")
    assert PROGRAM.encode() not in answer.body
    assert answer.json["program"] == "/path/to/callgate"
    for client in answer.json["clients"]:
        assert client["transport"] == "stdio" or "TOKEN" in client["entry"] or "inputs" in client["entry"]


@pytest.mark.parametrize(
    "base",
    [
        "callgate.example.com",
        "ftp://a",
        "https://a b",
        "https://a/?x=1",
        "https://u:p@a",
        "https://[1:2]",
        "https://a:99999",
        "https://a'; rm -rf ~",
        "https://a/$(id)",
        "https://" + "x" * 400,
    ],
)
async def test_what_is_no_address_is_not_put_into_commands(base: str) -> None:
    answer = await ask(app_of(), f"/api/v1/clients?base={quote(base, safe='')}")
    assert (answer.status, answer.json["code"]) == (400, "caller.bad_params")
