"""Api reads the record.

Every read sees everything settled so far (read your writes). Rows are members by column name, as
`rpc_events`, `sessions` and `rpc_event_upstreams` have them; moments are datetimes in UTC without a zone.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, Protocol

Row = dict[str, Any]
ExportFormat = Literal["jsonl", "csv", "parquet"]


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """One call to a source, as `GET /api/requests` tells it."""

    event_id: str
    ts: datetime
    source_id: str
    tool_name: str
    sql: str
    duration_ms: float
    client: str
    ok: bool
    error: str | None
    error_code: str | None


# What exchanges are told apart by, in a filter and in sums. The empty value means: those that have none.
Facet = Literal["session_id", "server", "tool", "method", "outcome", "client", "error_code"]
Chosen = Mapping[Facet, Sequence[str]]
# What exchanges have more or less of. One that is still open has none.
Measure = Literal["duration", "tokens", "rows"]
Order = Literal[
    "newest", "oldest", "slowest", "fastest", "most_tokens", "fewest_tokens", "most_rows", "fewest_rows"
]
# Of these orders the measure, and whether the most come first. Those that have none come last in both.
MEASURED: Mapping[Order, tuple[Measure, bool]] = {
    "slowest": ("duration", True),
    "fastest": ("duration", False),
    "most_tokens": ("tokens", True),
    "fewest_tokens": ("tokens", False),
    "most_rows": ("rows", True),
    "fewest_rows": ("rows", False),
}
# Where a page ended: a moment and a row, before them the measure that the page is ordered by. Every text of
# this form is a place in its order, whether or not there is a row; who gets one hands it back, and need not
# know what is in it.
_PLACE = r"[0-9]{1,16}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_MEASURED_PLACE = r"(?:[dtr]-?[0-9]{1,16}(?:\.[0-9]{1,20})?(?:e-[0-9]{1,3})?~)?"
TIME_CURSOR = f"^{_PLACE}"
EVENT_CURSOR = f"^{_MEASURED_PLACE}{_PLACE}"
SESSION_CURSOR = r"^[0-9]{1,16}\.[0-9A-Za-z-]{1,64}$"


@dataclass(frozen=True, slots=True)
class Between:
    """Both inclusive; None: no limit on that side. What has no measure is never between."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What is empty or None does not matter."""

    only: Chosen = field(default_factory=dict[Facet, Sequence[str]])  # of each facet any of these
    without: Chosen = field(default_factory=dict[Facet, Sequence[str]])  # and of none any of these
    since: datetime | None = None
    until: datetime | None = None  # exclusive
    text: str | None = None  # in bodies, SQL, error or tool name, in any case
    principal: str | None = None  # whose sessions only
    between: Mapping[Measure, Between] = field(default_factory=dict[Measure, Between])
    id_start: str | None = None  # how the id begins: hexadecimal digits, with or without dashes


TOOL_CALL = "tools/call"
TOOL_CALLS = EventFilter(only={"method": (TOOL_CALL,)})


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What is None does not matter."""

    client: str | None = None  # the name that it gave itself
    is_open: bool | None = None
    era: str | None = None
    text: str | None = None  # in its id, client, version, workspace or principal, in any case
    since: datetime | None = None  # seen at that moment or later
    until: datetime | None = None  # and begun before that one
    principal: str | None = None


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Newest first."""

    rows: Sequence[Row]
    total: int
    next_cursor: str | None = None
    total_is_at_least: bool = False  # there are more than `total`; a large store does not count them all


@dataclass(frozen=True, slots=True)
class Sums:
    """Of exchanges that clients began and that are over."""

    calls: int = 0
    errors: int = 0  # whose outcome is not `answered`
    refused: int = 0  # of these, by the gateway
    tokens: int = 0
    sessions: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """The sums of those that have these values in common, one for each facet asked about."""

    values: Sequence[str | None]
    sums: Sums


@dataclass(frozen=True, slots=True)
class Buckets:
    """Equal stretches of time, counted from 1970, the first of them at `first_s`; none is left out."""

    width_s: int
    first_s: int
    sums: Sequence[Sums]


