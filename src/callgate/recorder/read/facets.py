"""How many exchanges there are of each value, as SQL that every store understands, and its answer. Pure.

One pass over the rows for all facets. Facets that depend on one another are counted together at first
(`_PARTS`): that is half as many groups to look up for each row. The sums for each facet are of those few.
A row that fails the filter in one facet only still counts there, and nowhere else (`FacetCounts`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from callgate.ports.record_reader import EventFilter, Facet, FacetCounts, Measure
from callgate.recorder.read.event_sql import EventSql
from callgate.recorder.read.pages import COLUMNS, Where
from callgate.recorder.read.sums import MOST_GROUPS

_FACETS: Sequence[Facet] = ("server", "tool", "method", "outcome", "client", "error_code")
# What a person chooses from: that many milliseconds or tokens, or more.
_STEPS: Mapping[Measure, Sequence[int]] = {
    "duration": (10, 100, 1_000, 10_000),
    "tokens": (100, 1_000, 10_000, 100_000),
}
_MOST_VALUES = 200  # of a facet: nobody reads more, and a caller that makes up names must not make it grow
_KINDS: tuple[Facet | Measure, ...] = (*_FACETS, *_STEPS)
# None of them can be made to have many more groups than its facets have values.
_PARTS: Sequence[Sequence[Facet | Measure]] = (
    ("server", "tool"),
    ("method", "outcome", "error_code"),
    ("client",),
    ("duration", "tokens"),
)


def _grouping(kinds: Sequence[Facet | Measure]) -> int:
    """What `grouping` tells: a bit for each column that is not grouped by, the first column's the highest."""
    return sum(1 << len(_KINDS) - 1 - at for at, kind in enumerate(_KINDS) if kind not in kinds)


# By the two numbers that a row of the answer begins with.
_KIND_OF: Mapping[tuple[int, int], Facet | Measure] = {
    (_grouping(part), _grouping((kind,))): kind for part in _PARTS for kind in part
}


@dataclass(frozen=True, slots=True)
class FacetQuery:
    sql: EventSql
    which: EventFilter
    events: str  # the table, or a query for it
    text_reach_s: float | None = None

    @property
    def asked(self) -> Where:
        """A row for each value: which part and which facet (`grouping`), the value in its facet's column,
        where the rows fail the filter (0: nowhere, 1: in the first facet that it names only), how many."""
        found = self.sql.where(self._about_no_facet(), self.text_reach_s)
        told = [f"{self.sql.alias}{COLUMNS[facet]} AS f_{facet}" for facet in _FACETS]
        told += [f"{self.sql.measure(measure)} AS m_{measure}" for measure in _STEPS]
        params = found.params
        for kind in self._filtered:
            holds = self.sql.where(self._about(kind), params=params)
            told.append(f"CASE WHEN {holds.sql} THEN 0 ELSE 1 END AS not_{kind}")
            params = holds.params
        # Measures are computed once here: their steps name them four times.
        steps = ", ".join(
            f"{_step(f'm_{measure}', steps)} AS f_{measure}" for measure, steps in _STEPS.items()
        )
        rows = f"(SELECT {', '.join(told)} FROM {self.events} WHERE {found.sql}) AS told"  # noqa: S608
        failed, fits = "0", ""
        if self._filtered:
            failed = " + ".join(f"{at} * not_{kind}" for at, kind in enumerate(self._filtered, 1))
            fits = " WHERE " + " + ".join(f"not_{kind}" for kind in self._filtered) + " <= 1"
        rows = f"(SELECT *, {steps}, {failed} AS failed FROM {rows}{fits}) AS judged"  # noqa: S608
        columns = _columns(_KINDS)
        parts = ", ".join(f"({_columns(part)}, failed)" for part in _PARTS)
        counted = (
            f"SELECT grouping({columns}) AS part, {columns}, failed, count(*) AS calls"  # noqa: S608
            f" FROM {rows} GROUP BY GROUPING SETS ({parts})"
        )
        sets = ", ".join(f"(part, f_{kind}, failed)" for kind in _KINDS)
        added_up = (
            f"SELECT part, grouping({columns}) AS kind, {columns}, failed, sum(calls) AS calls"  # noqa: S608
            f" FROM ({counted}) AS counted GROUP BY GROUPING SETS ({sets})"
        )
        placed = "row_number() OVER (PARTITION BY part, kind ORDER BY calls DESC) AS place"
        return Where(
            f"SELECT * FROM (SELECT *, {placed} FROM ({added_up}) AS added_up) AS placed"  # noqa: S608
            f" WHERE place <= {MOST_GROUPS}",
            params,
        )

    def counts(self, rows: Sequence[Sequence[Any]]) -> FacetCounts:
        found: dict[Facet | Measure, list[tuple[Any, int]]] = {kind: [] for kind in _KINDS}
        for row in rows:
            kind = _KIND_OF.get((int(row[0]), int(row[1])))  # None: a facet of another part
            failed, calls, _ = row[-3:]
            if kind is not None and (not failed or self._filtered[int(failed) - 1] == kind):
                found[kind].append((row[_KINDS.index(kind) + 2], int(calls)))
        return FacetCounts(
            {facet: _values(found[facet]) for facet in _FACETS},
            {measure: _at_least(steps, found[measure]) for measure, steps in _STEPS.items()},
        )

    @property
    def _filtered(self) -> Sequence[Facet | Measure]:
        """What the filter says anything of."""
        which = self.which
        named = {
            facet for chosen in (which.only, which.without) for facet, values in chosen.items() if values
        }
        return [kind for kind in _KINDS if kind in named or kind in which.between]

    def _about(self, kind: Facet | Measure) -> EventFilter:
        which = self.which
        return EventFilter(
            only={facet: values for facet, values in which.only.items() if facet == kind},
            without={facet: values for facet, values in which.without.items() if facet == kind},
            between={measure: value for measure, value in which.between.items() if measure == kind},
        )

    def _about_no_facet(self) -> EventFilter:
        which = self.which
        return replace(
            which,
            only={facet: values for facet, values in which.only.items() if facet not in _KINDS},
            without={facet: values for facet, values in which.without.items() if facet not in _KINDS},
            between={measure: value for measure, value in which.between.items() if measure not in _KINDS},
        )


def _columns(kinds: Sequence[Facet | Measure]) -> str:
    return ", ".join(f"f_{kind}" for kind in kinds)


def _step(value: str, steps: Sequence[int]) -> str:
    """The highest step that is reached; 0: none."""
    reached = " ".join(f"WHEN {value} >= {step} THEN {step}" for step in reversed(steps))
    return f"CASE {reached} ELSE 0 END"


def _values(found: Sequence[tuple[str | None, int]]) -> list[tuple[str, int]]:
    """What is missing and what is empty cannot be told apart in a filter."""
    counts: dict[str, int] = {}
    for value, calls in found:
        counts[value or ""] = counts.get(value or "", 0) + calls
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:_MOST_VALUES]


def _at_least(steps: Sequence[int], found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(step, sum(calls for reached, calls in found if reached >= step)) for step in steps]
