"""SQL that sums up a stretch of the record. Pure: text and parameters."""

from callgate.ports.record_reader import EventFilter
from callgate.recorder.read.pages import Where
from callgate.recorder.read.sums import GROUPED, MOST_GROUPS, SETS
from callgate.recorder.stores.duckdb.events import where

# Exact quantiles hold every duration of every set: of so many, in a quarter of the store's memory.
EXACT_ROWS = 1_000_000

STRETCH = "SELECT min(ts), max(ts), count(*) FILTER (ts >= $1 AND ts < $2) FROM rpc_events"
_SUMS = (
    "count(*), count(*) FILTER (NOT ok), count(*) FILTER (outcome = 'refused'),"
    " coalesce(sum(coalesce(request_tokens, 0) + coalesce(response_tokens, 0)), 0)::BIGINT,"
    " count(DISTINCT session_id), {quantile}(duration_ms, [0.5, 0.95, 0.99])"
)


def stats_query(which: EventFilter, width_s: int, rows: int) -> Where:
    """`rows`: about how many the stretch has, filtered or not."""
    found = where(which)
    sums = _SUMS.format(quantile="quantile_cont" if rows <= EXACT_ROWS else "approx_quantile")
    sets = ", ".join(f"({', '.join(columns)})" for columns in SETS.values())
    columns = ", ".join(GROUPED)
    return Where(
        f"SELECT grouping({columns}), {columns}, {sums} FROM ("  # noqa: S608
        f"SELECT *, epoch_us(ts) // {int(width_s) * 1_000_000} AS bucket FROM rpc_events"
        f" WHERE {found.sql} AND sender = 'client' AND outcome IS NOT NULL"
        f") GROUP BY GROUPING SETS ({sets})"
        f" QUALIFY grouping(bucket) = 0 OR row_number()"
        f" OVER (PARTITION BY grouping({columns}) ORDER BY count(*) DESC) <= {MOST_GROUPS}",
        found.params,
    )