@dataclass(frozen=True, slots=True)
class Stats:
    totals: Sums
    buckets: Buckets
    by_tool: Sequence[Share]  # server, tool; each list by calls, the most first
    by_server: Sequence[Share]
    by_method: Sequence[Share]
    by_client: Sequence[Share]
    by_error: Sequence[Share]  # outcome, error code; what was answered is in none


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """How many exchanges a filter would find with another value of one facet, and all else as it is.

    So what a filter says of the facet itself does not count there: that is how a person sees what else there
    is to choose.
    """

    values: Mapping[Facet, Sequence[tuple[str, int]]]  # by how many, the most first; empty: that have none
    steps: Mapping[Measure, Sequence[tuple[int, int]]]  # that much or more, rising


Evidence = Literal["statement", "notice"]


@dataclass(frozen=True, slots=True)
class SeenWrite:
    """A tool that is declared read-only, and was seen to write all the same (`recorder.read.seen_writes`)."""

    server: str
    tool: str
    calls: int
    last_id: str
    last_ts: datetime
    evidence: Evidence  # of the last


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is of the record."""

    events: int
    sessions: int
    size_bytes: int
    oldest_day: date | None
    gaps: int
    gap_events: int  # that could not be kept


@dataclass(frozen=True, slots=True)
class StoreProgress:
    """Of this process: how far the store is behind the journal."""

    lag_s: float  # how long the oldest row that is not stored has waited, at most
    journal_bytes: int  # what is journalled and not stored
    batches: int  # stored since the start
    rows: int  # events of these
    is_away: bool  # the last attempt failed


@dataclass(frozen=True, slots=True)
class Backlog:
    """What was emitted and is not written yet."""

    events: int
    size_bytes: int
    store: StoreProgress | None = None


class UnknownSeqError(Exception):
    """No row of this record has had that number: it is another record's."""


class RecordReader(Protocol):
    async def source_requests(self, source_id: str | None) -> list[SourceRequest]:
        """Newest first, at most 100 per source."""
        ...

    async def sessions(
        self, which: SessionFilter, limit: int, offset: int = 0, cursor: str | None = None
    ) -> RecordPage:
        """By when they began. Raises CallerError for a bad cursor."""
        ...

    async def session(self, session_id: str) -> Row | None: ...

    async def session_ids(self, piece: str, limit: int) -> Sequence[str]:
        """Those that begin or end so, the newest first."""
        ...

    async def events(
        self, which: EventFilter, limit: int, cursor: str | None = None, order: Order = "newest"
    ) -> RecordPage:
        """Without reply bodies, and of the request's the first 2 KB. Raises CallerError for a bad cursor.

        A call of a tool declared read-only that was seen to write has its evidence as `seen_to_write`.
        """
        ...

    async def event(self, event_id: str) -> Row | None:
        """With both bodies, `seen_to_write` as above, its legs as `hops`, and in short what the server said
        and asked meanwhile as `said`, with the first 2 KB of its params and of the answer."""
        ...

    async def event_ids(self, piece: str, limit: int, method: str | None = None) -> Sequence[str]:
        """Those that begin or end so, of any method or of this one, the newest first."""
        ...

    async def lanes(self, session_id: str, limit: int) -> RecordPage:
        """A session's newest events, oldest of them first: of each only what a line on a chart needs."""
        ...

    async def events_after(self, seq: int, limit: int) -> Sequence[Row]:
        """Settled and stored ones, oldest first, for a live stream that goes on where it was cut. Raises
        UnknownSeqError, where that can be told."""
        ...

    async def stats(self, which: EventFilter, width_s: int | None = None) -> Stats:
        """`since` and `until` are given; buckets of `width_s`, or as wide as that stretch suggests."""
        ...

    async def facets(self, which: EventFilter) -> FacetCounts: ...

    async def seen_to_write(self, since: datetime) -> Sequence[SeenWrite]: ...

    def export(self, kind: ExportFormat, which: EventFilter) -> AsyncIterator[bytes]:
        """Whole rows of `rpc_events`, oldest first."""
        ...

    async def extent(self) -> Extent: ...

    def problem(self) -> str | None:
        """What keeps the record from being written or read at the moment, and what to do; None: nothing."""
        ...

    def backlog(self) -> Backlog: ...
