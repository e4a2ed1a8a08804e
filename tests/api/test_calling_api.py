"""Trying a tool, and making a recorded call again."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from api.conftest import Stage
from api.parts import offer
from end_to_end.gateway_process import running_gateway
from recorder.happenings import settled

import callgate

PARAMS = b'{"name":"demo__query","arguments":{"query":"SELECT 1"}}'


async def test_a_tool_is_called_in_the_name_of_who_asked(stage: Stage) -> None:
    answered = await stage.ask(
        "/api/v1/call", {"tool": "demo__query", "arguments": {"query": "SELECT 1"}}, user_agent="page"
    )
    (call,) = stage.caller.called
    assert answered.json["result"] == {"content": []}
    assert (call.tool, call.arguments, call.principal.name, call.client) == (
        "demo__query", {"query": "SELECT 1"}, "local", "page",
    )  # fmt: skip


async def test_a_call_from_the_page_is_its_own_and_not_the_browsers(stage: Stage) -> None:
    await stage.ask(
        "/api/v1/call",
        {"tool": "demo__query"},
        user_agent="Mozilla/5.0 (X11)",
        x_callgate_client_id="callgate-page",
    )
    (call,) = stage.caller.called
    assert call.client == f"callgate-page/{callgate.__version__}"


async def test_a_recorded_call_is_made_again_as_it_was_or_edited(stage: Stage) -> None:
    event = settled(stage.session, params=PARAMS)
    stage.emit(event)
    target = f"/api/v1/tool-calls/{event.exchange.exchange_id}/replay"
    await stage.ask(target, {})
    await stage.ask(target, {"arguments": {"query": "SELECT 2"}})
    assert [(call.tool, call.arguments["query"], call.server) for call in stage.caller.called] == [
        ("demo__query", "SELECT 1", None),
        ("demo__query", "SELECT 2", None),
    ]


async def test_a_call_through_one_servers_own_endpoint_goes_there_again(stage: Stage) -> None:
    event = settled(stage.session, params=PARAMS)
    event.exchange.tool_name = "query"  # the server's own name, which is no public one
    stage.emit(event)
    await stage.ask(f"/api/v1/tool-calls/{event.exchange.exchange_id}/replay", {})
    assert [(call.tool, call.server) for call in stage.caller.called] == [("query", "demo")]


@pytest.mark.parametrize(
    "params",
    [
        b'{"name":"demo__query","arguments":{"password":"hunter2"}}',
        b'{"name":"demo__query","arguments":{"query":"%b"}}' % (b"x" * 300_000),
    ],
    ids=["redacted", "cut"],
)
async def test_what_is_not_all_in_the_record_can_only_be_edited(stage: Stage, params: bytes) -> None:
    event = settled(stage.session, params=params)
    stage.emit(event)
    target = f"/api/v1/tool-calls/{event.exchange.exchange_id}"
    replay = (await stage.get(target))["replay"]
    assert (replay["possible"], replay["tool"]) == (False, "demo__query")
    assert replay["reason"] == ("redacted" if b"password" in params else "cut")
    refused = await stage.ask(f"{target}/replay", {})
    assert (refused.status, refused.json["code"]) == (409, "caller.not_replayable")
    assert not stage.caller.called
    assert (await stage.ask(f"{target}/replay", {"arguments": {"query": "1"}})).status == 200


READ_ONLY, HARMLESS, SILENT = b'{"readOnlyHint":true}', b'{"destructiveHint":false}', None


@pytest.mark.parametrize(
    ("then", "now", "asks"),
    [
        (READ_ONLY, READ_ONLY, False),
        (HARMLESS, READ_ONLY, False),
        (SILENT, READ_ONLY, True),  # by the specification's defaults
        (READ_ONLY, SILENT, True),
        (READ_ONLY, b'{"readOnlyHint":false,"destructiveHint":true}', True),
    ],
)
async def test_what_may_destroy_something_is_not_repeated_without_asking(
    stage: Stage, then: bytes | None, now: bytes | None, asks: bool
) -> None:
    stage.server.offers[0] = replace(stage.server.offers[0], annotations=now)
    event = settled(stage.session, params=PARAMS)
    event.exchange.annotations = then
    stage.emit(event)
    replay = (await stage.get(f"/api/v1/tool-calls/{event.exchange.exchange_id}"))["replay"]
    assert replay == {
        "possible": True, "reason": None, "tool": "demo__query", "needs_confirmation": asks,
        "missing_capabilities": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "reason", "named"),
    [("query", None, "demo__query"), ("demo__gone", "not_offered", None), (None, "no_tool", None)],
)
async def test_a_call_names_the_tool_it_would_be_made_with_today(
    stage: Stage, tool: str | None, reason: str | None, named: str | None
) -> None:
    event = settled(stage.session, params=PARAMS)
    event.exchange.tool_name = tool
    stage.emit(event)
    replay = (await stage.get(f"/api/v1/exchanges/{event.exchange.exchange_id}"))["replay"]
    assert (replay["reason"], replay["tool"]) == (reason, named)


async def test_a_tool_that_only_other_clients_are_offered_says_what_they_declare(stage: Stage) -> None:
    event = settled(stage.session, params=PARAMS)
    event.exchange.tool_name = "demo__ask"
    stage.emit(event)
    replay = (await stage.get(f"/api/v1/exchanges/{event.exchange.exchange_id}"))["replay"]
    assert (replay["reason"], replay["missing_capabilities"]) == ("missing_capability", ["elicitation"])
    assert replay["tool"] is None


async def test_a_call_is_not_made_again_at_another_server_that_has_a_tool_of_that_name(stage: Stage) -> None:
    """One upstream may have public names without `__`, which others may have for tools of their own."""
    stage.server.offers.append(replace(offer("query", "mysql"), public_name="mysql_query"))
    event = settled(stage.session, params=PARAMS)
    event.exchange.tool_name, event.exchange.server_name = "mysql_query", "demo"
    stage.emit(event)
    target = f"/api/v1/exchanges/{event.exchange.exchange_id}"
    assert (await stage.get(target))["replay"]["reason"] == "not_offered"
    await stage.ask(f"/api/v1/tool-calls/{event.exchange.exchange_id}/replay", {})
    assert [(call.tool, call.server) for call in stage.caller.called] == [("mysql_query", "demo")]


async def test_a_tool_that_is_gone_is_asked_for_by_the_name_it_had(stage: Stage) -> None:
    event = settled(stage.session, params=PARAMS)
    event.exchange.tool_name = "demo__gone"
    stage.emit(event)
    await stage.ask(f"/api/v1/tool-calls/{event.exchange.exchange_id}/replay", {})
    assert [(call.tool, call.server) for call in stage.caller.called] == [("demo__gone", None)]


async def test_only_what_is_in_the_record_can_be_made_again(stage: Stage) -> None:
    assert (await stage.ask("/api/v1/tool-calls/nothing/replay", {})).status == 404


async def test_at_a_running_gateway_the_answer_names_its_place_in_the_record(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as gateway:
        body = {"tool": "demo__query", "arguments": {"query": "SELECT 11"}}
        called = await asyncio.to_thread(post_json, f"{gateway.announced['url']}/api/v1/call", body)
        recorded = await gateway.get(f"/api/v1/tool-calls/{called['id']}")
        unknown = await asyncio.to_thread(
            post_json, f"{gateway.announced['url']}/api/v1/call", {"tool": "demo__nothing"}
        )
    assert called["result"]["structuredContent"]["rows"] == [[11]]
    assert (recorded["sql"], recorded["outcome"], recorded["client"]) == ("SELECT 11", "answered", "probe")
    assert unknown["error"]["data"]["code"] == "caller.unknown_tool"


def post_json(url: str, body: object) -> Any:
    headers = {"content-type": "application/json", "user-agent": "probe"}
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=30) as answer:
        return json.load(answer)
