"""`GET /api/v1/facets`: how many calls each further value of a filter would find.

Takes the same filters as the lists and counts the same rows, so that a number beside a value is the length of
the list behind it.
"""

from collections.abc import Sequence

import msgspec

from callgate.api.operation import Asked, Operation
from callgate.api.record.queries import FilterQuery
from callgate.api.record.required_record import required
from callgate.api.record.short_ids import find_filter
from callgate.model.error_codes import CALLER_AMBIGUOUS_ID, CALLER_TOO_MANY_READS
from callgate.model.identity import Role
from callgate.ports.record_reader import Facet, RecordReader


class FacetValue(msgspec.Struct):
    value: str  # as the filter takes it; empty: those that have none
    calls: int


class FacetStep(msgspec.Struct):
    least: int  # as `min_duration_ms` or `min_tokens` takes it
    calls: int  # that have so much or more


class FacetsShape(msgspec.Struct):
    """Each list: what would be found with another value of that filter, and all other filters as they are.
    The most calls first, 200 at most."""

    server: list[FacetValue]
    tool: list[FacetValue]
    method: list[FacetValue]
    outcome: list[FacetValue]
    client: list[FacetValue]
    error_code: list[FacetValue]
    duration_ms: list[FacetStep]
    tokens: list[FacetStep]


class FacetsApi:
    def __init__(self, record: RecordReader | None) -> None:
        self._record = record

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/facets",
                "getFacets",
                "How many calls each further value of a filter would find",
                self.facets,
                FacetsShape,
                FilterQuery,
                errors=(CALLER_AMBIGUOUS_ID, CALLER_TOO_MANY_READS),
                role=Role.WATCH,
            )
        ]

    async def facets(self, asked: Asked[FilterQuery, None]) -> FacetsShape:
        which = await find_filter(self._record, asked.query)
        found = await required(self._record).facets(which)

        def values(facet: Facet, none: str = "") -> list[FacetValue]:
            return [FacetValue(value or none, calls) for value, calls in found.values[facet]]

        def steps(found: Sequence[tuple[int, int]]) -> list[FacetStep]:
            return [FacetStep(least, calls) for least, calls in found]

        return FacetsShape(
            values("server"),
            values("tool"),
            values("method"),
            values("outcome", "open"),
            values("client"),
            values("error_code"),
            steps(found.steps["duration"]),
            steps(found.steps["tokens"]),
        )
