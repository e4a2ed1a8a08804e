"""The record as a whole: sums, SQL of one's own, and export."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from callgate.api.operation import Asked, Operation
from callgate.api.queries import ExportQuery, StretchQuery, filter_of, moment_of
from callgate.api.record_api import required
from callgate.api.shapes import QueryAnswer, StatsShape
from callgate.api.told_rows import cell
from callgate.ports.record_reader import Query, RecordReader, Row

_MEDIA = {"jsonl": "application/x-ndjson", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
_DEFAULT_STRETCH = timedelta(days=1)


class QueryBody(msgspec.Struct, forbid_unknown_fields=True):
    sql: Annotated[str, Meta(min_length=1, max_length=100_000, description="One SELECT.")]
    max_rows: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    timeout_s: Annotated[float, Meta(ge=0.1, le=60)] = 10.0


class AnalysisApi:
    def __init__(self, record: RecordReader | None) -> None:
        self._record = record

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/stats",
                "getStats",
                "Calls, errors, latency and tokens; of the last day unless told otherwise",
                self.stats,
                StatsShape,
                StretchQuery,
            ),
            Operation(
                "/api/v1/query",
                "queryRecord",
                "Read-only SQL over sessions, rpc_events, rpc_event_upstreams and gaps",
                self.query,
                QueryAnswer,
                takes=QueryBody,
            ),
            Operation(
                "/api/v1/export",
                "exportRecord",
                "Whole rows of rpc_events, oldest first",
                self.export,
                bytes,
                ExportQuery,
                media=tuple(_MEDIA.values()),
            ),
        ]

    async def stats(self, asked: Asked[StretchQuery, None]) -> StatsShape:
        until = moment_of(asked.query.until) or datetime.now(UTC).replace(tzinfo=None)
        since = moment_of(asked.query.since) or max(until, datetime.min + _DEFAULT_STRETCH) - _DEFAULT_STRETCH  # noqa: DTZ901
        found = await required(self._record).stats(since, until)
        return StatsShape(
            since.replace(tzinfo=UTC),
            until.replace(tzinfo=UTC),
            _told(found.totals),
            *(
                [_told(row) for row in rows]
                for rows in (found.by_tool, found.by_server, found.by_method, found.by_minute)
            ),
        )

    async def query(self, asked: Asked[None, QueryBody]) -> QueryAnswer:
        body = asked.body
        begun = time.monotonic()
        table = await required(self._record).query(Query(body.sql, body.max_rows, body.timeout_s))
        rows = [[cell(value) for value in row] for row in table.rows]
        elapsed_ms = round((time.monotonic() - begun) * 1000, 3)
        return QueryAnswer(list(table.columns), rows, len(rows), table.truncated, elapsed_ms)

    async def export(self, asked: Asked[ExportQuery, None]) -> Response:
        query = asked.query
        chunks = required(self._record).export(query.format, filter_of(query))
        # What goes wrong goes wrong before the first chunk, and can still be said.
        first = await anext(chunks, b"")
        name = f"callgate-{datetime.now(UTC):%Y%m%d-%H%M%S}.{query.format}"
        return StreamingResponse(
            _with_first(first, chunks),
            media_type=_MEDIA[query.format],
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )


async def _with_first(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if first:
        yield first
    async for chunk in rest:
        yield chunk


def _told(row: Row) -> dict[str, Any]:
    return {name: cell(value) for name, value in row.items()}
