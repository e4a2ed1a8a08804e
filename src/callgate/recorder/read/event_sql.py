"""The conditions of an `EventFilter` as SQL. Pure: text and parameters.

What the conditions are is said here, once. A store says only how it spells them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from callgate.ports.record_reader import MEASURED, Between, EventFilter, Measure, Order
from callgate.recorder.read.pages import COLUMNS, Where, day_before, missing, read_event_cursor

# {0} is what is written before a column. A call has tokens if those of either side were counted.
_MEASURES: Mapping[Measure, str] = {
    "duration": "{0}duration_ms",
    "tokens": ("coalesce({0}request_tokens + {0}response_tokens, {0}request_tokens, {0}response_tokens)"),
    "rows": "{0}rows",
}
_ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class EventSql:
    """A store's own words. {} stands for a value, and {{}} where {column} stands for a name."""

    is_one_of: str  # {column} is in a list of texts; a value that is missing is the empty text
    of_principal: str  # the session is one of this principal's
    has_text: str
    is_behind: str  # {amount}, moment and id come after these; {side}: < or >
    number: str  # a number that is given
    as_number: str  # {value} as a number, and {missing} where it has none
    id_between: str  # the id is one of those from the first to the second text
    alias: str = ""  # what is written before a column, as e.
    has_days: bool = True  # a row also has the day on which it was stored
    text_as: Callable[[str], str] = str.lower  # how a text is looked for

    def where(
        self, which: EventFilter, text_reach_s: float | None = None, params: Sequence[Any] = ()
    ) -> Where:
        """`text_reach_s`: how far back a text is looked for, unless `since` says more. `params`: those that
        stand before it."""
        found = Where("true", list(params))
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
        for measure, between in which.between.items():
            found = self._between(found, measure, between)
        if which.id_start is not None:
            found = found.also(self.id_between, *_ids_that_begin(which.id_start))
        return found.also(self.has_text, self.text_as(which.text)) if which.text else found

    def _one_of(self, found: Where, column: str, values: Sequence[str]) -> Where:
        if not values:
            return found
        if len(values) == 1 and values[0]:  # which an index can answer, and lets DuckDB skip row groups
            return found.also(f"{self.alias}{column} = {{}}", values[0])
        return found.also(self.is_one_of.format(column=column), list(values))

    def _between(self, found: Where, measure: Measure, between: Between) -> Where:
        for side, amount in ((">=", between.least), ("<=", between.most)):
            if amount is not None:
                found = found.also(f"{self.measure(measure)} {side} {self.number}", float(amount))
        return found

    def measure(self, measure: Measure) -> str:
        return _MEASURES[measure].format(self.alias)

    def amount(self, order: Order) -> str | None:
        """What the order is by beside the moment, as a number; None: nothing."""
        if order not in MEASURED:
            return None
        measure, is_most_first = MEASURED[order]
        return self.as_number.format(value=self.measure(measure), missing=missing(is_most_first))

    def ordered(self, order: Order) -> str:
        names = [name for name in (self.amount(order), f"{self.alias}ts", f"{self.alias}id") if name]
        return "ORDER BY " + ", ".join(f"{name} {'DESC' if goes_down(order) else 'ASC'}" for name in names)

    def behind(self, found: Where, cursor: str | None, order: Order) -> Where:
        """What follows the row that the cursor names, in that order. Raises CallerError for a bad one."""
        if cursor is None:
            return found
        place = read_event_cursor(cursor, order)
        amount = self.amount(order)
        sql = self.is_behind.format(
            side="<" if goes_down(order) else ">",
            amount="" if amount is None else f"{amount}, ",
            given="" if amount is None else f"{self.number}, ",
        )
        given = [place.moment, place.event_id]
        return found.also(sql, *given if amount is None else [place.amount, *given])


def goes_down(order: Order) -> bool:
    return MEASURED[order][1] if order in MEASURED else order == "newest"


def _ids_that_begin(text: str) -> tuple[str, str]:
    """The first and the last id that begin so."""
    digits = text.replace("-", "").lower()[:_ID_DIGITS]
    return str(UUID(digits.ljust(_ID_DIGITS, "0"))), str(UUID(digits.ljust(_ID_DIGITS, "f")))
