"""The record as a whole: SQL of one's own, and export. Sums are `stats_api`'s."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from callgate.api.operation import Asked, Operation
from callgate.api.record.queries import ExportQuery
from callgate.api.record.required_record import required
from callgate.api.record.short_ids import find_filter
from callgate.api.shapes import QueryAnswer
from callgate.model.error_codes import CALLER_AMBIGUOUS_ID, CALLER_TOO_MANY_READS
from callgate.model.identity import Role
from callgate.ports.record_queries import Query, RecordQueries
from callgate.ports.record_reader import RecordReader

_MEDIA = {"jsonl": "application/x-ndjson", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


class QueryBody(msgspec.Struct, forbid_unknown_fields=True):
    sql: Annotated[str, Meta(min_length=1, max_length=10_000, description="One SELECT.")]
    max_rows: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    timeout_s: Annotated[float, Meta(ge=0.1, le=60)] = 10.0


class AnalysisApi:
    def __init__(self, record: RecordReader | None, queries: RecordQueries | None) -> None:
        self._record = record
        self._queries = queries

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/query",
                "queryRecord",
                "Read-only SQL over sessions, rpc_events, rpc_event_upstreams and gaps",
                self.query,
                QueryAnswer,
                takes=QueryBody,
                errors=(CALLER_TOO_MANY_READS,),
                role=Role.WATCH,
            ),
            Operation(
                "/api/v1/export",
                "exportRecord",
                "Whole rows of rpc_events, oldest first",
                self.export,
                bytes,
                ExportQuery,
                media=tuple(_MEDIA.values()),
                errors=(CALLER_AMBIGUOUS_ID,),
                role=Role.WATCH,
            ),
        ]

    async def query(self, asked: Asked[None, QueryBody]) -> QueryAnswer:
        body = asked.body
        begun = time.monotonic()
        table = await required(self._queries).query(Query(body.sql, body.max_rows, body.timeout_s))
        elapsed_ms = round((time.monotonic() - begun) * 1000, 3)
        rows = list(map(list, table.rows))
        return QueryAnswer(list(table.columns), rows, len(rows), table.truncated, elapsed_ms)

    async def export(self, asked: Asked[ExportQuery, None]) -> Response:
        query = asked.query
        which = await find_filter(self._record, query)
        chunks = required(self._record).export(query.format, which)
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
