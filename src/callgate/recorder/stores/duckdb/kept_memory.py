"""When the store lets go of what DuckDB keeps in memory. Pure: rows, bytes and moments are arguments.

DuckDB keeps what it wrote and read: blocks up to its limit of memory, and beside them, without any limit,
what describes the row groups, some 100 bytes for each event. After so much a file is opened anew: that takes
7 ms, and a checkpoint, which would come anyway.

What was read of older files is kept some time after the last read. Whoever sorts and filters asks for the
same columns again and again, and to read them anew costs as much CPU as the answer. Those files do not grow,
so DuckDB's limit bounds it.
"""

import math

_KEPT_ROWS = 32 * 1024
_KEPT_BYTES = 24 * 1024 * 1024
_KEPT_AFTER_READ_S = 30.0


class KeptMemory:
    def __init__(self) -> None:
        self._rows = 0  # written since the newest file was opened
        self._is_whole = False  # the last row group that was written to is full
        self._read_s = -math.inf  # when the last reader was done
        self._older_bytes = 0  # what older files had in memory when the newest was opened

    def wrote(self, rows: int, is_whole: bool | None) -> None:
        """`is_whole`: whether the last row group is full now; None: as before."""
        self._rows += rows
        self._is_whole = self._is_whole if is_whole is None else is_whole

    def was_read(self, now_s: float) -> None:
        self._read_s = now_s

    def is_newest_due(self, kept_bytes: int, now_s: float) -> bool:
        """Whether the file that is written to is to be opened anew."""
        # A checkpoint writes row groups that are not full, and what fills them later writes them again.
        factor = 1 if self._is_whole else 2
        older_bytes = self._older_bytes if self._is_read(now_s) else 0
        return self._rows >= factor * _KEPT_ROWS or kept_bytes - older_bytes >= factor * _KEPT_BYTES

    def are_older_due(self, kept_bytes: int, now_s: float) -> bool:
        """Whether all others are, too. `kept_bytes`: without those of the newest."""
        return kept_bytes >= _KEPT_BYTES and not self._is_read(now_s)

    def opened_newest(self, older_bytes: int) -> None:
        self._rows = 0
        self._older_bytes = older_bytes

    def _is_read(self, now_s: float) -> bool:
        return now_s - self._read_s < _KEPT_AFTER_READ_S
