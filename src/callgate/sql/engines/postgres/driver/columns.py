"""How a PostgreSQL column's values become faithful cells. Pure.

The server sends text. Integers, floats and booleans become JSON's own; bytea becomes 0x…; all else stays
the server's words: numeric with its NaN and its scale, dates with BC and infinity, json as it was written,
arrays, ranges, rows and types that nobody here has heard of.
"""

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.cut_rows import Decode
from callgate.sql.results.cells import float_cell, text_cell

# Object ids that PostgreSQL has promised never to change (pg_type.dat).
_BOOL, _BYTEA = 16, 17
_INTEGERS = frozenset({20, 21, 23, 26})  # int8, int2, int4, oid
_FLOATS = frozenset({700, 701})


class FieldDecoder:
    """Implements `cut_rows.CellDecoder`."""

    def __init__(self, type_oid: int, limit_bytes: int) -> None:
        self.decode = _decoder(type_oid, limit_bytes)
        self.is_text = type_oid not in (_BOOL, _BYTEA, *_INTEGERS, *_FLOATS)


def _decoder(type_oid: int, limit_bytes: int) -> Decode:
    if type_oid in _INTEGERS:
        return int
    if type_oid in _FLOATS:
        return lambda raw: float_cell(float(raw))
    if type_oid == _BOOL:
        return lambda raw: raw == b"t"
    if type_oid == _BYTEA:
        return lambda raw: cut(type_oid, raw, len(raw), limit_bytes)
    return lambda raw: (
        str(raw, "utf-8", "backslashreplace") if len(raw) <= limit_bytes else text_cell(raw, limit_bytes)
    )


def cut(type_oid: int, beginning: bytes, size_bytes: int, limit_bytes: int) -> Cell:
    """Of a value of which perhaps only the beginning was kept."""
    if type_oid != _BYTEA or not beginning.startswith(b"\\x"):
        return text_cell(beginning, limit_bytes, size_bytes)
    # Already in hexadecimal, after "\x": two digits a byte.
    count = (size_bytes - 2) // 2
    shown = min(count, limit_bytes // 2)
    digits = beginning[2 : 2 + 2 * shown].decode("ascii", "replace")
    return f"0x{digits}" if shown == count else f"0x{digits}… [cut: {shown:,} of {count:,} bytes shown]"
