"""A session's time line: short marks, for a lane of each server."""

from api.conftest import Stage
from recorder.happenings import NOW_S, settled

from callgate.model.exchange import Outcome


async def test_a_session_is_told_in_short_oldest_first(stage: Stage) -> None:
    stage.emit(settled(stage.session, NOW_S + 1.5))
    stage.emit(settled(stage.session, NOW_S + 3, outcome=Outcome.FAILED, error="no"))
    line = await stage.get("/api/v1/sessions/s-1/timeline")
    assert [(event["started_ms"], event["duration_ms"], event["outcome"]) for event in line["events"]] == [
        (1500, 4.5, "answered"),
        (3000, 4.5, "failed"),
    ]
    first = line["events"][0]
    assert (first["server"], first["tool"], first["method"]) == ("demo", "demo__query", "tools/call")
    session = line["session"]
    assert (session["era"], session["client_protocol"], session["principal"], session["workspace"]) == (
        "modern", "2026-07-28", "local", None,
    )  # fmt: skip


async def test_of_a_long_session_the_newest_are_told(stage: Stage) -> None:
    for number in range(5):
        stage.emit(settled(stage.session, NOW_S + number))
    line = await stage.get("/api/v1/sessions/s-1/timeline?limit=2")
    assert ([event["started_ms"] for event in line["events"]], line["total"]) == ([3000, 4000], 5)


async def test_a_session_that_is_not_there_has_no_time_line(stage: Stage) -> None:
    for name in ("nobody", "%00", "%F0%9F%A6%86"):
        answered = await stage.ask(f"/api/v1/sessions/{name}/timeline")
        assert (answered.status, answered.json["code"]) == (404, "caller.unknown_session")
    assert (await stage.ask("/api/v1/sessions/s-1/timeline?limit=10001")).status == 400
