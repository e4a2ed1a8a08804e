"""A tool that is declared read-only and was seen to write: what counts as seen, and what does not."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from recorder.happenings import NOW_S, a_session, opened, settled
from stores.kinds import KeptRecord

from callgate.model.events import ExchangeSettled
from callgate.model.exchange import StatementFacts
from callgate.ports.record_reader import TOOL_CALLS

READ_ONLY, WRITING = b'{"readOnlyHint": true}', b'{"readOnlyHint":false}'
LONG_AGO = datetime(2000, 1, 1)  # noqa: DTZ001 - as the store's moments are
UPDATED = "notifications/resources/updated"


class Traffic:
    def __init__(self, record: KeptRecord) -> None:
        self.record = record
        self.session = a_session()
        record.emit(opened(self.session))

    def call(
        self,
        at_s: float,
        lasts_s: float,
        tool: str = "look",
        annotations: bytes | None = READ_ONLY,
        **changed: Any,
    ) -> str:
        event = settled(self.session, NOW_S + at_s, **changed)
        exchange = event.exchange
        exchange.tool_name, exchange.server_name, exchange.annotations = tool, "files", annotations
        exchange.settled_mono = exchange.opened_mono + lasts_s
        self.record.emit(event)
        return exchange.exchange_id

    def say(self, at_s: float, method: str = UPDATED, tool: str | None = None, **changed: Any) -> None:
        exchange = settled(self.session, NOW_S + at_s, **changed).exchange
        exchange.arrival = msgspec.structs.replace(exchange.arrival, method=method)
        exchange.sender, exchange.server_name, exchange.tool_name = "server", "files", tool
        exchange.hops.clear()
        self.record.emit(ExchangeSettled(exchange))

    async def seen(self) -> dict[str, int]:
        return {found.tool: found.calls for found in await self.record.reader.seen_to_write(LONG_AGO)}


@pytest.fixture
def traffic(record: KeptRecord) -> Traffic:
    return Traffic(record)


async def test_a_change_told_while_the_call_alone_was_under_way_is_seen(traffic: Traffic) -> None:
    traffic.call(0, 0.5)
    call = traffic.call(10, 2)
    traffic.say(11)
    (found,) = await traffic.record.reader.seen_to_write(LONG_AGO)
    assert (found.server, found.tool, found.calls, found.last_id) == ("files", "look", 1, call)
    assert found.last_ts == datetime.fromtimestamp(NOW_S + 10, UTC).replace(tzinfo=None)
    assert found.evidence == "notice"
    page = await traffic.record.reader.events(TOOL_CALLS, 10)
    assert [row["seen_to_write"] for row in page.rows] == ["notice", None]
    one = await traffic.record.reader.event(call)
    assert one is not None
    assert one["seen_to_write"] == "notice"


async def test_a_change_told_on_the_calls_own_stream_is_seen_whoever_else_calls(traffic: Traffic) -> None:
    traffic.call(0, 5, rpc_id=b"7")
    traffic.call(0, 5, "write", WRITING, rpc_id=b"8")
    traffic.say(1, tool="look", rpc_id=b"7")
    assert await traffic.seen() == {"look": 1}


async def test_two_calls_at_once_leave_the_question_open(traffic: Traffic) -> None:
    traffic.call(0, 5)
    traffic.call(1, 5, "watch")
    traffic.say(2)
    assert await traffic.seen() == {}


async def test_a_tool_that_may_write_is_blamed_first_even_if_it_just_ended(traffic: Traffic) -> None:
    traffic.call(0, 1, "write", annotations=None)
    traffic.call(1.5, 3)
    traffic.say(2)
    assert await traffic.seen() == {}


NO_EVIDENCE = [
    (None, UPDATED, 1),
    (WRITING, UPDATED, 1),
    (READ_ONLY, "notifications/message", 1),
    (READ_ONLY, "notifications/tools/list_changed", 1),
    (READ_ONLY, UPDATED, 3),
    (READ_ONLY, UPDATED, -1),
]


async def test_nothing_else_counts(traffic: Traffic) -> None:
    """A minute apart, so that no case has to do with another. A tool that is seen has its case's number."""
    for number, (annotations, method, at_s) in enumerate(NO_EVIDENCE):
        traffic.call(60 * number, 2, f"look_{number}", annotations)
        traffic.say(60 * number + at_s, method)
    assert await traffic.seen() == {}


async def test_a_statement_that_writes_is_proof(traffic: Traffic) -> None:
    for number, kind in enumerate(("SELECT", "BEGIN, INSERT, COMMIT", "EXPLAIN")):
        event = settled(traffic.session, NOW_S + number)
        exchange = event.exchange
        exchange.annotations, exchange.tool_name = READ_ONLY, kind
        exchange.hops[0].facts = StatementFacts("demo", "…", kind, "write", "allow")
        traffic.record.emit(event)
    (found,) = await traffic.record.reader.seen_to_write(LONG_AGO)
    assert (found.tool, found.evidence) == ("BEGIN, INSERT, COMMIT", "statement")
