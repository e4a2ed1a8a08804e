"""Sessions, tool calls and exchanges: what is in the record is found, page by page."""

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
import pytest_asyncio
from api.conftest import Stage
from recorder.happenings import NOW_S, Record, a_session, opened, settled

from callgate.model.events import ExchangeSettled, SessionClosed
from callgate.model.exchange import Outcome

PLACE = "01890000-0000-7000-8000-000000000003"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three_calls(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Of two sessions; for tests that only read."""
    record = Record(tmp_path_factory.mktemp("calls"))
    stage, other = Stage(record), a_session("s-2")
    stage.emit(opened(other))
    stage.emit(settled(stage.session, NOW_S, sql="a"))
    stage.emit(settled(stage.session, NOW_S + 1, sql="b", outcome=Outcome.REFUSED, error="the second"))
    stage.emit(settled(other, NOW_S + 2, sql="c"))
    yield stage
    await record.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two_sessions(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One of them ended; for tests that only read."""
    record = Record(tmp_path_factory.mktemp("sessions"))
    stage, other = Stage(record), a_session("s-2")
    stage.emit(opened(other))
    other.ended_at = NOW_S
    stage.emit(SessionClosed(other))
    yield stage
    await record.close()


async def test_a_tool_call_carries_its_arguments_and_its_annotations(stage: Stage) -> None:
    event = settled(stage.session, params=b'{"name":"demo__query","arguments":{"query":"SELECT 1"}}')
    event.exchange.annotations = b'{"readOnlyHint":true}'
    stage.emit(event)
    (call,) = (await stage.get("/api/v1/tool-calls"))["tool_calls"]
    assert json.loads(call["arguments"]) == {"query": "SELECT 1"}
    assert call["annotations"] == {"readOnlyHint": True}
    assert (call["tool"], call["server"], call["outcome"]) == ("demo__query", "demo", "answered")


async def test_one_call_shows_both_payloads_its_hops_its_sql_and_the_verdict(stage: Stage) -> None:
    event = settled(stage.session, sql="SELECT 2")
    stage.emit(event)
    call = await stage.get(f"/api/v1/tool-calls/{event.exchange.exchange_id}")
    assert json.loads(call["request_json"]) == {"name": "demo__query"}
    assert json.loads(call["response_json"]) == {"content": []}
    assert (call["sql"], call["verdict"], call["replay"]["possible"]) == ("SELECT 2", "allow", True)
    assert [hop["server"] for hop in call["hops"]] == ["demo"]
    assert (call["hops"][0]["started_ms"], round(call["hops"][0]["duration_ms"], 3)) == (0, 2)
    assert json.loads(call["hops"][0]["response_json"]) == {"content": []}


async def test_one_call_shows_what_its_server_said_meanwhile(stage: Stage) -> None:
    call, other = settled(stage.session, rpc_id=b"7"), settled(stage.session, rpc_id=b"8")
    call.exchange.settled_mono = call.exchange.opened_mono + 2
    said = settled(stage.session, NOW_S + 0.5, rpc_id=b"7").exchange
    said.arrival = msgspec.structs.replace(said.arrival, method="notifications/progress")
    said.sender = "server"
    for event in (call, other, ExchangeSettled(said)):
        stage.emit(event)
    shown = await stage.get(f"/api/v1/tool-calls/{call.exchange.exchange_id}")
    assert [(one["method"], one["started_ms"]) for one in shown["said"]] == [("notifications/progress", 500)]
    assert (await stage.get(f"/api/v1/tool-calls/{other.exchange.exchange_id}"))["said"] == []


async def test_what_was_said_and_answered_meanwhile_is_told_in_its_own_words_as_far_as_a_list_goes(
    stage: Stage,
) -> None:
    call = settled(stage.session, NOW_S, rpc_id=b"7")  # which takes 4.5 ms
    stage.emit(call)
    for number, words in enumerate((b"short", b"x" * 5000)):
        asked = settled(
            stage.session,
            NOW_S + 0.001 * (number + 1),
            rpc_id=b"7",
            params=b'{"message":"%b","token":"hunter2-and-more"}' % words,
            reply=b'{"action":"accept"}',
        ).exchange
        asked.arrival = msgspec.structs.replace(asked.arrival, method="elicitation/create")
        asked.sender = "server"
        stage.emit(ExchangeSettled(asked))
    short, long = (await stage.get(f"/api/v1/tool-calls/{call.exchange.exchange_id}"))["said"]
    assert (short["params"], short["answer"]) == (
        '{"message":"short","token":"***"}',
        '{"action":"accept"}',
    )
    assert len(long["params"]) == 2048


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("outcome=refused", ["b"]),
        ("q=SECOND", ["b"]),
        ("q=nowhere", []),
        ("server=demo&tool=demo__query", ["c", "b", "a"]),
        ("server=other", []),
        ("session_id=s-2", ["c"]),
        ("method=tools/list", []),
        ("since=2026-05-28T20:26:41Z", ["c", "b"]),
        ("until=2026-05-28T22:26:41%2B02:00", ["a"]),
        ("outcome=refused&outcome=answered&order=oldest", ["a", "b", "c"]),
        ("outcome=open", []),
        ("not_outcome=open&limit=3", ["c", "b", "a"]),
        ("not_outcome=refused", ["c", "a"]),
        ("not_session_id=s-1&not_session_id=s-3", ["c"]),
        ("not_tool=demo__query", []),
        ("not_server=other", ["c", "b", "a"]),
        ("not_method=tools/call", []),
        ("method=tools/list&method=tools/call", ["c", "b", "a"]),
        ("error_code=", ["c", "b", "a"]),
        ("not_error_code=", []),
        ("client=probe/1&not_client=somebody", ["c", "b", "a"]),
        ("tool=%00&tool=%27%3B--&tool=%F0%9F%A6%86", []),
        ("not_tool=%00&not_tool=a%2Fb", ["c", "b", "a"]),
        ("order=most_rows", ["c", "b", "a"]),
        ("min_duration_ms=4.4&max_duration_ms=4.6", ["c", "b", "a"]),
        ("min_duration_ms=5", []),
        ("max_rows=0", []),
        ("min_tokens=1&order=oldest", ["a", "b", "c"]),
        ("id=0000", []),
    ],
)
async def test_filters_narrow_the_list_down(three_calls: Stage, query: str, found: list[str]) -> None:
    page = await three_calls.get(f"/api/v1/tool-calls?{query}")
    assert [call["sql"] for call in page["tool_calls"]] == found
    assert page["total"] == len(found)


