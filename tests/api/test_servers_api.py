"""Servers, tools and metrics: what stands behind us now."""

import msgspec
from api.conftest import Stage
from api.parts import offer
from recorder.happenings import settled

from callgate.model.events import ExchangeSettled
from callgate.model.exchange import Outcome


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


async def test_tools_are_found_by_words_and_by_server(stage: Stage) -> None:
    stage.server.offers[:] = [offer("read_file", "files"), offer("query")]
    assert [tool["name"] for tool in (await stage.get("/api/v1/tools?q=read"))["tools"]] == [
        "files__read_file"
    ]
    assert [tool["name"] for tool in (await stage.get("/api/v1/tools?server=demo"))["tools"]] == [
        "demo__query"
    ]


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
