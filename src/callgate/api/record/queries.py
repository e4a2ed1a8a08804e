"""What the API takes: the parameters of lists and filters, and how they become the record's own."""

from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from callgate.api.operation import bad_params
from callgate.ports.record_reader import (
    EVENT_CURSOR,
    SESSION_CURSOR,
    TIME_CURSOR,
    Between,
    EventFilter,
    Facet,
    Measure,
    Order,
    SessionFilter,
)

_T = TypeVar("_T")
_FACETS: tuple[Facet, ...] = get_args(Facet)
_LIMITS: dict[Measure, str] = {"duration": "duration_ms", "tokens": "tokens", "rows": "rows"}

OutcomeName = Literal["answered", "tool_error", "refused", "failed", "cancelled", "lost", "open"]
StatusName = Literal["open", "closed"]
EraName = Literal["legacy", "modern"]
FormatName = Literal["jsonl", "csv", "parquet"]
_Limit = Annotated[int, Meta(ge=1, le=1000, description="How many, at most.")]
_Cursor = Annotated[str, Meta(pattern=TIME_CURSOR, description="`next_cursor` of the page before.")]
_OrderedCursor = Annotated[
    str,
    Meta(pattern=EVENT_CURSOR, description="`next_cursor` of the page before, asked for in the same order."),
]
_SessionCursor = Annotated[str, Meta(pattern=SESSION_CURSOR, description="`next_cursor` of the page before.")]
# A text, since a datetime would take a number too, as seconds since 1970.
_Moment = Annotated[str, Meta(max_length=40, extra_json_schema={"format": "date-time"})]
_Name = Annotated[str, Meta(max_length=500)]
_Words = Annotated[str, Meta(min_length=1, max_length=500)]
_Amount = Annotated[float, Meta(ge=0, le=1e15)]
_IdStart = Annotated[
    str,
    Meta(
        pattern="^[0-9a-fA-F][0-9a-fA-F-]{3,35}$",
        description="How the id begins: at least four of its characters.",
    ),
]
_MOST_VALUES = 20  # more than anybody chooses by hand
_Names = Annotated[
    tuple[_Name, ...],
    Meta(max_length=_MOST_VALUES, description="Any of these, when repeated; empty: those that have none."),
]
_NotNames = Annotated[
    tuple[_Name, ...],
    Meta(max_length=_MOST_VALUES, description="None of these, when repeated; empty: those that have none."),
]
_Outcomes = Annotated[
    tuple[OutcomeName, ...],
    Meta(max_length=_MOST_VALUES, description="Any of these, when repeated; `open`: no outcome yet."),
]
_NotOutcomes = Annotated[
    tuple[OutcomeName, ...],
    Meta(max_length=_MOST_VALUES, description="None of these, when repeated; `open`: no outcome yet."),
]
# A page further down than this is reached by a cursor, or by a better filter.
_Offset = Annotated[int, Meta(ge=0, le=1_000_000, description="How many to leave out; `cursor` is steadier.")]


class PageQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    limit: _Limit = 50
    cursor: _Cursor | UnsetType = UNSET


class TimelineQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The newest so many.")] = 5000


class StretchQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    since: _Moment | UnsetType = UNSET
    until: _Moment | UnsetType = UNSET


class SessionsQuery(StretchQuery, kw_only=True):
    """`since` and `until`: seen at or after the one, begun before the other."""

    client: Annotated[_Name, Meta(description="The name that the client gave itself.")] | UnsetType = UNSET
    status: StatusName | UnsetType = UNSET
    era: EraName | UnsetType = UNSET
    q: (
        Annotated[_Words, Meta(description="In id, client, version, workspace and principal, in any case.")]
        | UnsetType
    ) = UNSET
    limit: _Limit = 50
    offset: _Offset = 0
    cursor: _SessionCursor | UnsetType = UNSET


