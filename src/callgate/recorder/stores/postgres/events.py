"""SQL over the events and the sessions: filters, pages and one event with its legs. Pure.

A session is the sum of what each writer knows of it. Conditions that hold for a session hold for the sum.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from callgate.ports.record_reader import SESSION_CURSOR, EventFilter, Order, SessionFilter
from callgate.recorder.read.event_sql import EventSql
from callgate.recorder.read.facets import FacetQuery
from callgate.recorder.read.pages import (
    EPOCH,
    SHOWN_CHARS,
    Where,
    page_of_sessions,
    read_cursor,
    sessions_where,
)
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS
from callgate.recorder.stores.postgres.schema import EVENT_NAMES, SESSIONS, STORE

_BODIES = ("request_json", "response_json")
_NAMES = ", ".join(f'"{name}"' for name in EVENT_NAMES)
# Settled and open ones. An open one has its bodies itself.
EVENTS = f"""(
SELECT {_NAMES}, stored_on, NULL::text AS open_request_json, NULL::text AS open_response_json
FROM {STORE}.rpc_events
UNION ALL SELECT {_NAMES}, 'infinity'::date, request_json, response_json FROM {STORE}.rpc_open
) AS e"""  # noqa: S608
_OF_BODY = f"LEFT JOIN {STORE}.rpc_bodies AS b ON b.id = e.id AND b.leg = 0 AND b.stored_on = e.stored_on"
_SHOWN = {name: f"left(coalesce(e.open_{name}, b.{name}), {SHOWN_CHARS}) AS {name}" for name in _BODIES}
_WHOLE = {name: f"coalesce(e.open_{name}, b.{name}) AS {name}" for name in _BODIES}


def _told(names: Sequence[str], bodies: Mapping[str, str]) -> str:
    spelled = {"id": "e.id::text AS id", **bodies}
    return ", ".join(spelled.get(name, f'e."{name}"') for name in names)


PAGE_NAMES = [name for name in EVENT_COLUMNS if name != "response_json"]
_PAGE = _told(PAGE_NAMES, _SHOWN)
ONE_EVENT = f"""
SELECT {_told(list(EVENT_COLUMNS), _WHOLE)} FROM {EVENTS} {_OF_BODY}
WHERE e.id = $1::uuid AND e.stored_on >= $2
"""  # noqa: S608
_HOP_TOLD = [f'{"b" if name in _BODIES else "u"}."{name}"' for name in HOP_COLUMNS if name != "event_id"]
HOPS = f"""
SELECT {", ".join(_HOP_TOLD)}
FROM {STORE}.rpc_event_upstreams AS u
LEFT JOIN {STORE}.rpc_bodies AS b ON b.id = u.event_id AND b.leg = u.leg AND b.stored_on = u.stored_on
WHERE u.event_id = $1::uuid AND u.stored_on >= $2 ORDER BY u.started_ms NULLS LAST, u.leg
"""  # noqa: S608
_LANE_NAMES = (
    "id", "ts", "kind", "sender", "method", "server_name", "tool_name", "duration_ms", "outcome", "error_code"
)  # fmt: skip
# What a server said and asked on a call's own stream has the client's id of the call.
SAID = f"""
SELECT {_told((*_LANE_NAMES, *_BODIES), _SHOWN)} FROM {EVENTS} {_OF_BODY}
WHERE e.ts BETWEEN $1 AND $2 AND e.session_id = $3 AND e.rpc_id = $4 AND e.sender = 'server'
    AND e.tool_name IS NOT DISTINCT FROM $5
