"""Cells: a database value as a JSON value that does not lie. Pure.

Integers stay exact whatever their size; a float that JSON has no word for becomes that word as text; a blob
becomes 0x…; text that is not UTF-8 shows its odd bytes as \\xNN. What is too long is cut, and says so.
"""

import math

from callgate.sql.drivers.driver import Cell

# What a driver may hand over. A bytearray is text still undecoded, bytes are a blob.
RawCell = int | float | str | bytes | bytearray | None


def to_cell(value: RawCell, limit_bytes: int) -> Cell:
    if isinstance(value, bytearray):
        return text_cell(value, limit_bytes)
    if isinstance(value, bytes):
        return blob_cell(value, limit_bytes)
    if isinstance(value, float):
        return float_cell(value)
    if isinstance(value, str):
        return text_cell(bytearray(value, "utf-8", "backslashreplace"), limit_bytes)
    return value


def type_of(value: RawCell) -> str:
    """SQLite's storage class: a column there has no other type of its own."""
    if value is None:
        return "null"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "real"
    return "blob" if isinstance(value, bytes) else "text"


def merge_types(one: str, other: str) -> str:
    """The type of a column that holds both."""
    if one == other or other == "null":
        return one
    if one == "null":
        return other
    return "numeric" if {one, other} <= {"integer", "real", "numeric"} else "mixed"


def text_cell(value: bytes | bytearray, limit_bytes: int, size_bytes: int | None = None) -> str:
    """`size_bytes`: how long it is, when `value` is only its beginning (and longer than the limit)."""
    size = len(value) if size_bytes is None else size_bytes
    if size <= limit_bytes:
        return value.decode("utf-8", "backslashreplace")
    cut = limit_bytes
    # Not inside a character: continuation bytes are 10xxxxxx.
    while cut > limit_bytes - 4 and value[cut] & 0xC0 == 0x80:
        cut -= 1
    shown = value[:cut].decode("utf-8", "backslashreplace")
    return f"{shown}… [cut: {cut:,} of {size:,} bytes shown]"


def blob_cell(value: bytes | bytearray, limit_bytes: int, size_bytes: int | None = None) -> str:
    size = len(value) if size_bytes is None else size_bytes
    shown_bytes = limit_bytes // 2  # two digits a byte
    if size <= shown_bytes:
        return "0x" + value.hex()
    return f"0x{value[:shown_bytes].hex()}… [cut: {shown_bytes:,} of {size:,} bytes shown]"


def float_cell(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
