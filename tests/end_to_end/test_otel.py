"""Traces and metrics as a collector gets them, from real gateways with real servers behind them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import run_callgate, running_gateway
from end_to_end.raw_clients import ModernClient
from end_to_end.record.test_record import rows
from end_to_end.upstream_stage import Actor, staged, text_of
from mcp import Client
from otel.collector import Collector, collector

FINE = {"answer": "fine"}
FAILED = {"say": '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[],"isError":true}}'}
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
BUCKETS_S = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]


@pytest.fixture
def taken() -> Iterator[Collector]:
    with collector() as made:
        yield made


def otel(url: str, more: str = "") -> str:
    return f'[otel]\nenabled = true\nendpoint = "{url}"\n{more}\n'


def meta_heard(actor: Actor) -> dict[str, Any]:
    (heard,) = actor.heard("tools/call")
    return heard["params"].get("_meta", {})


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_server_is_told_our_span_which_is_a_child_of_the_client_s(
    tmp_path: Path, taken: Collector, era: str
) -> None:
    actor = Actor("one", tmp_path, ["--era", era])
    async with staged(actor, extra=otel(taken.url)) as stage:
        meta = {"traceparent": TRACEPARENT, "tracestate": "rojo=1", "baggage": "user=alice", "own": 7}
        async with stage.modern() as client:
            called = {"name": "one__play", "arguments": {"steps": [FINE]}, "_meta": meta}
            assert text_of(await client.request("tools/call", called)) == "fine"
        await stage.stop()
    (server,), (upstream,) = taken.of_kind("server"), taken.of_kind("client")
    assert (server.trace_id, server.parent_id, server.state) == (TRACE, PARENT, "rojo=1")
    assert (upstream.trace_id, upstream.parent_id) == (TRACE, server.span_id)
    heard = meta_heard(actor)
    assert heard["traceparent"] == f"00-{TRACE}-{upstream.span_id}-01"
    assert (heard["tracestate"], heard["baggage"], heard["own"]) == ("rojo=1", "user=alice", 7)
    assert server.began_ns <= upstream.began_ns <= upstream.ended_ns <= server.ended_ns


async def test_without_otel_what_a_client_sent_passes_untouched_and_its_trace_is_in_the_record(
    tmp_path: Path,
) -> None:
    actor = Actor("one", tmp_path, ["--era", "modern"])
    meta = {"traceparent": TRACEPARENT, "tracestate": "rojo=1"}
    called = {"name": "one__play", "arguments": {"steps": [FINE]}, "_meta": meta}
    async with staged(actor) as stage, stage.modern() as client:
        await client.request("tools/call", called)
        await stage.stop()
        found = rows(stage.folder, "SELECT trace_id FROM rpc_events WHERE method = 'tools/call'")
    assert found == [(TRACE,)]
    assert meta.items() <= meta_heard(actor).items()


async def test_the_trace_of_an_http_header_is_gone_on_with_in_meta(tmp_path: Path, taken: Collector) -> None:
    class Traced(ModernClient):
        async def http(self, method: str, headers: dict[str, str], body: bytes = b"") -> Any:
            traced = {"traceparent": TRACEPARENT, "tracestate": "rojo=1", "baggage": "user=alice"}
            return await super().http(method, headers | traced, body)

    actor = Actor("one", tmp_path, ["--era", "modern"])
    async with staged(actor, extra=otel(taken.url)) as stage:
        await Traced(stage.port, "/mcp").play("one__play", FINE)
        await stage.stop()
        found = rows(stage.folder, "SELECT trace_id FROM rpc_events WHERE method = 'tools/call'")
    (server,) = taken.of_kind("server")
    assert (server.trace_id, server.parent_id, server.state) == (TRACE, PARENT, "rojo=1")
    heard = meta_heard(actor)
    assert heard["traceparent"].startswith(f"00-{TRACE}-")
    assert (heard["tracestate"], heard["baggage"]) == ("rojo=1", "user=alice")
    assert found == [(TRACE,)]


async def test_spans_and_metrics_follow_the_conventions(tmp_path: Path, taken: Collector) -> None:
    actor = Actor("one", tmp_path)
    async with staged(actor, extra=otel(taken.url, 'service_name = "gate"')) as stage:
        async with stage.client() as client:
            await client.play("one__play", FINE, rpc_id=b'"call-7"')
            await client.play("one__play", FAILED)
            await client.call("one__nothing")
        await stage.stop()
        ((session, exchange),) = rows(
            stage.folder,
            "SELECT session_id, id::VARCHAR FROM rpc_events WHERE method = 'tools/call' ORDER BY ts LIMIT 1",
        )
    assert taken.resource["service.name"] == "gate"
    fine, failed, unknown = taken.of_kind("server")
    assert fine.name == "tools/call one__play"
    assert fine.attributes == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2025-11-25",
        "mcp.session.id": session,
        "jsonrpc.request.id": "call-7",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "one__play",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "callgate.exchange.id": exchange,
        "callgate.outcome": "answered",
        "callgate.server": "one",
    }
    assert not fine.is_error
    assert (failed.is_error, failed.attributes["error.type"]) == (True, "tool_error")
    assert "rpc.response.status_code" not in failed.attributes
    assert (unknown.is_error, unknown.name, unknown.attributes["error.type"]) == (
        True,
        "tools/call",
        "-32602",
    )
    assert unknown.attributes["rpc.response.status_code"] == "-32602"
    assert unknown.attributes["callgate.error.code"] == "caller.unknown_tool"
    assert unknown.message.startswith("Unknown tool")
    leg = taken.of_kind("client")[0]
    assert leg.name == "tools/call play"
    assert leg.attributes["network.transport"] == "pipe"
    assert leg.attributes["jsonrpc.request.id"].isdigit()
    of_server, of_client = (taken.metrics[f"mcp.{side}.operation.duration"] for side in ("server", "client"))
    calls = [one for one in of_server if one["mcp.method.name"] == "tools/call"]
    assert {one.get("error.type"): one["count"] for one in calls} == {None: 1, "tool_error": 1, "-32602": 1}
    assert (calls[0]["bounds"], calls[0]["unit"]) == (BUCKETS_S, "s")
    assert sum(one["count"] for one in of_client if one["mcp.method.name"] == "tools/call") == 2


async def test_a_statement_is_a_span_of_its_database_and_its_text_is_told_only_if_asked_for(
    tmp_path: Path, taken: Collector
) -> None:
    sql = "SELECT count(*) AS how_many_orders FROM shop.orders"
    for tells in (False, True):
        async with staged(extra=otel(taken.url, f"sql_text = {str(tells).lower()}")) as stage:
            async with stage.client() as client:
                await client.call("demo__query", {"query": sql})
                await client.call("demo__query", {"query": "DELETE FROM shop.orders"})
                await client.call("demo__query", {"query": f"SELECT '{SECRET}'"})
            await stage.stop()
        read, refused, _ = (span for span in taken.spans if "db.system.name" in span.attributes)
        assert not any(SECRET.encode() in body for body in taken.bodies)
        assert (read.name, read.kind) == ("SELECT demo", "client")
        assert read.attributes["db.system.name"] == "sqlite"
        assert (read.attributes["db.operation.name"], read.attributes["callgate.verdict"]) == (
            "SELECT",
            "allow",
        )
        assert read.attributes.get("db.query.text") == (sql if tells else None)
        assert any(b"how_many_orders" in body for body in taken.bodies) is tells
        assert (refused.attributes["callgate.verdict"], refused.attributes["callgate.rule"]) == (
            "deny",
            "read_only",
        )
        assert (refused.is_error, refused.attributes["error.type"]) == (True, "tool_error")
        taken.spans.clear()
        taken.bodies.clear()


async def test_no_secret_and_no_payload_reaches_the_collector(tmp_path: Path, taken: Collector) -> None:
    actor = Actor("one", tmp_path)
    more = 'sql_text = true\n[otel.headers]\nx-key = "for the collector"'
    async with staged(actor, extra=otel(taken.url, more)) as stage, stage.client() as client:
        await client.play("one__play", {"answer": f"a payload {SECRET}"})
        await client.call(f"one__{SECRET}", {"password": SECRET})
        await client.request("prompts/get", {"name": SECRET})
        await client.request("resources/read", {"uri": f"https://x/?token={SECRET}"})
        await client.request(f"made/{SECRET}", {"token": SECRET}, rpc_id=json.dumps(SECRET).encode())
        await client.call("demo__query", {"query": f"SELECT '{SECRET}'"})
        await stage.stop()
        log = stage.stderr.read_text()
    sent = b"".join(taken.bodies)
    assert len(taken.spans) > 5
    assert SECRET.encode() not in sent
    assert b"a payload" not in sent
    assert SECRET not in log
    assert {one["x-key"] for one in taken.headers} == {"for the collector"}


@pytest.mark.parametrize(("flags", "kept"), [("01", True), ("00", False)])
async def test_a_caller_s_own_decision_to_sample_is_followed(
    tmp_path: Path, taken: Collector, flags: str, kept: bool
) -> None:
    actor = Actor("one", tmp_path)
    ratio = "sample_ratio = 0.0" if kept else "sample_ratio = 1.0"
    async with staged(actor, extra=otel(taken.url, ratio)) as stage, stage.client() as client:
        meta = {"traceparent": f"00-{TRACE}-{PARENT}-{flags}"}
        await client.request(
            "tools/call", {"name": "one__play", "arguments": {"steps": [FINE]}, "_meta": meta}
        )
        await stage.stop()
    assert {span.trace_id for span in taken.spans if "tools/call" in span.name} == (
        {TRACE} if kept else set()
    )
    assert meta_heard(actor)["traceparent"].endswith(f"-{flags}")
    assert [span for span in taken.spans if span.trace_id != TRACE and kept] == []


async def test_a_collector_that_is_down_changes_nothing_for_callers_and_the_gateway_ends(
    tmp_path: Path,
) -> None:
    actor = Actor("one", tmp_path)
    async with staged(actor, extra=otel("http://127.0.0.1:9"), may_complain=True) as stage:
        async with stage.client() as client:
            for _ in range(50):
                assert text_of(await client.play("one__play", FINE)) == "fine"
        await stage.stop()
        assert stage.process.returncode is not None
        found = rows(stage.folder, "SELECT count(*) FROM rpc_events WHERE method = 'tools/call'")
    assert found == [(50,)]


async def test_the_sdk_s_own_variables_count_where_the_file_says_nothing(
    tmp_path: Path, taken: Collector
) -> None:
    async with (
        running_gateway(
            tmp_path,
            CALLGATE_OTEL_ENABLED="true",
            OTEL_EXPORTER_OTLP_ENDPOINT=taken.url,
            OTEL_EXPORTER_OTLP_HEADERS="x-key=from-env",
            OTEL_SERVICE_NAME="from-env",
            OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test",
            OTEL_TRACES_SAMPLER="always_on",
        ) as gateway,
        Client(gateway.mcp_url) as client,
    ):
        result = await client.call_tool(
            "demo__query", {"query": "SELECT 1"}, meta={"traceparent": TRACEPARENT}
        )
        assert not result.is_error
    assert (taken.resource["service.name"], taken.resource["deployment.environment.name"]) == (
        "from-env",
        "test",
    )
    assert {one["x-key"] for one in taken.headers} == {"from-env"}
    assert taken.named("tools/call demo__query").parent_id == PARENT
    assert set(taken.metrics) == {"mcp.server.operation.duration"}


async def test_the_sdk_can_be_switched_off(tmp_path: Path, taken: Collector) -> None:
    async with (
        running_gateway(
            tmp_path,
            CALLGATE_OTEL_ENABLED="true",
            CALLGATE_OTEL_ENDPOINT=taken.url,
            OTEL_SDK_DISABLED="true",
        ) as gateway,
        Client(gateway.mcp_url) as client,
    ):
        await client.list_tools()
    assert taken.bodies == []


async def test_without_the_extra_the_configuration_says_what_to_install(tmp_path: Path) -> None:
    """A folder on the path that hides the SDK stands for its absence."""
    hidden = tmp_path / "hidden" / "opentelemetry"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("")
    (tmp_path / "callgate.toml").write_text("version = 1\n[otel]\nenabled = true\n")
    for command in (["config", "check"], ["serve", "--port", "0"]):
        found = await run_callgate(tmp_path, *command, cwd=tmp_path, PYTHONPATH=str(hidden.parent))
        assert found.exit_code == 3
        assert "pip install '.[otel]'" in found.stdout + found.stderr


async def test_a_call_that_waits_for_its_client_goes_on_in_the_trace_of_the_retry(
    tmp_path: Path, taken: Collector
) -> None:
    """A modern client and a handshake server that asks: two requests, one call at the server."""
    actor = Actor("one", tmp_path)
    ask = {"ask": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}}
    capable = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    called: dict[str, Any] = {"name": "one__play", "arguments": {"steps": [ask, FINE]}}
    async with staged(actor, extra=otel(taken.url)) as stage, stage.modern() as client:
        first = f"00-{TRACE}-{PARENT}-01"
        parked = (await client.request("tools/call", called | {"_meta": capable | {"traceparent": first}}))[
            "result"
        ]
        answers = {key: {"action": "accept", "content": {}} for key in parked["inputRequests"]}
        again = {"traceparent": f"00-{TRACE}-{PARENT[::-1]}-01"}
        retry = {"inputResponses": answers, "requestState": parked["requestState"], "_meta": capable | again}
        assert text_of(await client.request("tools/call", called | retry)) == "fine"
        await stage.stop()
    assert [span.parent_id for span in taken.of_kind("server")] == [PARENT, PARENT[::-1]]
    assert len(actor.heard("tools/call")) == 1
    (question,) = taken.of_kind("client", "elicitation/create")
    assert question.trace_id == TRACE
