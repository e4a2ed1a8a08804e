"""SQL over `rpc_events`: filters, pages and one event with its legs. Pure: text and parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from callgate.ports.record_reader import EVENT_CURSOR, EventFilter, Order
from callgate.recorder.read.pages import COLUMNS, SHOWN_CHARS, Where, read_cursor

PAGE_COLUMNS = (
    "id::VARCHAR AS id, seq, ts, session_id, kind, sender, method, rpc_id, server_name, server_version,"
    " server_protocol, tool_name, source_id, duration_ms, ok, error, error_code, outcome, ended_by, client,"
    f" left(request_json, {SHOWN_CHARS}) AS request_json, annotations, request_bytes, response_bytes,"
    " request_tokens, response_tokens, tokens_by, is_redacted, is_cut, sql, statement_type, mode, verdict,"
    " rule, tables, rows, truncated, cached, trace_id, principal, via"
)
# In two steps: which rows, by narrow columns; then the wide ones of those, for which the order of ids and
# moments lets DuckDB skip all other row groups. In one step it would unpack every body the filter meets.
WHICH = "SELECT id, ts FROM rpc_events WHERE {where} ORDER BY ts {way}, id {way} LIMIT {limit}"
PAGE = f"""
SELECT {PAGE_COLUMNS} FROM rpc_events
WHERE ts BETWEEN least($1, $2) AND greatest($1, $2) AND id IN (SELECT unnest($3::UUID[]))
ORDER BY ts {{way}}, rpc_events.id {{way}}
"""  # noqa: S608
# In one pass how many there are, and the last moment that can be on the page: with it DuckDB skips all other
# row groups. To sort a million rows for fifty costs four times as much.
SURVEY = """
SELECT list_last({pick}(ts, {limit}) FILTER ({on_page})), count(*) FROM rpc_events WHERE {where}
"""
PICKS: Mapping[Order, str] = {"newest": "max", "oldest": "min"}
WAYS: Mapping[Order, str] = {"newest": "DESC", "oldest": "ASC"}
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


def where(which: EventFilter) -> Where:
    found = Where("true", [])
    for facet, values in which.only.items():
        found = _one_of(found, COLUMNS[facet], values)
    for facet, values in which.without.items():
        found = _none_of(found, COLUMNS[facet], values)
    if which.since is not None:
        found = found.also("ts >= {}", which.since)
    if which.until is not None:
        found = found.also("ts < {}", which.until)
    if which.principal is not None:
        found = found.also(
            "session_id IN (SELECT session_id FROM sessions WHERE principal = {})", which.principal
        )
    if which.text:
        spelled = which.text.lower()
        texts = ("tool_name", "sql", "error", "request_json", "response_json")
        found = found.also(
            "(" + " OR ".join(f"contains(lower({text}), {{}})" for text in texts) + ")",
            *[spelled] * len(texts),
        )
    return found


def _one_of(found: Where, column: str, values: Sequence[str]) -> Where:
    if not values:
        return found
    if len(values) == 1 and values[0]:  # which lets DuckDB skip whole row groups
        return found.also(f"{column} = {{}}", values[0])
    return found.also(f"list_contains({{}}, coalesce({column}, ''))", list(values))


def _none_of(found: Where, column: str, values: Sequence[str]) -> Where:
    """What has no value at all has none of these, unless the empty one is among them."""
    if not values:
        return found
    return found.also(f"NOT list_contains({{}}, coalesce({column}, ''))", list(values))


@dataclass(frozen=True, slots=True)
class EventPageQuery:
    """The page behind the row that the cursor names, in that order."""

    found: Where
    on_page: Where  # beside `found`, whose parameters come first
    limit: int
    order: Order

    def survey(self) -> Where:
        pick = PICKS[self.order]
        sql = SURVEY.format(where=self.found.sql, on_page=self.on_page.sql, pick=pick, limit=self.limit)
        return Where(sql, self.on_page.params)

    def which(self, edge: datetime) -> Where:
        """`edge`: as surveyed."""
        both = Where(f"{self.found.sql} AND {self.on_page.sql}", self.on_page.params)
        both = both.also("ts >= {}" if self.order == "newest" else "ts <= {}", edge)
        return Where(WHICH.format(where=both.sql, way=WAYS[self.order], limit=self.limit), both.params)

    def rows(self) -> str:
        return PAGE.format(way=WAYS[self.order])


def page_query(which: EventFilter, limit: int, cursor: str | None, order: Order) -> EventPageQuery:
    """Raises CallerError for a bad cursor."""
    found = where(which)
    return EventPageQuery(found, _behind(Where("true", found.params), cursor, order), limit, order)


def _behind(found: Where, cursor: str | None, order: Order) -> Where:
    if cursor is None:
        return found
    micros, event_id = read_cursor(cursor, EVENT_CURSOR)
    side = "<" if order == "newest" else ">"
    return found.also(f"(ts, id) {side} (make_timestamp({{}}::BIGINT), {{}}::UUID)", micros, event_id)
