"""SQL over the events and the sessions: filters, pages and one event with its legs. Pure.

A session is the sum of what each batch knows of it. Conditions that hold for a session hold for the sum.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from callgate.ports.record_reader import SESSION_CURSOR, EventFilter, Order, SessionFilter
from callgate.recorder.read.event_sql import EventSql
from callgate.recorder.read.facets import FacetQuery
from callgate.recorder.read.pages import EPOCH, SHOWN_CHARS, Where, read_cursor, sessions_where
from callgate.recorder.read.sums import GROUPED, MOST_GROUPS, SETS
from callgate.recorder.stores.clickhouse.schema import BODIES, EVENTS, LEGS, RECORD, SESSIONS
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS

# What is no call of a source has no tables, which an array cannot say of itself.
_SPELLED = {"tables": "if(source_id IS NULL, NULL, tables::Variant(Array(String))) AS tables"}
_SHOWN = {name: f"leftUTF8({name}, {SHOWN_CHARS}) AS {name}" for name in BODIES}


def _told(names: Sequence[str], spelled: Mapping[str, str] | None = None) -> str:
    known = {**_SPELLED, **(spelled or {})}
    return ", ".join(known.get(name, f"`{name}`") for name in names)


_PAGE = _told([name for name in EVENT_COLUMNS if name != "response_json"], _SHOWN)
_WHOLE = _told(list(EVENT_COLUMNS))
ONE_EVENT = f"SELECT {_WHOLE} FROM {RECORD} WHERE {EVENTS} AND id = toUUID($1) AND stored_on >= $2 LIMIT 1"  # noqa: S608
_HOP_TOLD = ", ".join(f"`{name}`" for name in HOP_COLUMNS if name != "event_id")
HOPS = f"""
SELECT {_HOP_TOLD} FROM ({LEGS.format(also="AND id = toUUID($1) AND stored_on >= $2")})
ORDER BY started_ms NULLS LAST, leg_at
"""  # noqa: S608
_LANE_NAMES = (
    "id", "ts", "kind", "sender", "method", "server_name", "tool_name", "duration_ms", "outcome", "error_code"
)  # fmt: skip
# What a server said and asked on a call's own stream has the client's id of the call.
SAID = f"""
SELECT {_told((*_LANE_NAMES, *BODIES), _SHOWN)} FROM {RECORD}
WHERE {EVENTS} AND ts BETWEEN $1 AND $2 AND session_id = $3 AND rpc_id = $4 AND sender = 'server'
    AND ifNull(tool_name = $5, tool_name IS NULL AND $5 IS NULL)
