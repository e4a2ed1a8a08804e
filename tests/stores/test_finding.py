"""Finding calls: by how long they took and how large they are, in that order; and how many there are."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from recorder.happenings import NOW_S, a_session, opened, settled
from stores.kinds import KeptRecord, StoreKind

from callgate.model.errors import CallerError
from callgate.model.exchange import Outcome
from callgate.ports.record_reader import Between, Chosen, EventFilter, Facet, Measure, Order, RecordReader

EVERYTHING = EventFilter()
# Two took equally long, and two have no rows. Replies grow, so that tokens do.
CALLS: list[dict[str, Any]] = [
    {"sql": "a", "took_s": 0.25, "rows": 5},
    {"sql": "b", "took_s": 0.03125, "rows": None, "tool": "demo__read"},
    {"sql": "c", "took_s": 12.0, "rows": 70},
    {"sql": "d", "took_s": 0.25, "rows": 5, "outcome": Outcome.TOOL_ERROR, "error": "No"},
    {"sql": "e", "took_s": 0.0009765625, "rows": None, "outcome": Outcome.FAILED, "tool": "demo__read"},
]

on_its_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def record(
    kind_of_module: StoreKind, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[KeptRecord]:
    record = kind_of_module.record(tmp_path_factory.mktemp("record"))
    session = a_session("mine")
    record.emit(opened(session))
    for number, call in enumerate(CALLS):
        text = b"a word " * 400 * number
        record.emit(
            settled(session, NOW_S + number, reply=b'{"content":[{"text":"%b"}]}' % text, **call),
        )
    yield record
    await record.close()


@pytest.fixture(scope="module")
def reader(record: KeptRecord) -> RecordReader:
    return record.reader


def names(rows: Any) -> str:
    return "".join(row["sql"] for row in rows)


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("newest", "edcba"),
        ("oldest", "abcde"),
        ("slowest", "cdabe"),
        ("fastest", "ebadc"),
        ("most_tokens", "edcba"),
        ("fewest_tokens", "abcde"),
        ("most_rows", "cdaeb"),
        ("fewest_rows", "adcbe"),
    ],
)
@on_its_loop
async def test_every_order_goes_on_page_by_page_and_what_has_no_measure_comes_last(
    reader: RecordReader, order: Order, found: str
) -> None:
    seen, cursor = "", None
    for _ in range(3):
        page = await reader.events(EVERYTHING, 2, cursor, order)
        assert page.total == 5
        seen, cursor = seen + names(page.rows), page.next_cursor
    assert (seen, cursor) == (found, None)


@on_its_loop
async def test_a_cursor_of_another_order_is_refused(reader: RecordReader) -> None:
    slow = (await reader.events(EVERYTHING, 1, order="slowest")).next_cursor
    new = (await reader.events(EVERYTHING, 1)).next_cursor
    tried: list[tuple[str | None, Order]] = [(slow, "newest"), (slow, "most_tokens"), (new, "slowest")]
    for cursor, order in tried:
        with pytest.raises(CallerError, match="another order"):
            await reader.events(EVERYTHING, 1, cursor, order)


@pytest.mark.parametrize(
    ("which", "found"),
    [
        (EventFilter(between={"duration": Between(250)}), "dca"),
        (EventFilter(between={"duration": Between(most=31.25)}), "eb"),
        (EventFilter(between={"duration": Between(31.25, 250)}), "dba"),
        (EventFilter(between={"rows": Between(0)}), "dca"),
        (EventFilter(between={"tokens": Between(1000)}), "edc"),
        (EventFilter(between={"tokens": Between(1000)}, only={"outcome": ["failed"]}), "e"),
        (EventFilter(id_start="0000"), ""),
    ],
)
@on_its_loop
async def test_calls_are_found_by_how_long_and_how_large_they_are(
    reader: RecordReader, which: EventFilter, found: str
) -> None:
    page = await reader.events(which, 10)
    assert (names(page.rows), page.total) == (found, len(found))


@on_its_loop
async def test_a_call_is_found_by_how_its_id_begins(reader: RecordReader) -> None:
    rows = (await reader.events(EVERYTHING, 10)).rows
    for row in rows:
        for piece in (row["id"], row["id"][:20], row["id"][:20].upper(), row["id"].replace("-", "")[:25]):
            found = (await reader.events(EventFilter(id_start=piece), 10)).rows
            assert row["id"] in [one["id"] for one in found]
            assert all(one["id"].startswith(row["id"][:8]) for one in found)
        assert len((await reader.events(EventFilter(id_start=row["id"]), 10)).rows) == 1


@on_its_loop
async def test_facets_count_each_value(reader: RecordReader) -> None:
    facets = await reader.facets(EVERYTHING)
    assert dict(facets.values["tool"]) == {"demo__query": 3, "demo__read": 2}
    assert facets.values["outcome"] == [("answered", 3), ("failed", 1), ("tool_error", 1)]
    assert facets.values["client"] == [("probe/1", 5)]
    assert facets.values["error_code"] == [("", 5)]
    assert facets.steps["duration"] == [(10, 4), (100, 3), (1000, 1), (10_000, 1)]
    assert facets.steps["tokens"] == [(100, 4), (1000, 3), (10_000, 0), (100_000, 0)]


@pytest.mark.parametrize(
    "which",
    [
        EventFilter(only={"outcome": ["answered"]}),
        EventFilter(without={"tool": ["demo__read"]}, only={"outcome": ["answered", "failed"]}),
        EventFilter(between={"duration": Between(100)}, only={"tool": ["demo__query"]}),
        EventFilter(only={"session_id": ["mine"], "client": ["nobody"]}),
        EventFilter(only={"session_id": ["nobody"]}),
    ],
)
@on_its_loop
async def test_a_facets_own_filter_does_not_count_for_it_and_all_others_do(
    reader: RecordReader, which: EventFilter
) -> None:
    """Each number is the length of the list that a click on it shows."""
    facets = await reader.facets(which)
    told: list[Facet] = ["server", "tool", "outcome", "client", "error_code"]
    for facet in told:
        without: Chosen = {name: values for name, values in which.without.items() if name != facet}
        listed: dict[str, int] = {}
        for value in ("", "demo", "demo__query", "demo__read", "answered", "failed", "tool_error", "probe/1"):
            only: Chosen = {**which.only, facet: [value]}
            page = await reader.events(EventFilter(only=only, without=without, between=which.between), 1)
            if page.total:
                listed[value] = page.total
        assert (facet, dict(facets.values[facet])) == (facet, listed)
    for step, calls in facets.steps["duration"]:
        between: Mapping[Measure, Between] = {"duration": Between(step)}
        page = await reader.events(EventFilter(which.only, which.without, between=between), 1)
        assert (step, calls) == (step, page.total)
