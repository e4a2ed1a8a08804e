"""SQL over `rpc_events` and `sessions`: filters, pages and one event with its legs. Pure.

Sessions are ordered by when they began, which does not change: a page that follows another neither repeats
nor skips one, whoever calls meanwhile.
"""

from dataclasses import dataclass
from typing import Any

from callgate.ports.record_reader import SESSION_CURSOR, EventFilter, Order, SessionFilter
from callgate.recorder.read.event_sql import EventSql, goes_down
from callgate.recorder.read.facets import FacetQuery
from callgate.recorder.read.pages import SHOWN_CHARS, Where, page_of_sessions, read_cursor, sessions_where

PAGE_COLUMNS = (
    "id::VARCHAR AS id, seq, ts, session_id, kind, sender, method, rpc_id, server_name, server_version,"
    " server_protocol, tool_name, source_id, duration_ms, ok, error, error_code, outcome, ended_by, client,"
    f" left(request_json, {SHOWN_CHARS}) AS request_json, annotations, request_bytes, response_bytes,"
    " request_tokens, response_tokens, tokens_by, is_redacted, is_cut, sql, statement_type, mode, verdict,"
    " rule, tables, rows, truncated, cached, trace_id, principal, via"
)
# In two steps: which rows, by narrow columns; then the wide ones of those, for which the order of ids and
# moments lets DuckDB skip all other row groups. In one step it would unpack every body the filter meets.
WHICH = "SELECT id, ts FROM rpc_events WHERE {where} {ordered} LIMIT {limit}"
PAGE = f"""
SELECT {PAGE_COLUMNS} FROM rpc_events
WHERE ts BETWEEN $1 AND $2 AND list_contains($3::TIMESTAMP[], ts) AND id IN (SELECT unnest($4::UUID[]))
"""  # noqa: S608
# In one pass how many there are, and the last moment or measure that can be on the page: with it DuckDB skips
# all other row groups. To sort a million rows for fifty costs four times as much.
SURVEY = """
SELECT list_last({pick}({by}, {limit}) FILTER ({on_page})), count(*) FROM rpc_events WHERE {where}
"""
ONE_EVENT = "SELECT * REPLACE (id::VARCHAR AS id) FROM rpc_events WHERE id = TRY_CAST($1 AS UUID)"
IDS = """
SELECT id::VARCHAR FROM rpc_events
WHERE (starts_with(id::VARCHAR, $1) OR suffix(id::VARCHAR, $1)) AND ($3::VARCHAR IS NULL OR method = $3)
ORDER BY rpc_events.id DESC LIMIT $2
"""
HOPS = """
SELECT * EXCLUDE (event_id) FROM rpc_event_upstreams WHERE event_id = TRY_CAST($1 AS UUID)
ORDER BY started_ms NULLS LAST
"""
_LANE = (
    "id::VARCHAR AS id, ts, kind, sender, method, server_name, tool_name, duration_ms, outcome, error_code"
)
# What a server said and asked on a call's own stream has the client's id of the call.
SAID = f"""
SELECT {_LANE}, left(request_json, {SHOWN_CHARS}) AS request_json,
    left(response_json, {SHOWN_CHARS}) AS response_json FROM rpc_events
WHERE ts BETWEEN $1 AND $2 AND session_id = $3 AND rpc_id = $4 AND sender = 'server'
    AND tool_name IS NOT DISTINCT FROM $5
ORDER BY ts, rpc_events.id LIMIT 1000
"""  # noqa: S608
LANES = f"""
SELECT {_LANE} FROM rpc_events WHERE session_id = $1 ORDER BY ts DESC, rpc_events.id DESC LIMIT $2
"""  # noqa: S608
EVENTS_AFTER = f"""
SELECT {PAGE_COLUMNS} FROM rpc_events WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3
"""  # noqa: S608
_TEXTS = ("tool_name", "sql", "error", "request_json", "response_json")
_SQL = EventSql(
    is_one_of="list_contains({{}}, coalesce({column}, ''))",
    of_principal="session_id IN (SELECT session_id FROM sessions WHERE principal = {})",
    has_text="(" + " OR ".join(f"contains(lower({text}), {{0}})" for text in _TEXTS) + ")",
    is_behind="({amount}ts, id) {side} ({given}{{}}::TIMESTAMP, {{}}::UUID)",
    number="{}::DOUBLE",
    as_number="coalesce(({value})::DOUBLE, {missing})",
    id_between="id BETWEEN {}::UUID AND {}::UUID",
    has_days=False,
)
where = _SQL.where


@dataclass(frozen=True, slots=True)
class EventPageQuery:
    """The page behind the row that the cursor names, in that order."""

    found: Where
    on_page: Where  # beside `found`, whose parameters come first
    limit: int
    order: Order

    def survey(self) -> Where:
        sql = SURVEY.format(
            where=self.found.sql,
            on_page=self.on_page.sql,
            pick="max" if goes_down(self.order) else "min",
            by=_SQL.amount(self.order) or "ts",
            limit=self.limit,
        )
        return Where(sql, self.on_page.params)

    def which(self, edge: Any) -> Where:
        """`edge`: as surveyed."""
        both = Where(f"{self.found.sql} AND {self.on_page.sql}", self.on_page.params)
        by = _SQL.amount(self.order) or "ts"
        both = both.also(f"{by} >= {{}}" if goes_down(self.order) else f"{by} <= {{}}", edge)
        sql = WHICH.format(where=both.sql, ordered=_SQL.ordered(self.order), limit=self.limit)
        return Where(sql, both.params)


def page_query(which: EventFilter, limit: int, cursor: str | None, order: Order) -> EventPageQuery:
    """Raises CallerError for a bad cursor."""
    found = where(which)
    return EventPageQuery(found, _SQL.behind(Where("true", found.params), cursor, order), limit, order)


def facet_query(which: EventFilter) -> FacetQuery:
    return FacetQuery(_SQL, which, "rpc_events")


ONE_SESSION = "SELECT * FROM sessions WHERE session_id = $1"
SESSION_IDS = """
SELECT session_id FROM sessions WHERE starts_with(session_id, $1) OR suffix(session_id, $1)
ORDER BY created_at DESC, session_id DESC LIMIT $2
"""


def session_count(which: SessionFilter) -> Where:
    found = sessions_where(which)
    return Where(f"SELECT count(*) FROM sessions WHERE {found.sql}", found.params)  # noqa: S608


def session_page(which: SessionFilter, cursor: str | None, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more."""
    found = sessions_where(which)
    if cursor is not None:
        micros, session_id = read_cursor(cursor, SESSION_CURSOR)
        found = found.also("(created_at, session_id) < (make_timestamp({}::BIGINT), {})", micros, session_id)
    return page_of_sessions("sessions", found, limit, offset)
