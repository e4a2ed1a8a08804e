"""Which days of the record go: those that are too old, then the oldest until the rest is small enough."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from callgate.recorder.store.day_files import Day

# Of the file that is written to a query takes a copy (`snapshots`): of so much in 50 ms.
_MAX_PART_BYTES = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class Retention:
    keep_s: float = 30 * 86400.0
    max_size_bytes: int = 2 * 1024**3

    def overdue(self, days: Sequence[Day], today: date) -> list[Day]:
        """`days`: newest first. The newest stays in any case: it is the one that is written to."""
        oldest_kept = today - timedelta(seconds=self.keep_s)
        gone: list[Day] = []
        total = sum(day.size_bytes for day in days)
        for day in reversed(days[1:]):
            if day.day < oldest_kept or total > self.max_size_bytes:
                gone.append(day)
                total -= day.size_bytes
        return gone

    def is_too_large(self, day: Day) -> bool:
        """So large that the next rows should go to another file: this one can then be dropped by itself, and
        read without a copy."""
        return day.size_bytes > min(self.max_size_bytes // 4, _MAX_PART_BYTES)