class FilterQuery(StretchQuery, kw_only=True):
    session_id: _Names = ()
    server: _Names = ()
    tool: _Names = ()
    method: _Names = ()
    outcome: _Outcomes = ()
    client: _Names = ()
    error_code: _Names = ()
    not_session_id: _NotNames = ()
    not_server: _NotNames = ()
    not_tool: _NotNames = ()
    not_method: _NotNames = ()
    not_outcome: _NotOutcomes = ()
    not_client: _NotNames = ()
    not_error_code: _NotNames = ()
    min_duration_ms: Annotated[_Amount, Meta(description="That long or longer.")] | UnsetType = UNSET
    max_duration_ms: Annotated[_Amount, Meta(description="That long or shorter.")] | UnsetType = UNSET
    min_tokens: (
        Annotated[_Amount, Meta(description="So many or more, of request and answer together.")] | UnsetType
    ) = UNSET
    max_tokens: Annotated[_Amount, Meta(description="So many or fewer.")] | UnsetType = UNSET
    min_rows: Annotated[_Amount, Meta(description="So many or more rows of a result.")] | UnsetType = UNSET
    max_rows: Annotated[_Amount, Meta(description="So many or fewer.")] | UnsetType = UNSET
    id: _IdStart | UnsetType = UNSET
    q: Annotated[_Words, Meta(description="In bodies, SQL, errors and names, in any case.")] | UnsetType = (
        UNSET
    )


class ExchangesQuery(FilterQuery, kw_only=True):
    order: Annotated[
        Order, Meta(description="What comes first. Calls without a duration, tokens or rows come last.")
    ] = "newest"
    limit: _Limit = 50
    cursor: _OrderedCursor | UnsetType = UNSET


class StatsQuery(FilterQuery, kw_only=True):
    bucket_s: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=31 * 86_400,
                description="How long a bucket lasts, at most 600 of them; else as the stretch suggests.",
            ),
        ]
        | UnsetType
    ) = UNSET


class ExportQuery(FilterQuery, kw_only=True):
    format: FormatName = "jsonl"


class ToolsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    q: (
        Annotated[_Words, Meta(description="The tools that fit these words, the best first (BM25).")]
        | UnsetType
    ) = UNSET
    server: _Name | UnsetType = UNSET
    limit: _Limit = 1000


def given(value: _T | UnsetType) -> _T | None:
    return None if isinstance(value, UnsetType) else value


def filter_of(query: FilterQuery) -> EventFilter:
    return EventFilter(
        only=_chosen(query, ""),
        without=_chosen(query, "not_"),
        since=moment_of(query.since),
        until=moment_of(query.until),
        text=given(query.q),
        between={
            measure: between for measure in _LIMITS if (between := _between(query, measure)) != Between()
        },
        id_start=given(query.id),
    )


def _between(query: FilterQuery, measure: Measure) -> Between:
    name = _LIMITS[measure]
    return Between(given(getattr(query, f"min_{name}")), given(getattr(query, f"max_{name}")))


def _chosen(query: FilterQuery, prefix: str) -> dict[Facet, list[str]]:
    chosen: dict[Facet, tuple[str, ...]] = {facet: getattr(query, prefix + facet) for facet in _FACETS}
    return {
        # What is still open has no outcome.
        facet: ["" if facet == "outcome" and value == "open" else value for value in values]
        for facet, values in chosen.items()
        if values
    }


def sessions_of(query: SessionsQuery) -> SessionFilter:
    return SessionFilter(
        client=given(query.client),
        is_open=None if isinstance(query.status, UnsetType) else query.status == "open",
        era=given(query.era),
        text=given(query.q),
        since=moment_of(query.since),
        until=moment_of(query.until),
    )


def moment_of(text: str | UnsetType) -> datetime | None:
    """As the record has them: UTC, without a zone; that is also what is meant where none is given."""
    if isinstance(text, UnsetType):
        return None
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError as problem:
        raise bad_params(
            f"{text[:40]!r} is not a valid timestamp", "Write it as 2026-11-15T10:00:00Z"
        ) from problem
    if moment.tzinfo is None:
        return moment
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:  # in UTC it is the year 0, or 10000
        return datetime.min if moment.year == 1 else datetime.max  # noqa: DTZ901
