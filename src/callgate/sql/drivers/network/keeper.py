"""RowKeeper: how many rows of a result are kept. Pure.

`truncated` is exact: it is set when one more row has come than may be kept, never before.
"""

from collections.abc import Sequence

from callgate.sql.drivers.driver import Cell
from callgate.sql.guard.policy import Limits

# Characters are at most four bytes: when the bytes pass four times the limit, so do the characters. What is
# cut to the very character happens where the answer is written (`results.fit`).
_BYTES_PER_CHARACTER = 4


class RowKeeper:
    def __init__(self, limits: Limits) -> None:
        self.cell_bytes = limits.cell_bytes
        self.rows_left = limits.max_rows
        self.bytes_left = limits.character_limit * _BYTES_PER_CHARACTER  # the row that passes it is kept
        self.rows: list[tuple[Cell, ...]] = []
        self.truncated = False

    def row(self, row: tuple[Cell, ...], size_bytes: int) -> None:
        if size_bytes >= self.cell_bytes:  # it may hold cells that were cut
            size_bytes = sum(len(cell) if isinstance(cell, str) else 1 for cell in row) * _BYTES_PER_CHARACTER
        self.rows.append(row)
        self.rows_left -= 1
        self.bytes_left -= size_bytes

    def several(self, rows: Sequence[tuple[Cell, ...]], size_bytes: int) -> None:
        """Rows without a cut cell, of `size_bytes` together; no more of them than there is room for."""
        self.rows.extend(rows)
        self.rows_left -= len(rows)
        self.bytes_left -= size_bytes

    @property
    def may_keep(self) -> bool:
        return self.rows_left > 0 and self.bytes_left >= 0

    def has_room(self) -> bool:
        """Asked when another row has come."""
        if not self.may_keep:
            self.truncated = True
        return self.may_keep
