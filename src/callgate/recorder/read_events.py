"""SQL over `rpc_events`: filters, pages and one event with its legs. Pure: text and parameters."""

import base64
import binascii
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.ports.record_reader import EventFilter, Row

# What a list shows of a request; the whole is in the single event.
_SHOWN_CHARS = 2048
_MAX_MICROS = 2**62  # what the store can take for a moment, with room to spare
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as the store's moments are: UTC, without a zone

PAGE_COLUMNS = (
    "id::VARCHAR AS id, seq, ts, session_id, kind, sender, method, rpc_id, server_name, server_version,"
    " server_protocol, tool_name, source_id, duration_ms, ok, error, error_code, outcome, ended_by, client,"
    f" left(request_json, {_SHOWN_CHARS}) AS request_json, annotations, request_bytes, response_bytes,"
    " request_tokens, response_tokens, tokens_by, is_redacted, is_cut, sql, statement_type, mode, verdict,"
    " rule, tables, rows, truncated, cached, trace_id"
)
# In two steps: which rows, by narrow columns; then the wide ones of those, for which the order of ids and
# moments lets DuckDB skip all other row groups. In one step it would unpack every body the filter meets.
WHICH = "SELECT id, ts FROM rpc_events WHERE {where} ORDER BY ts DESC, id DESC LIMIT {limit}"
PAGE = f"""
SELECT {PAGE_COLUMNS} FROM rpc_events
WHERE ts BETWEEN $1 AND $2 AND id IN (SELECT unnest($3::UUID[])) ORDER BY ts DESC, rpc_events.id DESC
"""  # noqa: S608
ONE_EVENT = "SELECT * REPLACE (id::VARCHAR AS id) FROM rpc_events WHERE id = TRY_CAST($1 AS UUID)"
HOPS = """
SELECT * EXCLUDE (event_id) FROM rpc_event_upstreams WHERE event_id = TRY_CAST($1 AS UUID)
"""
EVENTS_AFTER = f"SELECT {PAGE_COLUMNS} FROM rpc_events WHERE seq > $1 ORDER BY seq LIMIT $2"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Where:
    """A condition and its parameters, numbered from $1."""

    sql: str
    params: list[Any]

    def also(self, sql: str, *params: Any) -> "Where":
        """`sql`: with one {} for each parameter."""
        marks = [f"${len(self.params) + number}" for number in range(1, len(params) + 1)]
        return Where(f"{self.sql} AND {sql.format(*marks)}", [*self.params, *params])


def where(which: EventFilter) -> Where:
    found = Where("true", [])
    for column, value in (
        ("session_id", which.session_id),
        ("server_name", which.server),
        ("tool_name", which.tool),
        ("method", which.method),
        ("outcome", which.outcome),
    ):
        if value is not None:
            found = found.also(f"{column} = {{}}", value)
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


def before(found: Where, cursor: str | None) -> Where:
    """What comes after the row that the cursor names, newest first."""
    if cursor is None:
        return found
    micros, event_id = read_cursor(cursor)
    try:
        known = str(uuid.UUID(event_id))
    except ValueError as problem:
        raise _not_ours() from problem
    return found.also("(ts, id) < (make_timestamp({}::BIGINT), {}::UUID)", micros, known)


def cursor_after(row: Row) -> str:
    return cursor_of(row["ts"], row["id"])


def cursor_of(moment: datetime, row_id: str) -> str:
    """Where a page ended: a client hands it back, and need not know what is in it."""
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(f"{micros} {row_id}".encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[int, str]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        micros, _, row_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition(" ")
        at = int(micros)
    except (ValueError, binascii.Error) as problem:
        raise _not_ours() from problem
    if abs(at) >= _MAX_MICROS or not row_id:
        raise _not_ours()
    return at, row_id


def _not_ours() -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, "The cursor is not one of ours", hint="Begin without a cursor")


def with_hops(row: Row, hops: list[Row]) -> Row:
    """A leg's body that was the exchange's own was not kept twice; here it is told."""
    for hop in hops:
        if hop.pop("same_request", False):
            hop["request_json"] = row["request_json"]
        if hop.pop("same_response", False):
            hop["response_json"] = row["response_json"]
    return {**row, "hops": hops}
