"""SQL that sums up a stretch of the record. Pure: text and parameters.

Of up to a million calls the percentiles are exact; of more they are those of a t-digest.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from callgate.ports.record_reader import EventFilter
from callgate.recorder.read.pages import Where
from callgate.recorder.read.sums import GROUPED, MOST_GROUPS, SETS
from callgate.recorder.stores.clickhouse.events import where
from callgate.recorder.stores.clickhouse.schema import EVENTS, RECORD

EXACT_ROWS = 1_000_000
# $1 and $2: the stretch that is asked for.
STRETCH = f"""
SELECT minOrNull(ts) AS first, maxOrNull(ts) AS last, countIf(ts >= $1 AND ts < $2) AS calls
FROM {RECORD} WHERE {EVENTS}
"""  # noqa: S608
_SUMS = (
    "count() AS calls, countIf(NOT ok), countIf(outcome = 'refused'),"
    " sum(ifNull(request_tokens, 0) + ifNull(response_tokens, 0)), uniqExact(session_id),"
    " {quantiles}(0.5, 0.95, 0.99)(duration_ms)"
)
_COLUMNS = ", ".join(GROUPED)


def stats_query(which: EventFilter, width_s: int, calls: int) -> Where:
    """`calls`: how many there are at most."""
    found = where(which)
    sums = _SUMS.format(quantiles="quantilesExactInclusive" if calls <= EXACT_ROWS else "quantilesTDigest")
    sets = ", ".join(f"({', '.join(columns)})" for columns in SETS.values())
    bucket = f"toInt64(floor(toUnixTimestamp64Micro(ts) / {int(width_s) * 1_000_000})) AS bucket"
    return Where(
        f"SELECT * EXCEPT (place) FROM (SELECT *, row_number() OVER (PARTITION BY set ORDER BY calls DESC)"  # noqa: S608
        f" AS place FROM (SELECT grouping({_COLUMNS}) AS set, {_COLUMNS}, {sums}"
        f" FROM (SELECT *, {bucket} FROM {RECORD} WHERE {EVENTS} AND {found.sql}"
        f" AND sender = 'client' AND outcome IS NOT NULL) GROUP BY GROUPING SETS ({sets})))"
        f" WHERE set = {_OF_BUCKETS} OR place <= {MOST_GROUPS}",
        found.params,
    )


# A bit for each column that is not grouped by, the first column's the highest.
_OF_BUCKETS = 2 ** (len(GROUPED) - 1) - 1


def answers(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """As `sums.stats_of` wants them: of no durations there are no percentiles."""
    return [[*row[:-1], row[-1] if row[-1] and row[-1][0] is not None else None] for row in rows]
