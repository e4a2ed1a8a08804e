"""What the API takes: the parameters of lists and filters, and how they become the record's own."""

from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from callgate.api.operation import bad_params
from callgate.ports.record_reader import EventFilter

_T = TypeVar("_T")

OutcomeName = Literal["answered", "tool_error", "refused", "failed", "cancelled", "lost"]
FormatName = Literal["jsonl", "csv", "parquet"]
_Limit = Annotated[int, Meta(ge=1, le=1000, description="How many, at most.")]
_Cursor = Annotated[str, Meta(max_length=200, description="`next_cursor` of the page before.")]
_Name = Annotated[str, Meta(max_length=500)]
_Words = Annotated[str, Meta(min_length=1, max_length=500)]
# A page further down than this is reached by a cursor, or by a better filter.
_Offset = Annotated[int, Meta(ge=0, le=1_000_000, description="How many to leave out; `cursor` is steadier.")]


class SessionsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    limit: _Limit = 50
    offset: _Offset = 0
    cursor: _Cursor | UnsetType = UNSET


class PageQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    limit: _Limit = 50
    cursor: _Cursor | UnsetType = UNSET


class StretchQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    since: datetime | UnsetType = UNSET
    until: datetime | UnsetType = UNSET


class FilterQuery(StretchQuery, kw_only=True):
    session_id: _Name | UnsetType = UNSET
    server: _Name | UnsetType = UNSET
    tool: _Name | UnsetType = UNSET
    outcome: OutcomeName | UnsetType = UNSET
    q: Annotated[_Words, Meta(description="In bodies, SQL, errors and names, in any case.")] | UnsetType = (
        UNSET
    )
    method: _Name | UnsetType = UNSET


class ExchangesQuery(FilterQuery, kw_only=True):
    limit: _Limit = 50
    cursor: _Cursor | UnsetType = UNSET


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
        session_id=given(query.session_id),
        server=given(query.server),
        tool=given(query.tool),
        method=given(query.method),
        outcome=given(query.outcome),
        since=moment_of(query.since),
        until=moment_of(query.until),
        text=given(query.q),
    )


def moment_of(value: datetime | UnsetType) -> datetime | None:
    """As the record has them: UTC, without a zone."""
    if isinstance(value, UnsetType):
        return None
    if value.tzinfo is None:
        return value
    try:
        return value.astimezone(UTC).replace(tzinfo=None)
    except OverflowError as problem:  # the year 1 in another zone is the year 0
        raise bad_params("The moment is out of range") from problem
