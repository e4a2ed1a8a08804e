"""Reading the record: filters, pages, one call with its legs, sums, SQL of users, export."""

import csv
import io
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
import pytest_asyncio
from recorder.happenings import NOW_S, a_session, opened, settled
from stores.kinds import KeptRecord, StoreKind, stats_module

from callgate.model.errors import CallerError
from callgate.model.exchange import Outcome
from callgate.model.identity import Principal
from callgate.ports.record_reader import TOOL_CALLS, EventFilter, RecordReader, SessionFilter
from callgate.recorder.read import sums

MOMENT = datetime.fromtimestamp(NOW_S, UTC).replace(tzinfo=None)
EVERYTHING = EventFilter()
FAILED = {"outcome": Outcome.TOOL_ERROR, "error": "No such Table"}


on_its_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def record(
    kind_of_module: StoreKind, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[KeptRecord]:
    """Two sessions of two principals: seven calls of one, the last a failure, and three of the other."""
    record = kind_of_module.record(tmp_path_factory.mktemp("record"))
    mine, theirs = a_session("mine"), a_session("theirs")
    theirs.principal = Principal("somebody else")
    for session in (mine, theirs):
        record.emit(opened(session))
    for number in range(7):
        failed: dict[str, Any] = (
            {"outcome": Outcome.TOOL_ERROR, "error": "No such Table"} if number == 6 else {}
        )
        record.emit(settled(mine, NOW_S + number, sql=f"SELECT {number}", **failed))
    for number in range(3):
        record.emit(settled(theirs, NOW_S + 60 + number, sql="SELECT 'Needle'", source_id="other"))
    yield record
    await record.close()


@pytest.fixture(scope="module")
def reader(record: KeptRecord) -> RecordReader:
    return record.reader


def statements(rows: Any) -> list[str]:
    return [row["sql"] for row in rows]


@on_its_loop
async def test_pages_follow_one_another_without_gap_or_overlap(reader: RecordReader) -> None:
    seen: list[str] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        page = await reader.events(EventFilter(only={"session_id": ["mine"]}), 3, cursor)
        assert page.total == 7
        seen += statements(page.rows)
        cursor, pages = page.next_cursor, pages + 1
    assert seen == [f"SELECT {number}" for number in range(6, -1, -1)]
    assert pages == 3


@pytest.mark.parametrize(
    ("which", "found"),
    [
        (TOOL_CALLS, 10),
        (EventFilter(only={"session_id": ["theirs"]}), 3),
        (EventFilter(only={"server": ["demo"], "tool": ["demo__query"], "method": ["tools/call"]}), 10),
        (EventFilter(only={"tool": ["unknown"]}), 0),
        (EventFilter(only={"tool": ["unknown", "demo__query"]}), 10),
        (EventFilter(only={"error_code": [""]}), 10),
        (EventFilter(only={"outcome": ["tool_error"]}), 1),
        (EventFilter(without={"outcome": ["tool_error"]}), 9),
        (EventFilter(without={"error_code": ["source.failed"]}), 10),
        (EventFilter(without={"error_code": [""]}), 0),
        (EventFilter(without={"session_id": ["mine", "theirs"]}), 0),
        (EventFilter(only={"client": ["probe/1"]}, without={"session_id": ["mine"]}), 3),
        (EventFilter(since=MOMENT + timedelta(seconds=5)), 5),
        (EventFilter(until=MOMENT + timedelta(seconds=5)), 5),
        (EventFilter(text="needle", since=MOMENT), 3),
        (EventFilter(text="no such table", since=MOMENT), 1),
        (EventFilter(text="CONTENT", since=MOMENT), 10),
        (EventFilter(text="%", since=MOMENT), 0),
        (EventFilter(text="_", since=MOMENT, only={"tool": ["unknown"]}), 0),
        (EventFilter(principal="somebody else"), 3),
        (EventFilter(only={"session_id": ["'; DROP TABLE rpc_events --"]}), 0),
    ],
)
@on_its_loop
async def test_a_filter_finds_what_it_says(reader: RecordReader, which: EventFilter, found: int) -> None:
    page = await reader.events(which, 100)
    assert (len(page.rows), page.total, page.next_cursor) == (found, found, None)


@pytest.mark.parametrize("cursor", ["", "nonsense", "AAAA", "MTIzIG5vdC1hLXV1aWQ"])
@on_its_loop
async def test_a_made_up_cursor_is_refused(reader: RecordReader, cursor: str) -> None:
    with pytest.raises(CallerError):
        await reader.events(EVERYTHING, 3, cursor)


@on_its_loop
async def test_one_call_has_its_bodies_and_its_legs(reader: RecordReader) -> None:
    (newest, *_) = (await reader.events(EVERYTHING, 1)).rows
    call = await reader.event(newest["id"])
    assert call is not None
    assert (call["request_json"], call["response_json"]) == ('{"name":"demo__query"}', '{"content":[]}')
    (hop,) = call["hops"]
    assert (hop["server_name"], hop["request_json"], hop["response_json"]) == (
        "demo",
        '{"name":"demo__query"}',
        '{"content":[]}',
    )
    assert call["tokens_by"] == "o200k"
    for unknown in ("01890000-0000-7000-8000-000000000003", "not an id"):
        assert await reader.event(unknown) is None


@on_its_loop
async def test_sessions_are_newest_first_with_their_sums(reader: RecordReader) -> None:
    page = await reader.sessions(SessionFilter(), 10, 0)
    assert [(row["session_id"], row["tool_call_count"], row["error_count"]) for row in page.rows] == [
        ("theirs", 3, 0),
        ("mine", 7, 1),
    ]
    assert (await reader.sessions(SessionFilter(), 1, 1)).rows[0]["session_id"] == "mine"
    assert (await reader.sessions(SessionFilter(principal="local"), 10)).total == 1
    assert await reader.session("mine") == page.rows[1]
    assert page.rows[1]["total_tokens"] == sum(
        row["request_tokens"] + row["response_tokens"]
        for row in (await reader.events(EventFilter(only={"session_id": ["mine"]}), 10)).rows
    )
    assert await reader.session("unknown") is None


def stretch(length: timedelta, since: datetime = MOMENT) -> EventFilter:
    return EventFilter(since=since, until=since + length)


@on_its_loop
async def test_stats_sum_up_a_stretch(reader: RecordReader) -> None:
    stats = await reader.stats(stretch(timedelta(seconds=60)))
    totals = stats.totals
    assert (totals.calls, totals.errors, totals.sessions) == (7, 1, 1)
    assert (totals.p50_ms, totals.p95_ms, totals.p99_ms) == (4.5, 4.5, 4.5)
    assert [(list(share.values), share.sums.calls) for share in stats.by_tool] == [
        (["demo", "demo__query"], 7)
    ]
    assert [(list(share.values), share.sums.calls) for share in stats.by_error] == [(["tool_error", None], 1)]
    assert [list(share.values) for share in stats.by_client] == [["probe/1"]]
    assert (await reader.stats(stretch(timedelta(days=1), MOMENT - timedelta(days=1)))).totals.calls == 0


@on_its_loop
async def test_buckets_cover_the_stretch_without_a_hole(reader: RecordReader) -> None:
    buckets = (await reader.stats(stretch(timedelta(minutes=2)))).buckets
    assert (buckets.width_s, buckets.first_s, len(buckets.sums)) == (1, NOW_S, 120)
    assert [sums.calls for sums in buckets.sums[:8]] == [1] * 7 + [0]
    assert [sums.errors for sums in buckets.sums[5:7]] == [0, 1]
    assert sum(sums.calls for sums in buckets.sums) == 10


@pytest.mark.parametrize(
    ("length", "width_s"),
    [
        (timedelta(seconds=0), 1),
        (timedelta(minutes=15), 10),
        (timedelta(hours=1), 30),
        (timedelta(days=1), 15 * 60),
        (timedelta(days=30), 6 * 3600),
        (timedelta(days=120), 86_400),
        (timedelta(days=121), 2 * 86_400),
        (timedelta(days=3_000_000), 25_000 * 86_400),
    ],
)
def test_a_bucket_is_as_wide_as_a_chart_needs_it(length: timedelta, width_s: int) -> None:
    begun = datetime(1, 1, 1)  # noqa: DTZ001 - as the store's moments are
    assert sums.bucket_width_s(begun, begun + length) == width_s


@on_its_loop
async def test_all_time_is_shown_as_far_as_the_record_goes(reader: RecordReader) -> None:
    everything = EventFilter(since=datetime.min, until=datetime.max)  # noqa: DTZ901 - see above
    stats = await reader.stats(everything)
    assert stats.totals.calls == 10
    assert sum(sums.calls for sums in stats.buckets.sums) == 10
    first = datetime.fromtimestamp(stats.buckets.first_s, UTC).replace(tzinfo=None)
    assert MOMENT - timedelta(days=3) < first <= MOMENT


@on_its_loop
async def test_the_oldest_come_first_when_asked_so_page_by_page(reader: RecordReader) -> None:
    first = await reader.events(EventFilter(only={"session_id": ["mine"]}), 4, order="oldest")
    rest = await reader.events(
        EventFilter(only={"session_id": ["mine"]}), 4, first.next_cursor, order="oldest"
    )
    assert statements([*first.rows, *rest.rows]) == [f"SELECT {number}" for number in range(7)]
    assert rest.next_cursor is None


@pytest.mark.parametrize(
    ("which", "found"),
    [
        (SessionFilter(client="probe"), ["theirs", "mine"]),
        (SessionFilter(client="pro"), []),
        (SessionFilter(is_open=True), ["theirs", "mine"]),
        (SessionFilter(is_open=False), []),
        (SessionFilter(era="legacy"), []),
        (SessionFilter(text="BODY e"), ["theirs"]),
        (SessionFilter(text="'"), []),
        (SessionFilter(since=MOMENT + timedelta(seconds=30)), ["theirs"]),
        (SessionFilter(until=MOMENT), []),
    ],
)
@on_its_loop
async def test_sessions_are_found_by_what_is_known_of_them(
    reader: RecordReader, which: SessionFilter, found: list[str]
) -> None:
    page = await reader.sessions(which, 10)
    assert [row["session_id"] for row in page.rows] == found
    assert page.total == len(found)


@on_its_loop
async def test_a_stream_goes_on_after_the_row_it_knows(reader: RecordReader) -> None:
    everything = await reader.events_after(0, 100)
    assert [row["seq"] for row in everything] == sorted(row["seq"] for row in everything)
    assert await reader.events_after(everything[3]["seq"], 100) == everything[4:]
    assert await reader.events_after(everything[-1]["seq"], 100) == []


# ---- export


async def exported(reader: RecordReader, kind: Any, which: EventFilter = EVERYTHING) -> bytes:
    return b"".join([chunk async for chunk in reader.export(kind, which)])


@on_its_loop
async def test_export_holds_the_rows_asked_for_oldest_first(
    reader: RecordReader, record: KeptRecord, tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in (await exported(reader, "jsonl", TOOL_CALLS)).splitlines()]
    assert statements(lines) == [*(f"SELECT {number}" for number in range(7)), *["SELECT 'Needle'"] * 3]
    text = (await exported(reader, "csv", EventFilter(only={"session_id": ["mine"]}))).decode()
    assert statements(csv.DictReader(io.StringIO(text))) == [f"SELECT {number}" for number in range(7)]
    (tmp_path / "out.parquet").write_bytes(
        await exported(reader, "parquet", EventFilter(text="needle", since=MOMENT))
    )
    found = duckdb.sql(f"SELECT count(*) FROM '{tmp_path / 'out.parquet'}'")
    assert found is not None
    assert found.fetchall() == [(3,)]
    assert not record.passing_files()


@on_its_loop
async def test_of_many_names_only_those_with_the_most_calls_are_read(
    reader: RecordReader, record: KeptRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{stats_module(record)}.MOST_GROUPS", 1)
    found = await reader.stats(stretch(timedelta(hours=1)))
    assert [(share.values, share.sums.calls) for share in found.by_error] == []  # the one read is `answered`
    assert sum(sums.calls for sums in found.buckets.sums) == found.totals.calls == 10


@on_its_loop
async def test_a_text_is_looked_for_as_far_back_as_the_store_says(
    reader: RecordReader, record: KeptRecord
) -> None:
    found = (await reader.events(EventFilter(text="needle"), 10)).total
    age_s = time.time() - NOW_S
    reach_s = record.traits.text_reach_s
    assert found == (3 if reach_s is None or reach_s > age_s else 0)


@on_its_loop
async def test_calls_and_sessions_are_found_by_the_ends_of_their_ids(reader: RecordReader) -> None:
    ids = [row["id"] for row in (await reader.events(EVERYTHING, 100)).rows]
    newest = ids[0]
    assert await reader.event_ids(newest, 10) == [newest]
    assert await reader.event_ids(newest[-12:], 10) == [newest]
    assert sorted(await reader.event_ids(newest[:4], 100)) == sorted(ids)
    assert await reader.event_ids(newest[:4], 2) == sorted(ids)[:-3:-1]
    assert await reader.event_ids(newest, 10, "tools/list") == []
    assert await reader.event_ids("'", 10) == []
    assert await reader.session_ids("mi", 10) == ["mine"]
    assert await reader.session_ids("e", 10) == ["mine"]
    assert await reader.session_ids("nobody", 10) == []


@on_its_loop
async def test_a_sessions_lanes_are_its_newest_calls_oldest_first(reader: RecordReader) -> None:
    lanes = await reader.lanes("mine", 3)
    assert lanes.total == 7
    assert [row["ts"] for row in lanes.rows] == [MOMENT + timedelta(seconds=second) for second in (4, 5, 6)]


@on_its_loop
async def test_the_newest_requests_of_a_source_come_first(reader: RecordReader) -> None:
    assert [one.sql for one in await reader.source_requests("demo")] == [
        f"SELECT {number}" for number in range(6, -1, -1)
    ]
    assert len(await reader.source_requests(None)) == 10
    assert (await reader.source_requests("other"))[0].client == "probe/1"


@on_its_loop
async def test_the_extent_of_the_record_is_told(reader: RecordReader) -> None:
    extent = await reader.extent()
    assert (extent.events, extent.sessions, extent.gaps, extent.gap_events) == (10, 2, 0, 0)
    assert extent.size_bytes > 0
    assert extent.oldest_day == datetime.now(UTC).date()
