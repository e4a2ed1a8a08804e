"""SQL over the events: filters, pages and one event with its legs. Pure: text and parameters."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from callgate.ports.record_reader import EVENT_CURSOR, EventFilter, Order
from callgate.recorder.read.pages import COLUMNS, EPOCH, SHOWN_CHARS, Where, day_before, read_cursor
from callgate.recorder.stores.clickhouse.schema import BODIES, EVENTS, LEGS, RECORD
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS

WAYS: Mapping[Order, str] = {"newest": "DESC", "oldest": "ASC"}
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


def counted(condition: str) -> str:
    return f"SELECT count() AS total FROM {RECORD} WHERE {EVENTS} AND {condition}"  # noqa: S608


def where(which: EventFilter, text_reach_s: float | None = None) -> Where:
    """`text_reach_s`: how far back a text is looked for, unless `since` says more."""
    found = Where("true", [])
    for facet, values in which.only.items():
        found = _one_of(found, COLUMNS[facet], values)
    for facet, values in which.without.items():
        if values:  # what has no value at all has none of these, unless the empty one is among them
            found = found.also(f"NOT has({{}}, ifNull({COLUMNS[facet]}, ''))", list(values))
    since = which.since
    if which.text and since is None and text_reach_s is not None:
        since = (which.until or datetime.now(UTC).replace(tzinfo=None)) - timedelta(seconds=text_reach_s)
    if since is not None:
        found = found.also("ts >= {}", since).also("stored_on >= {}", day_before(since))
    if which.until is not None:
        found = found.also("ts < {}", which.until)
    if which.principal is not None:
        sessions = f"SELECT row_key FROM {RECORD} WHERE row_kind = 'session' AND principal = {{}}"  # noqa: S608
        found = found.also(f"session_id IN ({sessions})", which.principal)
    if which.text:
        looked_at = " OR ".join(
            f"ifNull(positionCaseInsensitiveUTF8({name}, {{0}}), 0) > 0"
            for name in ("tool_name", "sql", "error", *BODIES)
        )
        found = found.also(f"({looked_at})", which.text)
    return found


def _one_of(found: Where, column: str, values: Sequence[str]) -> Where:
    if not values:
        return found
    if len(values) == 1 and values[0]:  # which an index can answer
        return found.also(f"{column} = {{}}", values[0])
    return found.also(f"has({{}}, ifNull({column}, ''))", list(values))


def page(found: Where, limit: int, cursor: str | None, order: Order) -> Where:
    """The page behind the row that the cursor names, in that order. Raises CallerError for a bad cursor."""
    if cursor is not None:
        micros, event_id = read_cursor(cursor, EVENT_CURSOR)
        side = "<" if order == "newest" else ">"
        moment = EPOCH + timedelta(microseconds=micros)
        found = found.also(f"(ts, id) {side} ({{}}, toUUID({{}}))", moment, event_id)
    return Where(
        f"SELECT {_PAGE} FROM {RECORD} WHERE {EVENTS} AND {found.sql}"  # noqa: S608
        f" ORDER BY ts {WAYS[order]}, id {WAYS[order]} LIMIT {int(limit)}",
        found.params,
    )


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
