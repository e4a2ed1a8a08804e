"""`GET /api/v1/stats`: how much, how fast and how well, in one answer for a page of charts.

Takes the same filters as the lists, so that whatever is shown can be clicked on and narrowed down.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from callgate.api.operation import Asked, Operation, bad_params
from callgate.api.record.queries import StatsQuery, given
from callgate.api.record.required_record import required
from callgate.api.record.short_ids import find_filter
from callgate.model.error_codes import CALLER_AMBIGUOUS_ID
from callgate.model.identity import Role
from callgate.ports.record_reader import Buckets, RecordReader, Share, Sums

_DEFAULT_STRETCH = timedelta(days=1)
_MOST_BUCKETS = 600  # ten minutes by the second: more than a chart has pixels for
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SumsShape(msgspec.Struct, kw_only=True):
    """Of exchanges that clients began and that are over. Without calls there are no percentiles."""

    calls: int
    errors: int  # whose outcome is not `answered`
    refused: int  # of these, by the gateway
    tokens: int
    sessions: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class BucketShape(SumsShape, kw_only=True):
    start: datetime


class ToolSums(SumsShape, kw_only=True):
    server: str | None
    tool: str


class ServerSums(SumsShape, kw_only=True):
    server: str | None  # null: no server was asked


class MethodSums(SumsShape, kw_only=True):
    method: str


class ClientSums(SumsShape, kw_only=True):
    client: str


class ErrorSums(SumsShape, kw_only=True):
    outcome: str
    error_code: str | None  # null: the server said so itself, in words of its own


class StatsShape(msgspec.Struct):
    since: datetime
    until: datetime
    totals: SumsShape
    bucket_s: int  # how long each bucket lasts
    buckets: list[BucketShape]  # oldest first, none left out
    by_tool: list[ToolSums]  # each of these: the most calls first, 200 at most
    by_server: list[ServerSums]
    by_method: list[MethodSums]
    by_client: list[ClientSums]
    by_error: list[ErrorSums]


class StatsApi:
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
                StatsQuery,
                errors=(CALLER_AMBIGUOUS_ID,),
                role=Role.WATCH,
            )
        ]

    async def stats(self, asked: Asked[StatsQuery, None]) -> StatsShape:
        which = await find_filter(self._record, asked.query)
        until = which.until or datetime.now(UTC).replace(tzinfo=None)
        since = which.since or max(until, datetime.min + _DEFAULT_STRETCH) - _DEFAULT_STRETCH  # noqa: DTZ901
        width_s = given(asked.query.bucket_s)
        if width_s is not None and (until - since) / timedelta(seconds=width_s) > _MOST_BUCKETS:
            raise bad_params(
                f"bucket_s: that would be more than {_MOST_BUCKETS} buckets",
                "Choose a larger bucket_s, or a shorter period with since and until",
            )
        found = await required(self._record).stats(replace(which, since=since, until=until), width_s)
        return StatsShape(
            since.replace(tzinfo=UTC),
            until.replace(tzinfo=UTC),
            SumsShape(**_members(found.totals)),
            found.buckets.width_s,
            list(_bucket_shapes(found.buckets)),
            by_tool=[ToolSums(**_named(share, "server", "tool")) for share in found.by_tool],
            by_server=[ServerSums(**_named(share, "server")) for share in found.by_server],
            by_method=[MethodSums(**_named(share, "method")) for share in found.by_method],
            by_client=[ClientSums(**_named(share, "client")) for share in found.by_client],
            by_error=[ErrorSums(**_named(share, "outcome", "error_code")) for share in found.by_error],
        )


def _bucket_shapes(buckets: Buckets) -> Iterator[BucketShape]:
    start, width = _EPOCH + timedelta(seconds=buckets.first_s), timedelta(seconds=buckets.width_s)
    for at, sums in enumerate(buckets.sums):
        yield BucketShape(start=start + at * width, **_members(sums))


def _named(share: Share, *names: str) -> dict[str, Any]:
    return {**dict(zip(names, share.values, strict=True)), **_members(share.sums)}


def _members(sums: Sums) -> dict[str, Any]:
    return asdict(sums)
