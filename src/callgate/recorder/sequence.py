"""The numbers of rows: what the live stream counts by, and goes on from.

Rows are told in the order of their numbers, and a row that can be read has no unreadable one before it. Two
threads number rows (the recorder's its own, the store's those of other processes), so whoever takes numbers
holds `lock` until it is settled when these rows are told.
"""

import threading
import time
from collections.abc import Sequence as Rows

from callgate.recorder.call_rows import Calls
from callgate.recorder.rows import EventRow


class Sequence:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._last = 0

    def number(self, rows: Rows[EventRow]) -> None:
        for seq, row in enumerate(rows, self.take(len(rows))):
            row.seq = seq

    def number_calls(self, calls: Calls) -> None:
        calls.first_seq = self.take(len(calls))

    def take(self, count: int) -> int:
        """The first of so many. By the clock, so that it increases from one start to the next too."""
        first = max(self._last + 1, time.time_ns() // 1000)
        self._last = first + count
        return first

    def reached(self) -> int:
        """No lower number is given from now on. Not simply the highest that is stored: rows of others may be
        there while lower ones of ours are still on their way."""
        return max(self._last, time.time_ns() // 1000)
