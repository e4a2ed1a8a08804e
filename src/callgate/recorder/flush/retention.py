"""Which days of the record go: those that are too old, then the oldest until the rest is small enough."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Protocol, TypeVar

# Of the file that is written to a query takes a copy (`snapshots`): of so much in 50 ms.
_MAX_PART_BYTES = 64 * 1024**2


class StoredDay(Protocol):
    @property
    def day(self) -> date: ...

    @property
    def size_bytes(self) -> int: ...


_Day = TypeVar("_Day", bound=StoredDay)


@dataclass(slots=True)
class Retention:
    """The operator may change the first three while the keeper's thread reads them: one value at a time."""

    keep_s: float = 30 * 86400.0
    max_size_bytes: int = 2 * 1024**3
    keep_bodies_s: float | None = None  # of a store that has them apart; None: as long as their rows
    archived_days: Callable[[], Collection[date]] | None = None  # with an archive: only these may go

    def overdue(self, days: Sequence[_Day], today: date) -> list[_Day]:
        """`days`: newest first. The newest stays in any case: it is the one that is written to."""
        oldest_kept = today - timedelta(seconds=self.keep_s)
        gone: list[_Day] = []
        total = sum(day.size_bytes for day in days)
        for day in reversed(days[1:]):
            is_overdue = day.day < oldest_kept or total > self.max_size_bytes
            if is_overdue and self.may_drop(day.day):
                gone.append(day)
                total -= day.size_bytes
        return gone

    def may_drop(self, day: date) -> bool:
        return self.archived_days is None or day in self.archived_days()

    def is_too_large(self, day: StoredDay) -> bool:
        """So large that the next rows should go to another file: this one can then be dropped by itself, and
        read without a copy."""
        return day.size_bytes > min(self.max_size_bytes // 4, _MAX_PART_BYTES)

    def oldest_bodies(self, today: date) -> date:
        """Bodies of the days before may go, though their rows stay."""
        return today - timedelta(seconds=self.keep_s if self.keep_bodies_s is None else self.keep_bodies_s)
