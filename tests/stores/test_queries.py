"""SQL of users over the record: what the page proposes runs on every store."""

import re
from pathlib import Path

import pytest
from recorder.happenings import NOW_S, a_session, opened, settled
from stores.kinds import KeptRecord

from callgate.model.errors import CallerError
from callgate.ports.record_queries import Query

# What runs anywhere, and what runs on ClickHouse instead.
EXAMPLES = re.findall(
    r"sql: `(.+?)`,(?:\s+clickhouse: `(.+?)`)?", Path("web/src/query/examples.ts").read_text(), re.DOTALL
)


def example_for(record: KeptRecord, anywhere: str, clickhouse: str) -> str:
    return clickhouse if clickhouse and record.traits.dialect == "clickhouse" else anywhere


async def test_the_pages_examples_run_and_answer_the_same(record: KeptRecord) -> None:
    record.emit(opened(a_session()))
    for number in range(5):
        record.emit(settled(a_session(), NOW_S + number, sql=f"SELECT {number}"))
    answers = [await record.queries.query(Query(example_for(record, *told))) for told in EXAMPLES]
    assert [len(answer.rows) for answer in answers] == [0, 1, 0, 1, 1, 1, 0]
    assert list(answers[3].rows[0]) == ["demo", "t", 5, 5]
    with pytest.raises(CallerError):
        await record.queries.query(Query("DROP TABLE rpc_events"))
