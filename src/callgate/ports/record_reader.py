"""Api reads the record.

Every read sees everything settled so far (read your writes). Rows are members by column name, as
`rpc_events`, `sessions` and `rpc_event_upstreams` have them; moments are datetimes in UTC without a zone.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

Row = dict[str, Any]
ExportFormat = Literal["jsonl", "csv", "parquet"]


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """One call to a source, as `GET /api/requests` tells it (seed 000)."""

    event_id: str
    ts: datetime
    source_id: str
    tool_name: str
    sql: str
    duration_ms: float
    client: str
    success: bool
    error: str | None
    error_code: str | None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What is None does not matter."""

    session_id: str | None = None
    server: str | None = None
    tool: str | None = None
    method: str | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None  # exclusive
    text: str | None = None  # in bodies, SQL, error or tool name, in any case
    principal: str | None = None  # whose sessions only


TOOL_CALLS = EventFilter(method="tools/call")


@dataclass(frozen=True, slots=True)
class Page:
    """Newest first."""

    rows: Sequence[Row]
    total: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """What a query answered."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Query:
    """SQL of a user: one SELECT over the record's views."""

    sql: str
    max_rows: int = 1000
    timeout_s: float = 10.0
    principal: str | None = None  # whose sessions only


@dataclass(frozen=True, slots=True)
class Stats:
    totals: Row  # calls, errors, sessions, tokens, p50_ms, p95_ms
    by_tool: Sequence[Row] = field(default_factory=list[Row])
    by_server: Sequence[Row] = field(default_factory=list[Row])
    by_method: Sequence[Row] = field(default_factory=list[Row])
    by_minute: Sequence[Row] = field(default_factory=list[Row])


@dataclass(frozen=True, slots=True)
class Backlog:
    """What was emitted and is not written yet."""

    events: int
    size_bytes: int


class RecordReader(Protocol):
    async def source_requests(self, source_id: str | None) -> list[SourceRequest]:
        """Newest first, at most 100 per source."""
        ...

    async def sessions(
        self, limit: int, offset: int = 0, principal: str | None = None, cursor: str | None = None
    ) -> Page:
        """By when they began. Raises CallerError for a bad cursor."""
        ...

    async def session(self, session_id: str) -> Row | None: ...

    async def events(self, which: EventFilter, limit: int, cursor: str | None = None) -> Page:
        """Without reply bodies, and of the request's the first 2 KB. Raises CallerError for a bad cursor."""
        ...

    async def event(self, event_id: str) -> Row | None:
        """With both bodies, and its legs as `hops`."""
        ...

    async def events_after(self, seq: int, limit: int) -> Sequence[Row]:
        """Oldest first, for a live stream that goes on where it was cut."""
        ...

    async def stats(self, since: datetime, until: datetime) -> Stats: ...

    async def query(self, query: Query) -> Table:
        """Raises CallerError for anything but one SELECT over the record."""
        ...

    def export(self, kind: ExportFormat, which: EventFilter) -> AsyncIterator[bytes]:
        """Whole rows of `rpc_events`, oldest first."""
        ...

    def problem(self) -> str | None:
        """What keeps the record from being written or read at the moment, and what to do; None: nothing."""
        ...

    def backlog(self) -> Backlog: ...
