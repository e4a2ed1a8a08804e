"""What the page's frame asks first."""

from pathlib import Path

from api.conftest import Stage
from api.parts import NoCaller, OneServer, ask, offer
from api.real_gateway import whole_gateway
from recorder.happenings import Record

import callgate
from callgate.api.http_api import ApiParts, HttpApi

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