ORDER BY e.ts, e.id LIMIT 1000
"""  # noqa: S608
LANES = f"""
SELECT {_told(_LANE_NAMES, {})} FROM {EVENTS} WHERE e.session_id = $1 ORDER BY e.ts DESC, e.id DESC LIMIT $2
"""  # noqa: S608
OF_SESSION = "e.session_id = $1"
# $1 and $2: batches and their numbers, $3: the days on which they were stored; $4 and $5: the number and the
# place of the last row that is known, $6: how many. Versions before did not write a row's place.
NUMBERED = f"""
SELECT {_told(PAGE_NAMES, {**_SHOWN, "seq": "(e.number << 16 | e.at) AS seq"})} FROM (
    SELECT * FROM (
        SELECT t.*, NULL::text AS open_request_json, NULL::text AS open_response_json, n.number,
            coalesce(t.place, row_number() OVER (PARTITION BY t.batch ORDER BY t.seq, t.id) - 1) AS at
        FROM {STORE}.rpc_events AS t
        JOIN unnest($1::bigint[], $2::bigint[]) AS n(batch, number) ON n.batch = t.batch
        WHERE t.stored_on = ANY($3::date[])
    ) AS numbered WHERE number > $4 OR at > $5 ORDER BY number, at LIMIT $6
) AS e {_OF_BODY} ORDER BY e.number, e.at
"""  # noqa: S608
# Of each source the newest hundred, among as many as a page may wait for.
SOURCE_REQUESTS = f"""
SELECT id::text, ts, source_id, tool_name, sql, duration_ms, client, ok, error, error_code FROM (
    SELECT *, row_number() OVER (PARTITION BY source_id ORDER BY ts DESC, id DESC) AS age FROM (
        SELECT * FROM {EVENTS}
        WHERE source_id IS NOT NULL AND outcome IS NOT NULL AND ($1::text IS NULL OR source_id = $1)
        ORDER BY ts DESC, id DESC LIMIT 20000) AS newest
) AS numbered WHERE age <= 100 ORDER BY ts DESC, id DESC
"""  # noqa: S608


def _contains(*columns: str) -> str:
    return " OR ".join(f"strpos(lower({column}), {{0}}) > 0" for column in columns)


_SQL = EventSql(
    alias="e.",
    is_one_of="coalesce(e.{column}, '') = ANY({{}}::text[])",
    of_principal=f"e.session_id IN (SELECT session_id FROM {STORE}.session_parts WHERE principal = {{}})",  # noqa: S608
    has_text=(
        f"({_contains('e.tool_name', 'e.sql', 'e.error', 'e.open_request_json', 'e.open_response_json')}"
        " OR EXISTS ("
        f"SELECT FROM {STORE}.rpc_bodies AS t WHERE t.id = e.id AND t.leg = 0 AND t.stored_on = e.stored_on"
        f" AND ({_contains('t.request_json', 't.response_json')})))"
    ),
    is_behind="({amount}e.ts, e.id) {side} ({given}{{}}::timestamp, {{}}::uuid)",
    number="{}::float8",
    as_number="coalesce(({value})::float8, {missing})",
    id_between="e.id BETWEEN {}::uuid AND {}::uuid",
)
where = _SQL.where


def counted(condition: str, most: int) -> str:
    """How many there are, as far as `most`; one more: there are more."""
    return f"SELECT count(*) FROM (SELECT FROM {EVENTS} WHERE {condition} LIMIT {most + 1}) AS found"  # noqa: S608


def page(found: Where, limit: int, cursor: str | None, order: Order) -> Where:
    """The page behind the row that the cursor names, in that order. Raises CallerError for a bad cursor."""
    found = _SQL.behind(found, cursor, order)
    ordered = _SQL.ordered(order)
    return Where(
        f"SELECT {_PAGE} FROM (SELECT * FROM {EVENTS} WHERE {found.sql} {ordered} LIMIT {int(limit)}) AS e"  # noqa: S608
        f" {_OF_BODY} {ordered}",
        found.params,
    )


def facet_query(which: EventFilter, text_reach_s: float | None) -> FacetQuery:
    return FacetQuery(_SQL, which, EVENTS, text_reach_s)


def ids(piece: str, limit: int, method: str | None) -> Where:
    """Of events whose id begins or ends so, the newest first."""
    return Where(
        f"SELECT e.id::text FROM {EVENTS}"  # noqa: S608
        " WHERE (starts_with(e.id::text, $1) OR right(e.id::text, length($1)) = $1)"
        " AND ($2::text IS NULL OR e.method = $2) ORDER BY e.id DESC LIMIT $3",
        [piece, method, limit],
    )


def exported(found: Where) -> Where:
    """Whole rows, oldest first."""
    return Where(
        f"SELECT {_told(list(EVENT_COLUMNS), _WHOLE)} FROM {EVENTS} {_OF_BODY} WHERE {found.sql}"  # noqa: S608
        " ORDER BY e.ts, e.id",
        found.params,
    )


_SESSIONS = f"({SESSIONS}) AS s"
ONE_SESSION = SESSIONS.replace("GROUP BY", "WHERE session_id = $1 GROUP BY")
SESSION_IDS = f"""
SELECT session_id FROM {STORE}.session_parts
WHERE starts_with(session_id, $1) OR right(session_id, length($1)) = $1
GROUP BY session_id ORDER BY min(created_at) DESC, session_id DESC LIMIT $2
"""  # noqa: S608


def session_count(which: SessionFilter, most: int) -> Where:
    """As far as `most`; one more: there are more."""
    found = sessions_where(which)
    return Where(
        f"SELECT count(*) FROM (SELECT FROM {_SESSIONS} WHERE {found.sql} LIMIT {most + 1}) AS counted",  # noqa: S608
        found.params,
    )


def session_page(which: SessionFilter, cursor: str | None, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more."""
    found = sessions_where(which)
    if cursor is not None:
        micros, session_id = read_cursor(cursor, SESSION_CURSOR)
        moment = EPOCH + timedelta(microseconds=micros)
        found = found.also("(created_at, session_id) < ({}::timestamp, {}::text)", moment, session_id)
    return page_of_sessions(_SESSIONS, found, limit, offset)
