"""What every store's lists have in common: conditions, cursors, and one event with its legs. Pure."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.ports.record_reader import Facet, Row, SessionFilter

# What a list shows of a request; the whole is in the single event.
SHOWN_CHARS = 2048
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as the store's moments are: UTC, without a zone

COLUMNS: Mapping[Facet, str] = {
    "session_id": "session_id",
    "server": "server_name",
    "tool": "tool_name",
    "method": "method",
    "outcome": "outcome",
    "client": "client",
    "error_code": "error_code",
}
_SESSION_TEXTS = ("session_id", "client_name", "client_version", "workspace", "principal")


@dataclass(frozen=True, slots=True)
class Where:
    """A condition and its parameters, numbered from $1."""

    sql: str
    params: list[Any]

    def also(self, sql: str, *params: Any) -> "Where":
        """`sql`: with one {} for each parameter."""
        marks = [f"${len(self.params) + number}" for number in range(1, len(params) + 1)]
        return Where(f"{self.sql} AND {sql.format(*marks)}", [*self.params, *params])


def sessions_where(which: SessionFilter, contains: str = "strpos(lower({}), {{0}}) > 0") -> Where:
    """In SQL that every store understands. `contains`: that a column holds a text, in the store's words."""
    found = Where("true", [])
    for column, value in (
        ("client_name", which.client),
        ("era", which.era),
        ("principal", which.principal),
    ):
        if value is not None:
            found = found.also(f"{column} = {{}}", value)
    if which.is_open is not None:
        found = found.also("(ended_at IS NULL) = {}", which.is_open)
    if which.since is not None:
        found = found.also("last_seen_at >= {}", which.since)
    if which.until is not None:
        found = found.also("created_at < {}", which.until)
    if which.text:
        looked_at = " OR ".join(contains.format(text) for text in _SESSION_TEXTS)
        found = found.also(f"({looked_at})", which.text.lower())
    return found


def page_of_sessions(sessions: str, found: Where, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more. `sessions`: the table, or a query for it."""
    return Where(
        f"SELECT * FROM {sessions} WHERE {found.sql}"  # noqa: S608
        f" ORDER BY created_at DESC, session_id DESC LIMIT {int(limit) + 1} OFFSET {int(offset)}",
        found.params,
    )


def cursor_after(row: Row) -> str:
    return cursor_of(row["ts"], row["id"])


def session_cursor_after(row: Row) -> str:
    return cursor_of(row["created_at"], row["session_id"])


def cursor_of(moment: datetime, row_id: str) -> str:
    return f"{(moment - EPOCH) // timedelta(microseconds=1)}.{row_id}"


def read_cursor(cursor: str, form: str) -> tuple[int, str]:
    """Raises CallerError."""
    if not re.match(form, cursor):
        raise CallerError(CALLER_BAD_PARAMS, "The cursor is not valid", hint="Start without a cursor")
    micros, _, row_id = cursor.rstrip("\n").partition(".")  # which a form's $ lets pass
    return int(micros), row_id


def said_during(row: Row) -> list[Any]:
    """The parameters of SAID. What is still open may be told something any moment."""
    lasts = timedelta(days=1) if row["duration_ms"] is None else timedelta(milliseconds=row["duration_ms"])
    return [row["ts"], row["ts"] + lasts, row["session_id"], row["rpc_id"], row["tool_name"]]


def with_hops(row: Row, hops: list[Row]) -> Row:
    """A leg's body that was the exchange's own was not kept twice; here it is told."""
    for hop in hops:
        if hop.pop("same_request", False):
            hop["request_json"] = row["request_json"]
        if hop.pop("same_response", False):
            hop["response_json"] = row["response_json"]
    return {**row, "hops": hops}


def id_and_day(event_id: str) -> tuple[str, date] | None:
    """A valid id, and the first day on which it can have been stored: the id is a moment too (UUIDv7)."""
    try:
        found = uuid.UUID(event_id)
    except ValueError:
        return None
    if found.version != 7:
        return str(found), date.min
    return str(found), day_before(EPOCH + timedelta(milliseconds=found.int >> 80))


def day_before(moment: datetime) -> date:
    """What happened then was stored on that day or later, however our clock differs from the database's."""
    return moment.date() - timedelta(days=1) if moment.date() > date.min else date.min
