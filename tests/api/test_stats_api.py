"""Sums of a stretch, for charts: each mark of which can be clicked on."""

import pytest
from api.conftest import Stage
from recorder.happenings import NOW_S, a_session, opened, settled

from callgate.model.exchange import Outcome

HOUR = "since=2026-05-28T20:00:00Z&until=2026-05-28T21:00:00Z"


async def test_stats_count_calls_errors_and_latency_of_a_stretch(stage: Stage) -> None:
    stage.emit(settled(stage.session, NOW_S))
    stage.emit(settled(stage.session, NOW_S + 1, outcome=Outcome.FAILED, error="no"))
    stage.emit(settled(stage.session, NOW_S + 7200))
    stats = await stage.get(f"/api/v1/stats?{HOUR}")
    totals = stats["totals"]
    assert (totals["calls"], totals["errors"], totals["sessions"]) == (2, 1, 1)
    assert (totals["p50_ms"], totals["p95_ms"], totals["p99_ms"]) == (4.5, 4.5, 4.5)
    assert [(row["server"], row["tool"], row["calls"]) for row in stats["by_tool"]] == [
        ("demo", "demo__query", 2)
    ]
    assert [row["server"] for row in stats["by_server"]] == ["demo"]
    assert [row["method"] for row in stats["by_method"]] == ["tools/call"]
    assert [row["client"] for row in stats["by_client"]] == ["probe/1"]
    assert [(row["outcome"], row["error_code"], row["calls"]) for row in stats["by_error"]] == [
        ("failed", None, 1)
    ]
    assert (await stage.get("/api/v1/stats"))["totals"]["calls"] == 0


async def test_what_was_refused_is_counted_apart_too(stage: Stage) -> None:
    stage.emit(settled(stage.session, NOW_S, outcome=Outcome.REFUSED))
    stage.emit(settled(stage.session, NOW_S, outcome=Outcome.TOOL_ERROR))
    stats = await stage.get(f"/api/v1/stats?{HOUR}")
    for sums in (
        stats["totals"],
        stats["by_server"][0],
        next(one for one in stats["buckets"] if one["calls"]),
    ):
        assert (sums["calls"], sums["errors"], sums["refused"]) == (2, 2, 1)


async def test_buckets_say_how_long_they_last_and_leave_none_out(stage: Stage) -> None:
    stage.emit(settled(stage.session, NOW_S))
    stats = await stage.get(f"/api/v1/stats?{HOUR}")
    assert (stats["bucket_s"], len(stats["buckets"])) == (30, 120)
    assert stats["buckets"][0]["start"] == "2026-05-28T20:00:00Z"
    assert [row["start"] for row in stats["buckets"] if row["calls"]] == ["2026-05-28T20:26:30Z"]


async def test_whoever_asks_chooses_the_width_of_buckets_within_reason(stage: Stage) -> None:
    stage.emit(settled(stage.session, NOW_S))
    stats = await stage.get(f"/api/v1/stats?{HOUR}&bucket_s=6")
    assert (stats["bucket_s"], len(stats["buckets"])) == (6, 600)
    assert sum(row["calls"] for row in stats["buckets"]) == 1
    for width in ("5", "0", "x"):
        assert (await stage.ask(f"/api/v1/stats?{HOUR}&bucket_s={width}")).status == 400


async def test_stats_of_an_empty_stretch_are_zero_and_not_an_error(stage: Stage) -> None:
    for stretch in (
        "since=2026-05-28T20:00:00Z&until=2026-05-28T20:00:00Z",
        "since=2026-05-28T20:00:00Z&until=2020-05-28T20:00:00Z",
        "since=0001-01-01T00:00:00Z&until=0001-01-01T00:00:01Z",
        "since=9999-12-31T23:59:58Z&until=9999-12-31T23:59:59Z",
    ):
        stats = await stage.get(f"/api/v1/stats?{stretch}")
        assert (stats["totals"]["calls"], stats["totals"]["p50_ms"]) == (0, None)
        assert stats["by_tool"] == []


@pytest.mark.parametrize(
    ("query", "calls"),
    [
        ("", 3),
        ("session_id=s-2", 1),
        ("not_session_id=s-2", 2),
        ("outcome=refused&outcome=failed", 1),
        ("not_outcome=refused", 2),
        ("server=demo&tool=demo__query&method=tools/call&client=probe/1", 3),
        ("not_client=probe/1", 0),
        ("q=the%20second", 1),
    ],
)
async def test_stats_take_the_filters_of_the_lists(stage: Stage, query: str, calls: int) -> None:
    other = a_session("s-2")
    stage.emit(opened(other))
    stage.emit(settled(stage.session, NOW_S))
    stage.emit(settled(stage.session, NOW_S + 1, outcome=Outcome.REFUSED, error="the second"))
    stage.emit(settled(other, NOW_S + 2))
    stats = await stage.get(f"/api/v1/stats?{HOUR}&{query}")
    assert stats["totals"]["calls"] == calls
    assert sum(row["calls"] for row in stats["buckets"]) == calls
