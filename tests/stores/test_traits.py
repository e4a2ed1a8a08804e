"""What engines do differently is declared by each of them, and so."""

from datetime import UTC, datetime, timedelta

import pytest
from recorder.happenings import NOW_S, a_session, settled
from stores.kinds import KeptRecord, stats_module

from callgate.ports.record_reader import EventFilter, SessionFilter

CALLS = 40
MOMENT = datetime.fromtimestamp(NOW_S, UTC).replace(tzinfo=None)


@pytest.fixture
async def grown(record: KeptRecord) -> KeptRecord:
    """Calls that last one to forty milliseconds, each of a session of its own."""
    for number in range(CALLS):
        event = settled(a_session(f"s-{number}"), NOW_S + number)
        event.exchange.settled_mono = event.exchange.opened_mono + (number + 1) / 1000
        record.emit(event)
    await record.reader.extent()
    return record


async def test_a_total_is_exact_as_far_as_the_store_says(
    grown: KeptRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await grown.reader.events(EventFilter(), 5)
    assert (page.total, page.total_is_at_least) == (CALLS, False)
    if grown.traits.exact_total is not None:
        monkeypatch.setattr(f"callgate.recorder.stores.{grown.traits.dialect}.reader._MOST_COUNTED", 10)
        page = await grown.reader.events(EventFilter(), 5)
        assert (page.total, page.total_is_at_least) == (10, True)
        sessions = await grown.reader.sessions(SessionFilter(), 5)
        assert (sessions.total, sessions.total_is_at_least) == (10, True)


async def test_percentiles_are_exact_as_far_as_the_store_says(
    grown: KeptRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = EventFilter(since=MOMENT, until=MOMENT + timedelta(hours=1))
    exact = (await grown.reader.stats(which)).totals
    assert (exact.p50_ms, exact.p95_ms, exact.p99_ms) == (20.5, 38.05, 39.61)
    monkeypatch.setattr(f"{stats_module(grown)}.EXACT_ROWS", 10)
    about = (await grown.reader.stats(which)).totals
    assert about.calls == CALLS
    step_ms = 1.0  # between two calls: which of them a percentile is, is the engine's to say
    for given, found in (
        (exact.p50_ms, about.p50_ms),
        (exact.p95_ms, about.p95_ms),
        (exact.p99_ms, about.p99_ms),
    ):
        assert given is not None
        assert found is not None
        assert abs(found - given) <= grown.traits.percentile_error * given + step_ms


async def test_sums_by_tool_and_bucket_have_percentiles_too(
    grown: KeptRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{stats_module(grown)}.EXACT_ROWS", 10)
    found = await grown.reader.stats(EventFilter(since=MOMENT, until=MOMENT + timedelta(hours=1)), 10)
    assert [sums.calls for sums in found.buckets.sums[:5]] == [10, 10, 10, 10, 0]
    assert all(sums.p50_ms for sums in found.buckets.sums[:4])
    assert found.by_tool[0].sums.p99_ms
    assert found.totals.sessions == CALLS