ORDER BY ts, id LIMIT 1000
"""  # noqa: S608
OF_SESSION = "session_id = $1"
LANES = f"""
SELECT {_told(_LANE_NAMES)} FROM {RECORD} WHERE {EVENTS} AND {OF_SESSION} ORDER BY ts DESC, id DESC LIMIT $2
"""  # noqa: S608
EVENTS_AFTER = f"""
SELECT {_PAGE} FROM {RECORD} WHERE {EVENTS} AND seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3
"""  # noqa: S608
SOURCE_REQUESTS = f"""
SELECT id, ts, source_id, tool_name, sql, duration_ms, client, ok, error, error_code FROM {RECORD}
WHERE {EVENTS} AND source_id IS NOT NULL AND outcome IS NOT NULL AND ($1 IS NULL OR source_id = $1)
ORDER BY ts DESC, id DESC LIMIT 100 BY source_id
"""  # noqa: S608
_CONTAINS = [
    f"ifNull(positionCaseInsensitiveUTF8({name}, {{0}}), 0) > 0"
    for name in ("tool_name", "sql", "error", *BODIES)
]
_OF_PRINCIPAL = f"SELECT row_key FROM {RECORD} WHERE row_kind = 'session' AND principal = {{}}"  # noqa: S608
_SQL = EventSql(
    is_one_of="has({{}}, ifNull({column}, ''))",
    of_principal=f"session_id IN ({_OF_PRINCIPAL})",
    has_text=f"({' OR '.join(_CONTAINS)})",
    is_behind="({amount}ts, id) {side} ({given}{{}}, toUUID({{}}))",
    number="{}",
    as_number="ifNull(toFloat64({value}), {missing})",
    id_between="toString(id) BETWEEN {} AND {}",  # (ids themselves are sorted by their ends)
    text_as=str,
)
where = _SQL.where


def counted(condition: str) -> str:
    return f"SELECT count() AS total FROM {RECORD} WHERE {EVENTS} AND {condition}"  # noqa: S608


def page(found: Where, limit: int, cursor: str | None, order: Order) -> Where:
    """The page behind the row that the cursor names, in that order. Raises CallerError for a bad cursor."""
    found = _SQL.behind(found, cursor, order)
    return Where(
        f"SELECT {_PAGE} FROM {RECORD} WHERE {EVENTS} AND {found.sql}"  # noqa: S608
        f" {_SQL.ordered(order)} LIMIT {int(limit)}",
        found.params,
    )


def facet_query(which: EventFilter, text_reach_s: float | None) -> FacetQuery:
    return FacetQuery(_SQL, which, f"(SELECT * FROM {RECORD} WHERE {EVENTS})", text_reach_s)  # noqa: S608


def ids(piece: str, limit: int, method: str | None) -> Where:
    """Of events whose id begins or ends so, the newest first. (ClickHouse sorts ids by their ends.)"""
    return Where(
        f"SELECT id FROM {RECORD} WHERE {EVENTS}"  # noqa: S608
        " AND (startsWith(toString(id), $1) OR endsWith(toString(id), $1))"
        " AND ($2 IS NULL OR method = $2) ORDER BY toString(id) DESC LIMIT $3",
        [piece, method, limit],
    )


def exported(found: Where) -> Where:
    """Whole rows, oldest first."""
    return Where(
        f"SELECT {_WHOLE} FROM {RECORD} WHERE {EVENTS} AND {found.sql} ORDER BY ts, id",  # noqa: S608
        found.params,
    )


ONE_SESSION = SESSIONS.replace("GROUP BY", "AND row_key = $1 GROUP BY")
SESSION_IDS = f"""
SELECT row_key AS session_id FROM {RECORD}
WHERE row_kind = 'session' AND (startsWith(row_key, $1) OR endsWith(row_key, $1))
GROUP BY row_key ORDER BY min(created_at) DESC, row_key DESC LIMIT $2
"""  # noqa: S608
_SESSION_CONTAINS = "ifNull(positionCaseInsensitiveUTF8({}, {{0}}), 0) > 0"


def session_count(which: SessionFilter) -> Where:
    found = sessions_where(which, _SESSION_CONTAINS)
    return Where(f"SELECT count() AS total FROM ({SESSIONS}) WHERE {found.sql}", found.params)  # noqa: S608


def session_page(which: SessionFilter, cursor: str | None, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more."""
    found = sessions_where(which, _SESSION_CONTAINS)
    if cursor is not None:
        micros, session_id = read_cursor(cursor, SESSION_CURSOR)
        moment = EPOCH + timedelta(microseconds=micros)
        found = found.also("(created_at, session_id) < ({}, {})", moment, session_id)
    return Where(
        f"SELECT * FROM ({SESSIONS}) WHERE {found.sql}"  # noqa: S608
        f" ORDER BY created_at DESC, session_id DESC LIMIT {int(limit) + 1} OFFSET {int(offset)}",
        found.params,
    )


# Sums of a stretch: of up to a million calls the percentiles are exact; of more they are those of a t-digest.
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
_STATS_COLUMNS = ", ".join(GROUPED)


def stats_query(which: EventFilter, width_s: int, calls: int) -> Where:
    """`calls`: how many there are at most."""
    found = where(which)
    sums = _SUMS.format(quantiles="quantilesExactInclusive" if calls <= EXACT_ROWS else "quantilesTDigest")
    sets = ", ".join(f"({', '.join(columns)})" for columns in SETS.values())
    bucket = f"toInt64(floor(toUnixTimestamp64Micro(ts) / {int(width_s) * 1_000_000})) AS bucket"
    return Where(
        f"SELECT * EXCEPT (place) FROM (SELECT *, row_number() OVER (PARTITION BY set ORDER BY calls DESC)"  # noqa: S608
        f" AS place FROM (SELECT grouping({_STATS_COLUMNS}) AS set, {_STATS_COLUMNS}, {sums}"
        f" FROM (SELECT *, {bucket} FROM {RECORD} WHERE {EVENTS} AND {found.sql}"
        f" AND sender = 'client' AND outcome IS NOT NULL) GROUP BY GROUPING SETS ({sets})))"
        f" WHERE set = {_OF_BUCKETS} OR place <= {MOST_GROUPS}",
        found.params,
    )


# A bit for each column that is not grouped by, the first column's the highest.
_OF_BUCKETS = 2 ** (len(GROUPED) - 1) - 1


def stats_answers(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """As `sums.stats_of` wants them: of no durations there are no percentiles."""
    return [[*row[:-1], row[-1] if row[-1] and row[-1][0] is not None else None] for row in rows]