@pytest.mark.asyncio(loop_scope="module")
async def test_facets_count_what_the_list_would_have(three_calls: Stage) -> None:
    facets = await three_calls.get("/api/v1/facets?method=tools/call&outcome=refused")
    for name in ("server", "tool", "client", "outcome", "error_code"):
        for facet in facets[name]:
            kept = "" if name == "outcome" else "&outcome=refused"
            listed = await three_calls.get(f"/api/v1/tool-calls?{name}={quote(facet['value'])}{kept}")
            assert (name, facet["value"], facet["calls"]) == (name, facet["value"], listed["total"])
    assert {facet["value"]: facet["calls"] for facet in facets["outcome"]} == {"answered": 2, "refused": 1}
    assert facets["duration_ms"][0] == {"least": 10, "calls": 0}


@pytest.mark.parametrize("kind", ["tool-calls", "exchanges", "sessions"])
async def test_pages_follow_one_another_while_newer_rows_come_in(stage: Stage, kind: str) -> None:
    member = kind.replace("-", "_")

    def add(number: int) -> None:
        session = a_session(f"n-{number}")
        session.created_at = session.last_seen_at = NOW_S + number
        stage.emit(opened(session))
        stage.emit(settled(session, NOW_S + number))

    for number in range(1, 6):
        add(number)
    seen: list[str] = []
    cursor, asked = "", 0
    while asked < 10:
        page: Any = await stage.get(f"/api/v1/{kind}?limit=2{cursor}")
        seen += [row["session_id"] for row in page[member]]
        if page["next_cursor"] is None:
            break
        cursor, asked = f"&cursor={page['next_cursor']}", asked + 1
        add(100 + asked)
    mine = [session_id for session_id in seen if session_id != "s-1"]
    assert mine == ["n-5", "n-4", "n-3", "n-2", "n-1"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["s-2", "s-1"]),
        ("status=open", ["s-1"]),
        ("status=closed", ["s-2"]),
        ("client=probe&era=modern", ["s-2", "s-1"]),
        ("client=other", []),
        ("q=S-2", ["s-2"]),
        ("q=%00", []),
        ("since=2026-05-28T20:26:41Z", []),
        ("until=2026-05-28T20:26:41Z", ["s-2", "s-1"]),
    ],
)
async def test_sessions_are_narrowed_down_too(two_sessions: Stage, query: str, found: list[str]) -> None:
    page = await two_sessions.get(f"/api/v1/sessions?{query}")
    assert [session["session_id"] for session in page["sessions"]] == found
    assert page["total"] == len(found)


