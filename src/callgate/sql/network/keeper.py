"""RowKeeper: how many rows of a result are kept. Pure.

`truncated` is exact: it is set when one more row has come than may be kept, never before.
"""

from callgate.sql.driver import Cell
from callgate.sql.policy import Limits

# Characters are at most four bytes: when the bytes pass four times the limit, so do the characters. What is
# cut to the very character happens where the answer is written (`results.fit`).
_BYTES_PER_CHARACTER = 4


class RowKeeper:
    def __init__(self, limits: Limits) -> None:
        self._max_rows = limits.max_rows
        self._cell_bytes = limits.cell_bytes
        self._left_bytes = limits.character_limit * _BYTES_PER_CHARACTER
        self.rows: list[tuple[Cell, ...]] = []
        self.may_keep = limits.max_rows > 0
        self.truncated = False

    def row(self, row: tuple[Cell, ...], size_bytes: int) -> None:
        rows = self.rows
        rows.append(row)
        if size_bytes >= self._cell_bytes:  # it may hold cells that were cut
            size_bytes = sum(len(cell) if isinstance(cell, str) else 1 for cell in row) * _BYTES_PER_CHARACTER
        self._left_bytes -= size_bytes
        self.may_keep = self._left_bytes >= 0 and len(rows) < self._max_rows

    def has_room(self) -> bool:
        """Asked when another row has come."""
        if not self.may_keep:
            self.truncated = True
        return self.may_keep
