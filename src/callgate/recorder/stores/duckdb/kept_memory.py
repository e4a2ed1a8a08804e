"""When the store lets go of what DuckDB keeps in memory. Rows, bytes and moments are arguments.

DuckDB keeps what it wrote and read: blocks up to its limit of memory, and beside them, without any limit,
what describes the row groups, some 100 bytes for each event. After so much a file is opened anew: that takes
7 ms, and a checkpoint, which would come anyway. Once all that was journalled is stored, and nobody reads,
an eighth of the rows is enough: the next ones may be long in coming.

A DuckDB that runs also keeps something of all that it ever wrote: some 2 MB for the first 100,000 events, and
0.5 for each 100,000 more. It is in none of its own figures. Only a new DuckDB is without it.

What was read of older files is kept some time after the last read. Whoever sorts and filters asks for the
same columns again and again, and to read them anew costs as much CPU as the answer. Those files do not grow,
so DuckDB's limit bounds it.
"""

from __future__ import annotations

import math

from callgate.recorder.flush.batch import ROW_GROUP_ROWS
from callgate.recorder.stores.duckdb.library import duckdb

_KEPT_ROWS = 32 * 1024
_KEPT_BYTES = 24 * 1024 * 1024
_LESS_WHEN_STORED = 8
_ROWS_OF_A_DUCKDB = 64 * 1024
_MORE_WHEN_READ = 8
_KEPT_AFTER_READ_S = 30.0


class KeptMemory:
    def __init__(self) -> None:
        self._rows = 0  # written since the newest file was opened
        self._loose_rows = 0  # written since memory was given back
        self._rows_of_duckdb = 0  # written since DuckDB was begun
        self._is_whole = False  # the last row group that was written to is full
        self._read_s = -math.inf  # when the last reader was done
        self._older_bytes = 0  # what older files had in memory when the newest was opened

    def wrote(self, rows: int, is_whole: bool | None) -> None:
        """`is_whole`: whether the last row group is full now; None: as before."""
        self._rows += rows
        self._loose_rows += rows
        self._rows_of_duckdb += rows
        self._is_whole = self._is_whole if is_whole is None else is_whole

    def was_read(self, now_s: float) -> None:
        self._read_s = now_s

    def is_newest_due(self, kept_bytes: int, now_s: float, *, is_all_stored: bool = False) -> bool:
        """Whether the file that is written to is to be opened anew."""
        # A checkpoint writes row groups that are not full, and what fills them later writes them again.
        factor = 1 if self._is_whole else 2
        older_bytes = self._older_bytes if self._is_read(now_s) else 0
        less = _LESS_WHEN_STORED if is_all_stored and not self._is_read(now_s) else 1
        is_long = self._rows * less >= factor * _KEPT_ROWS
        return is_long or kept_bytes - older_bytes >= factor * _KEPT_BYTES

    def are_older_due(self, kept_bytes: int, now_s: float) -> bool:
        """Whether all others are, too. `kept_bytes`: without those of the newest."""
        return kept_bytes >= _KEPT_BYTES and not self._is_read(now_s)

    def is_duckdb_due(self, now_s: float) -> bool:
        """Whether DuckDB itself is to be begun anew, with all files."""
        more = _MORE_WHEN_READ if self._is_read(now_s) else 1
        return self._rows_of_duckdb >= more * _ROWS_OF_A_DUCKDB

    def began_duckdb(self) -> None:
        self._rows = self._rows_of_duckdb = self._older_bytes = 0

    def opened_newest(self, older_bytes: int) -> None:
        self._rows = 0
        self._older_bytes = older_bytes

    def take_loose(self) -> bool:
        """Whether the batches since the last time were large, so that the allocator keeps much of them."""
        is_much = self._loose_rows >= ROW_GROUP_ROWS
        if is_much:
            self._loose_rows = 0
        return is_much

    def _is_read(self, now_s: float) -> bool:
        return now_s - self._read_s < _KEPT_AFTER_READ_S


def kept_bytes(connection: duckdb.DuckDBPyConnection) -> int:
    """In blocks of files and of tables that are not in a file yet."""
    found = connection.execute("SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()").fetchone()
    return found[0] if found is not None else 0