async def test_a_session_tells_its_sums_and_its_calls(stage: Stage) -> None:
    stage.emit(settled(stage.session, NOW_S))
    stage.emit(settled(stage.session, NOW_S + 1, outcome=Outcome.FAILED, error="no"))
    session = await stage.get("/api/v1/sessions/s-1")
    assert (session["tool_call_count"], session["error_count"], session["status"]) == (2, 1, "open")
    assert session["total_tokens"] > 0
    calls = await stage.get("/api/v1/sessions/s-1/tool-calls?limit=1")
    assert (len(calls["tool_calls"]), calls["total"], calls["next_cursor"] is None) == (1, 2, False)


@pytest.mark.parametrize(
    "since", ["0001-01-01T00:00:00%2B14:00", "2026-05-28T20:26:40Z", "2026-01-01T00:00:00"]
)
async def test_any_moment_of_rfc_3339_is_one_also_at_the_edge_of_time(stage: Stage, since: str) -> None:
    stage.emit(settled(stage.session))
    assert (await stage.get(f"/api/v1/tool-calls?since={since}"))["total"] == 1


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        ("/api/v1/sessions/nobody", 404, "caller.unknown_session"),
        ("/api/v1/sessions/nobody/tool-calls", 404, "caller.unknown_session"),
        ("/api/v1/tool-calls/nothing", 404, "caller.not_found"),
        ("/api/v1/tool-calls?limit=0", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?limit=1001", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?limit=1&limit=2", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?cursor=bogus", 400, "caller.bad_params"),
        ("/api/v1/sessions?cursor=bogus", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?since=0.5", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?until=2026-13-01T00:00:00Z", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?outcom=failed", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?outcome=bad", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?not_outcome=", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?order=longest", 400, "caller.bad_params"),
        (f"/api/v1/tool-calls?order=slowest&cursor=1.{PLACE}", 400, "caller.bad_params"),
        (f"/api/v1/tool-calls?order=slowest&cursor=t1.0~1.{PLACE}", 400, "caller.bad_params"),
        (f"/api/v1/tool-calls?cursor=d1.0~1.{PLACE}", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?min_tokens=-1", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?min_duration_ms=nan", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?id=----", 400, "caller.bad_params"),
        ("/api/v1/facets?order=slowest", 400, "caller.bad_params"),
        ("/api/v1/tool-calls?" + "&".join(["server=x"] * 21), 400, "caller.bad_params"),
        ("/api/v1/tool-calls?server=" + "x" * 501, 400, "caller.bad_params"),
        ("/api/v1/sessions?status=ended", 400, "caller.bad_params"),
        ("/api/v1/nowhere", 404, "caller.not_found"),
    ],
)
async def test_what_is_wrong_is_a_problem_with_a_code_of_ours(
    two_sessions: Stage, target: str, status: int, code: str
) -> None:
    answered = await two_sessions.ask(target)
    assert (answered.status, answered.json["code"]) == (status, code)
    assert answered.headers["content-type"] == "application/problem+json"


async def test_a_misspelt_filter_is_met_with_the_right_spelling(stage: Stage) -> None:
    assert "outcome" in (await stage.ask("/api/v1/tool-calls?outcom=failed")).json["hint"]
