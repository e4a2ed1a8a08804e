"""The conditions of an `EventFilter` as SQL. Pure: text and parameters.

What the conditions are is said here, once. A store says only how it spells them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from callgate.ports.record_reader import EVENT_CURSOR, EventFilter, Order
from callgate.recorder.read.pages import COLUMNS, EPOCH, Where, day_before, read_cursor

WAYS: Mapping[Order, str] = {"newest": "DESC", "oldest": "ASC"}


@dataclass(frozen=True, slots=True)
class EventSql:
    """A store's own words. {} stands for a value, and {{}} where {column} stands for a name."""

    is_one_of: str  # {column} is in a list of texts; a value that is missing is the empty text
    of_principal: str  # the session is one of this principal's
    has_text: str
    is_behind: str  # moment and id come after these two; {side}: < or >
    alias: str = ""  # what is written before a column, as e.
    has_days: bool = True  # a row also has the day on which it was stored
    text_as: Callable[[str], str] = str.lower  # how a text is looked for

    def where(self, which: EventFilter, text_reach_s: float | None = None) -> Where:
        """`text_reach_s`: how far back a text is looked for, unless `since` says more."""
        found = Where("true", [])
        for facet, values in which.only.items():
            found = self._one_of(found, COLUMNS[facet], values)
        for facet, values in which.without.items():
            if values:  # what has no value at all has none of these, unless the empty one is among them
                found = found.also(f"NOT ({self.is_one_of.format(column=COLUMNS[facet])})", list(values))
        since = which.since
        if which.text and since is None and text_reach_s is not None:
            since = (which.until or datetime.now(UTC).replace(tzinfo=None)) - timedelta(seconds=text_reach_s)
        if since is not None:
            found = found.also(f"{self.alias}ts >= {{}}", since)
            if self.has_days:
                found = found.also(f"{self.alias}stored_on >= {{}}", day_before(since))
        if which.until is not None:
            found = found.also(f"{self.alias}ts < {{}}", which.until)
        if which.principal is not None:
            found = found.also(self.of_principal, which.principal)
        return found.also(self.has_text, self.text_as(which.text)) if which.text else found

    def _one_of(self, found: Where, column: str, values: Sequence[str]) -> Where:
        if not values:
            return found
        if len(values) == 1 and values[0]:  # which an index can answer, and lets DuckDB skip row groups
            return found.also(f"{self.alias}{column} = {{}}", values[0])
        return found.also(self.is_one_of.format(column=column), list(values))

    def behind(self, found: Where, cursor: str | None, order: Order) -> Where:
        """What follows the row that the cursor names, in that order. Raises CallerError for a bad one."""
        if cursor is None:
            return found
        micros, event_id = read_cursor(cursor, EVENT_CURSOR)
        side = "<" if order == "newest" else ">"
        return found.also(self.is_behind.format(side=side), EPOCH + timedelta(microseconds=micros), event_id)
