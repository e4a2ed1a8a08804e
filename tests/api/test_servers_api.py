"""Servers, tools and metrics: what stands behind us now."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from api.conftest import Stage
from api.parts import offer
from api.real_gateway import Whole, whole_gateway
from recorder.happenings import settled

from callgate.model.events import ExchangeSettled
from callgate.model.exchange import Outcome, StatementFacts


async def test_a_server_tells_its_health_its_tools_and_what_they_cost(stage: Stage) -> None:
    stage.server.stderr_tail = ("login with hunter2",)
    (server,) = (await stage.get("/api/v1/servers"))["servers"]
    assert (server["name"], server["state"], server["version"]) == ("demo", "up", "3")
    assert server["stderr_tail"] == ["login with ***"]
    assert [tool["name"] for tool in server["tools"]] == ["demo__query"]
    assert server["tokens"] == sum(tool["tokens"] for tool in server["tools"]) > 0


async def test_annotations_tell_declared_from_absent(stage: Stage) -> None:
    stage.server.offers[:] = [
        offer("a", annotations={"readOnlyHint": True, "destructiveHint": False}),
        offer("b", description="plain"),
    ]
    first, second = (await stage.get("/api/v1/tools"))["tools"]
    assert first["annotations"] == {"readOnlyHint": True, "destructiveHint": False}
    assert second["annotations"] is None


async def test_secrets_in_a_tools_schema_are_masked_and_the_schema_stays_one(stage: Stage) -> None:
    secrets = [f"Zq81vTx{number}" for number in range(8)]
    schema = {
        "type": "object",
        "properties": {
            "apiKey": {"type": "string", "description": "Of your account.", "default": secrets[0]},
            "password": {"type": "string", "minLength": 8, "examples": [secrets[1]], "enum": [secrets[2]]},
            "url": {"type": "string", "description": f"https://h.example/?access_token={secrets[3]}"},
            "dsn": {"type": "string", "default": f"mysql://me:{secrets[4]}@h/d"},
            "token": {"anyOf": [{"type": "string", "const": secrets[5]}, {"type": "null"}]},
            "max_tokens": {"type": "integer", "default": 4096},
        },
        "required": ["apiKey", "password"],
    }
    annotations = {"title": f"Log in with --password {secrets[7]}", "readOnlyHint": True}
    made = offer(
        "login", description=f"curl -u me:{secrets[6]} h", inputSchema=schema, annotations=annotations
    )
    before = made.definition
    stage.server.offers[:] = [made]
    (tool,) = (await stage.get("/api/v1/tools"))["tools"]
    ((listed,),) = [server["tools"] for server in (await stage.get("/api/v1/servers"))["servers"]]
    for told in (tool, listed):
        assert not [secret for secret in secrets if secret in str(told)]
        properties = told["input_schema"]["properties"]
        assert properties["apiKey"] == {
            "type": "string",
            "description": "Of your account.",
            "default": "***",
        }
        assert properties["password"]["minLength"] == 8
        assert properties["token"]["anyOf"] == [{"type": "string", "const": "***"}, {"type": "null"}]
        assert properties["max_tokens"] == {"type": "integer", "default": 4096}
        assert told["input_schema"]["required"] == ["apiKey", "password"]
    assert stage.server.offers[0].definition is before  # what clients of MCP get


async def test_tools_are_found_by_words_and_by_server(stage: Stage) -> None:
    stage.server.offers[:] = [offer("read_file", "files"), offer("query")]
    assert [tool["name"] for tool in (await stage.get("/api/v1/tools?q=read"))["tools"]] == [
        "files__read_file"
    ]
    assert [tool["name"] for tool in (await stage.get("/api/v1/tools?server=demo"))["tools"]] == [
        "demo__query"
    ]


async def test_metrics_tell_how_far_the_store_is_behind(stage: Stage) -> None:
    stage.emit(settled(stage.session))
    await stage.get("/api/v1/tool-calls")  # a read stores what was journalled
    lines = (await stage.ask("/metrics")).body.decode().splitlines()
    told = dict(line.split() for line in lines if line.startswith("callgate_record_"))
    assert int(told["callgate_record_batches_stored_total"]) >= 1
    assert told["callgate_record_rows_stored_total"] == "1"
    assert told["callgate_record_journal_bytes"] == "0"
    assert told["callgate_record_flush_lag_seconds"] == "0.000"
    assert told["callgate_record_store_away"] == "0"


async def test_metrics_count_outcomes_and_bound_what_a_client_can_make_up(stage: Stage) -> None:
    stage.emit(settled(stage.session))
    stage.emit(settled(stage.session, outcome=Outcome.FAILED, error="no"))
    made_up = settled(stage.session).exchange
    made_up.arrival = msgspec.structs.replace(made_up.arrival, method='x"} 1\nevil')
    stage.emit(ExchangeSettled(made_up))
    lines = (await stage.ask("/metrics")).body.decode().splitlines()
    assert 'callgate_exchanges_total{server="demo",method="tools/call",outcome="answered"} 1' in lines
    assert 'callgate_exchanges_total{server="demo",method="tools/call",outcome="failed"} 1' in lines
    assert 'callgate_exchange_duration_seconds_bucket{server="demo",method="tools/call",le="+Inf"} 2' in lines
    assert 'callgate_exchanges_total{server="demo",method="other",outcome="answered"} 1' in lines
    assert 'callgate_upstream_state{server="demo",kind="sql",state="up"} 1' in lines
    assert "callgate_record_gap_events 0" in lines


async def test_an_endless_answer_is_not_begun_for_a_head_request(stage: Stage) -> None:
    for target in ("/api/v1/events", "/api/v1/export"):
        assert (await stage.ask(target, method="HEAD")).status == 405


@pytest.fixture
async def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Whole]:
    # On a busy machine the record can need longer than a reader of health would wait.
    monkeypatch.setattr("callgate.api.recent_past._PATIENCE_S", 60)
    async with whole_gateway(tmp_path) as whole:
        yield whole


async def test_a_server_tells_how_it_did_lately_and_what_may_be_done_with_it(whole: Whole) -> None:
    await whole.call("shop__query", query="SELECT count(*) FROM shop.orders")
    await whole.call("shop__query", query="DROP TABLE shop.orders")
    shop = await whole.get("/api/v1/servers/shop")
    assert (shop["state"], shop["kind"], shop["engine"], shop["mode"]) == ("up", "sql", "sqlite", "read_only")
    assert (shop["recent"]["calls"], shop["recent"]["errors"]) == (2, 1)
    assert shop["recent"]["p95_ms"] >= shop["recent"]["p50_ms"] > 0
    assert shop["since"] is not None
    assert (shop["last_failure"], shop["seen_to_write"]) == (None, [])
    query = next(tool for tool in shop["tools"] if tool["name"] == "shop__query")
    assert query["annotations"]["readOnlyHint"] is True
    assert query["input_schema"]["properties"].keys() >= {"query"}
    assert query["tokens"] > 0


async def test_what_is_down_says_since_when_and_why(whole: Whole) -> None:
    gone = await whole.get("/api/v1/servers/gone")
    assert (gone["state"], gone["mode"], gone["code"]) == ("down", "write", "source.unavailable")
    assert gone["last_failure"]["message"] == gone["detail"]
    assert gone["recent"] == {"calls": 0, "errors": 0, "refused": 0, "p50_ms": None, "p95_ms": None}
    (whole.folder / "gone.db").touch()
    back = await whole.get("/api/v1/servers/gone")
    assert (back["state"], back["last_failure"]) == ("up", gone["last_failure"])
    assert back["since"] > gone["since"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("nobody", "caller.unknown_server"),
        ("sh%00op", "caller.unknown_server"),
        ("%F0%9F%A6%86", "caller.unknown_server"),
        ("%ED%A0%80", "caller.unknown_server"),
        ("x" * 5000, "caller.unknown_server"),
        ("shop%2F..%2Fgone", "caller.not_found"),
    ],
)
async def test_a_server_that_is_not_there_is_not_found(whole: Whole, name: str, code: str) -> None:
    answered = await whole.ask(f"/api/v1/servers/{name}")
    assert (answered.status, answered.json["code"]) == (404, code)
    assert len(answered.body) < 1000


async def test_a_tool_declared_read_only_that_wrote_carries_a_warning(stage: Stage) -> None:
    stage.server.offers[:] = [offer("query", annotations={"readOnlyHint": True}), offer("other")]
    event = settled(stage.session, time.time())
    event.exchange.annotations = b'{"readOnlyHint":true}'
    event.exchange.hops[0].facts = StatementFacts("demo", "INSERT INTO t", "INSERT", "write", "allow")
    stage.emit(event)
    query, other = (await stage.get("/api/v1/tools"))["tools"]
    seen = query["seen_to_write"]
    assert (seen["calls"], seen["last_call_id"]) == (1, event.exchange.exchange_id)
    assert (seen["evidence"], other["seen_to_write"]) == ("statement", None)
    assert (await stage.get("/api/v1/servers/demo"))["seen_to_write"] == ["demo__query"]
    (call,) = (await stage.get("/api/v1/tool-calls"))["tool_calls"]
    assert call["seen_to_write"] == "statement"


async def test_hints_of_the_wrong_type_were_not_declared(stage: Stage) -> None:
    stage.server.offers[:] = [offer("a", annotations={"readOnlyHint": "yes", "title": 3, "x": {}})]
    (tool,) = (await stage.get("/api/v1/tools"))["tools"]
    assert (tool["annotations"], tool["title"]) == ({}, None)
