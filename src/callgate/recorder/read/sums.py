"""A stretch of the record summed up: what every store is asked for, and its answer as sums. Pure.

One pass over the rows for all that is asked: each grouping set is one list of the answer.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from callgate.ports.record_reader import Buckets, EventFilter, Share, Stats, Sums

# What a chart can show side by side, and a person tell apart.
_MOST_BUCKETS = 120
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_WIDTHS_S = (
    1, 2, 5, 10, 15, 30,
    _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE,
    _HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY,
)  # fmt: skip
# Nobody reads more lines than these; a caller that makes up names must not make the answer grow.
_MOST_SHARES = 200
# Those that are read for them: some are no shares (calls without a tool, what did not fail).
MOST_GROUPS = 10 * _MOST_SHARES
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as the store's moments are: UTC, without a zone

# Which set a row is of is told by `grouping`: a bit for each column that is *not* grouped by.
SETS = {
    "totals": (),
    "buckets": ("bucket",),
    "by_tool": ("server_name", "tool_name"),
    "by_server": ("server_name",),
    "by_method": ("method",),
    "by_client": ("client",),
    "by_error": ("outcome", "error_code"),
}
GROUPED = ("bucket", "server_name", "tool_name", "method", "client", "outcome", "error_code")


def bucket_width_s(since: datetime, until: datetime) -> int:
    """The narrowest that makes no more buckets than can be shown; beyond a day, whole days."""
    length_s = max(0.0, (until - since).total_seconds())
    for width in _WIDTHS_S:
        if length_s <= width * _MOST_BUCKETS:
            return width
    return _DAY * -int(-length_s // (_DAY * _MOST_BUCKETS))


def shown_stretch(
    which: EventFilter, first: datetime | None, last: datetime | None, now: datetime
) -> tuple[datetime, datetime]:
    """What was asked for, without days before the first that is recorded or after today: who asks for all
    time is shown the record, and not a bar at the end of an empty century."""
    assert which.since is not None
    assert which.until is not None
    since = max(which.since, _day_of(min(first or now, now)))
    until = min(which.until, _day_of(max(last or now, now)) + timedelta(days=1))
    return (since, until) if since < until else (which.since, min(which.until, which.since))


def stats_of(rows: Sequence[Sequence[Any]], stretch: tuple[datetime, datetime], width: int) -> Stats:
    """`rows`: `grouping` of GROUPED, its columns, the sums, and an array of three quantiles."""
    sets: dict[str, list[Sequence[Any]]] = {name: [] for name in SETS}
    names = {_bits(columns): name for name, columns in SETS.items()}
    for row in rows:
        sets[names[row[0]]].append(row)
    totals = sets["totals"]
    return Stats(
        _sums(totals[0]) if totals else Sums(),
        _buckets(sets["buckets"], stretch, width),
        *(
            _shares(name, sets[name])
            for name in ("by_tool", "by_server", "by_method", "by_client", "by_error")
        ),
    )


def _buckets(rows: Sequence[Sequence[Any]], stretch: tuple[datetime, datetime], width: int) -> Buckets:
    since, until = ((moment - _EPOCH) // timedelta(seconds=1) for moment in stretch)
    first, end = since // width, -(-until // width)
    found = {row[1]: _sums(row) for row in rows}
    return Buckets(width, first * width, [found.get(at, Sums()) for at in range(first, end)])


def _shares(name: str, rows: Sequence[Sequence[Any]]) -> list[Share]:
    places = [1 + GROUPED.index(column) for column in SETS[name]]
    shares = [Share([row[place] for place in places], _sums(row)) for row in rows]
    if name == "by_tool":
        shares = [share for share in shares if share.values[1] is not None]
    elif name == "by_error":
        shares = [share for share in shares if share.sums.errors]
    shares.sort(key=lambda share: (-share.sums.calls, [value or "" for value in share.values]))
    return shares[:_MOST_SHARES]


def _sums(row: Sequence[Any]) -> Sums:
    *counts, quantiles = row[-6:]
    return Sums(*counts, *(round(value, 3) for value in quantiles or ()))


def _bits(columns: Sequence[str]) -> int:
    return sum(1 << at for at, column in enumerate(reversed(GROUPED)) if column not in columns)


def _day_of(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
