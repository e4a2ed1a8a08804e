"""Tokens: near the exact count of o200k, without a network, and only while there is time."""

import msgspec
import pytest
from recorder.happenings import a_session, read_back, settled

from callgate.recorder.build_rows import event_row
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.tokens import TokenCounter
from callgate.recorder.journal.frames import EVENTS
from callgate.recorder.rows import EventRow


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return TokenCounter()


@pytest.mark.parametrize(
    ("text", "exact"),  # as o200k_base counts
    [
        ("", 0),
        ("hello world", 2),
        ('{"content":[{"type":"text","text":"alpha order customer42 price"}]}', 17),
        ("SELECT name, price FROM products WHERE id = 42", 11),
        ("数据库查询返回了一百行结果，其中包含客户名称和订单价格。", 15),
        ("01890000-0000-7000-8000-000000000003", 18),
    ],
)
def test_the_estimate_is_near_the_exact_count(counter: TokenCounter, text: str, exact: int) -> None:
    assert abs(counter.count(text) - exact) <= max(1, exact // 10)


def test_a_long_text_is_counted_in_proportion(counter: TokenCounter) -> None:
    line = "alpha order customer42 price\n"
    assert counter.count(line * 100_000) == pytest.approx(counter.count(line) * 100_000, rel=0.02)


@pytest.mark.parametrize("text", ["\ud800", "\x00\xff", "🎉" * 1000, " " * 100_000])
def test_any_text_has_a_count(counter: TokenCounter, text: str) -> None:
    assert 0 < counter.count(text) <= len(text.encode(errors="replace"))


def batch_of(count: int, body: bytes) -> Batch:
    row = event_row(settled(a_session(), params=body, reply=body).exchange)
    batch = Batch()
    batch.add("a", read_back(EVENTS, *(msgspec.structs.replace(row) for _ in range(count))))
    return batch


def rows_of(batch: Batch) -> list[EventRow]:
    return msgspec.json.decode(batch.frames[EVENTS][0].rows_json, type=list[EventRow])


def test_a_small_batch_is_counted_and_a_backlog_is_left_to_an_estimate_from_bytes(
    counter: TokenCounter,
) -> None:
    small, large = batch_of(2, b'{"a":"hello world"}'), batch_of(2, b'"%b"' % (b"hello " * 50_000))
    counter.fill_in(small)
    counter.fill_in(large)
    assert [row.request_tokens for row in rows_of(small)] == [counter.count('{"a":"hello world"}')] * 2
    assert [row.request_tokens for row in rows_of(large)] == [None, None]


def test_a_body_that_was_dropped_is_estimated_by_its_size(counter: TokenCounter) -> None:
    row = event_row(settled(a_session()).exchange)
    row.request_json, row.request_bytes = None, 4000
    batch = Batch()
    batch.add("a", read_back(EVENTS, row))
    counter.fill_in(batch)
    assert rows_of(batch)[0].request_tokens == 1000
