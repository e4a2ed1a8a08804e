"""SQL that sums up a stretch of the record. Pure: text and parameters.

Of few calls the percentiles are exact. Of many the calls are counted by the logarithm of their duration:
a bucket is 8 % wide, so its middle is within 4 % of every duration in it.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from callgate.ports.record_reader import EventFilter
from callgate.recorder.read.pages import Where
from callgate.recorder.read.sums import GROUPED, MOST_GROUPS, SETS
from callgate.recorder.stores.postgres.events import EVENTS, counted, where

EXACT_ROWS = 100_000
_QUANTILES = (0.5, 0.95, 0.99)
_LEAST_MS, _WIDTH, _MOST_BUCKETS = 0.001, 1.08, 255
STRETCH = f"SELECT min(ts), max(ts) FROM {EVENTS}"  # noqa: S608
ROWS = counted("e.ts >= $1 AND e.ts < $2 AND e.stored_on >= $3", EXACT_ROWS)
_SUMS = (
    "count(*), count(*) FILTER (WHERE NOT ok), count(*) FILTER (WHERE outcome = 'refused'),"
    " coalesce(sum(coalesce(request_tokens, 0) + coalesce(response_tokens, 0)), 0)::bigint,"
    " count(DISTINCT session_id), {quantiles}"
)
_EXACT = "percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY duration_ms)"
_COLUMNS = ", ".join(GROUPED)
_BUCKET = (
    f"least({_MOST_BUCKETS}, greatest(0, floor(ln(greatest(duration_ms, {_LEAST_MS}) / {_LEAST_MS})"
    f" / ln({_WIDTH}))))::int"
)


def stats_query(which: EventFilter, width_s: int, is_exact: bool) -> Where:
    """Without percentiles, unless exact ones are to be had."""
    found = where(which)
    sums = _SUMS.format(quantiles=_EXACT if is_exact else "NULL::float8[]")
    return Where(
        f"SELECT * FROM (SELECT grouping({_COLUMNS}) AS kind, {_COLUMNS}, {sums},"  # noqa: S608
        f" row_number() OVER (PARTITION BY grouping({_COLUMNS}) ORDER BY count(*) DESC) AS place"
        f" FROM {_rows(found, width_s)} GROUP BY {_sets()}) AS summed"
        f" WHERE bucket IS NOT NULL OR place <= {MOST_GROUPS}",
        found.params,
    )


def durations_query(which: EventFilter, width_s: int) -> Where:
    """How many calls of each set have about which duration."""
    found = where(which)
    return Where(
        f"SELECT grouping({_COLUMNS}), {_COLUMNS}, width, count(*)"  # noqa: S608
        f" FROM {_rows(found, width_s)} WHERE width IS NOT NULL GROUP BY {_sets('width')}",
        found.params,
    )


def _rows(found: Where, width_s: int) -> str:
    bucket = f"floor(extract(epoch FROM ts) / {int(width_s)})::bigint AS bucket"
    return (
        f"(SELECT *, {bucket}, {_BUCKET} AS width FROM {EVENTS}"  # noqa: S608
        f" WHERE {found.sql} AND e.sender = 'client' AND e.outcome IS NOT NULL) AS e"
    )


def _sets(*also: str) -> str:
    return (
        "GROUPING SETS (" + ", ".join(f"({', '.join((*columns, *also))})" for columns in SETS.values()) + ")"
    )


def answers(rows: Iterable[Sequence[Any]], durations: Iterable[Sequence[Any]] | None) -> list[Sequence[Any]]:
    """As `sums.stats_of` wants them; `durations`: where percentiles are not exact."""
    found = [list(row)[:-1] for row in rows]  # without its place
    if durations is None:
        return list(found)
    counts: dict[tuple[Any, ...], dict[int, int]] = {}
    for *key, width, count in durations:
        counts.setdefault(tuple(key), {})[width] = count
    keys = len(GROUPED) + 1
    return [[*row[:-1], _quantiles(counts.get(tuple(row[:keys]), {}))] for row in found]


def _quantiles(counts: dict[int, int]) -> list[float] | None:
    total = sum(counts.values())
    if not total:
        return None
    reached, at = 0, 0
    ordered = sorted(counts.items())
    found: list[float] = []
    for quantile in _QUANTILES:
        while reached + ordered[at][1] < math.ceil(quantile * total):
            reached += ordered[at][1]
            at += 1
        found.append(_LEAST_MS * _WIDTH ** (ordered[at][0] + 0.5))
    return found
