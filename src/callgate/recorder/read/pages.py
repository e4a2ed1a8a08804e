"""What every store's lists have in common: conditions, cursors, and one event with its legs. Pure."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.ports.record_reader import EVENT_CURSOR, MEASURED, Facet, Measure, Order, Row, SessionFilter

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


def cursor_after(row: Row, order: Order) -> str:
    place = cursor_of(row["ts"], row["id"])
    if order not in MEASURED:
        return place
    measure, is_most_first = MEASURED[order]
    amount = _amount(row, measure)
    return f"{measure[0]}{missing(is_most_first) if amount is None else amount!r}~{place}"


def _amount(row: Row, measure: Measure) -> float | None:
    """As `event_sql` spells it in SQL."""
    if measure != "tokens":
        found = row["duration_ms"] if measure == "duration" else row["rows"]
        return None if found is None else float(found)
    known = [tokens for tokens in (row["request_tokens"], row["response_tokens"]) if tokens is not None]
    return float(sum(known)) if known else None


def missing(is_most_first: bool) -> float:
    """What stands for a measure that a row does not have: such rows come last."""
    return -1.0 if is_most_first else 1e15


@dataclass(frozen=True, slots=True)
class PlaceInOrder:
    """Of a row, as a cursor names it."""

    amount: float | None  # of the measure that the page is ordered by
    moment: datetime
    event_id: str


def read_event_cursor(cursor: str, order: Order) -> PlaceInOrder:
    """Raises CallerError."""
    measured, _, place = cursor.rpartition("~")
    wanted = MEASURED[order][0][0] if order in MEASURED else ""
    if re.match(EVENT_CURSOR, cursor) and measured[:1] != wanted:
        text = "The cursor belongs to another order"
        raise CallerError(CALLER_BAD_PARAMS, text, hint="Start without a cursor")
    micros, event_id = read_cursor(cursor, EVENT_CURSOR, place)
    amount = float(measured[1:]) if measured else None
    return PlaceInOrder(amount, EPOCH + timedelta(microseconds=micros), event_id)


def session_cursor_after(row: Row) -> str:
    return cursor_of(row["created_at"], row["session_id"])


def cursor_of(moment: datetime, row_id: str) -> str:
    return f"{(moment - EPOCH) // timedelta(microseconds=1)}.{row_id}"


def read_cursor(cursor: str, form: str, place: str | None = None) -> tuple[int, str]:
    """`place`: where the moment begins, if not with the cursor. Raises CallerError."""
    if not re.match(form, cursor):
        raise CallerError(CALLER_BAD_PARAMS, "The cursor is not valid", hint="Start without a cursor")
    micros, _, row_id = (place or cursor).rstrip("\n").partition(".")  # which a form's $ lets pass
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
