"""A column's type as MySQL and MariaDB people call it, and how its values become faithful cells. Pure.

Two readers per column: of text (ordinary queries) and of binary rows (prepared statements). Both make the
same cell of the same value. Decimals and everything with a calendar in it stay the server's own text, so that
0000-00-00, 838:59:59 and 0.10 come out as they are.
"""

import struct
from collections.abc import Callable
from functools import lru_cache

from callgate.sql.drivers.driver import Cell, Column
from callgate.sql.engines.mysql.driver.geometry import to_wkt
from callgate.sql.engines.mysql.driver.packets import ColumnDefinition, read_column, read_lenenc
from callgate.sql.results.cells import blob_cell, float_cell, text_cell

# Type codes of the protocol.
_DECIMAL, _TINY, _SHORT, _LONG, _FLOAT, _DOUBLE, _NULL, _TIMESTAMP, _LONGLONG, _INT24 = range(10)
_DATE, _TIME, _DATETIME, _YEAR, _NEWDATE, _VARCHAR, _BIT = range(10, 17)
_VECTOR = 242
_JSON, _NEWDECIMAL, _ENUM, _SET, _TINY_BLOB, _MEDIUM_BLOB, _LONG_BLOB, _BLOB = range(245, 253)
_VAR_STRING, _STRING, _GEOMETRY = range(253, 256)

_NAMES = {
    _DECIMAL: "decimal",
    _TINY: "tinyint",
    _SHORT: "smallint",
    _LONG: "int",
    _FLOAT: "float",
    _DOUBLE: "double",
    _NULL: "null",
    _TIMESTAMP: "timestamp",
    _LONGLONG: "bigint",
    _INT24: "mediumint",
    _DATE: "date",
    _TIME: "time",
    _DATETIME: "datetime",
    _YEAR: "year",
    _NEWDATE: "date",
    _BIT: "bit",
    _JSON: "json",
    _NEWDECIMAL: "decimal",
    _ENUM: "enum",
    _SET: "set",
    _GEOMETRY: "geometry",
    _VECTOR: "vector",
}
_INTEGERS = {_TINY: 1, _SHORT: 2, _LONG: 4, _LONGLONG: 8, _INT24: 4, _YEAR: 2}  # bytes in a binary row
_FLOATS = {_FLOAT: "<f", _DOUBLE: "<d"}
_DATES = (_DATE, _NEWDATE, _DATETIME, _TIMESTAMP)
_BLOBS = (_TINY_BLOB, _MEDIUM_BLOB, _LONG_BLOB, _BLOB)
_TEXTS = (_VARCHAR, _VAR_STRING, _STRING)

_BINARY_CHARSET = 63
_UNSIGNED_FLAG = 0x20
_ENUM_FLAG = 0x100
_SET_FLAG = 0x800
# Characters of the widest charset take four bytes, and that is what a text's length is counted in.
_BYTES_PER_CHARACTER = 4
_BLOB_SIZES = ((0xFF, "tiny"), (0xFFFF, ""), (0xFFFFFF, "medium"))

Decode = Callable[[bytes | bytearray], Cell]


class RowColumn:
    """Implements `cut_rows.CellDecoder`."""

    def __init__(self, definition: ColumnDefinition, limit_bytes: int, *, is_mysql_8: bool = False) -> None:
        self.definition = definition
        self._is_mysql_8 = is_mysql_8
        self.limit_bytes = limit_bytes
        self.column = Column(definition.name, type_name(definition))
        self.is_binary = _is_binary(definition)
        self.decode = self._text_decoder()
        self.is_text = not self.is_binary and definition.type_code not in (*_INTEGERS, *_FLOATS, _BIT)

    def _text_decoder(self) -> Decode:
        """Of the bytes in a text row."""
        kind, limit = self.definition.type_code, self.limit_bytes
        if kind in _INTEGERS:
            return int
        if kind in _FLOATS:
            return float  # MySQL stores no NaN and no infinity
        if kind == _BIT:
            width = self.definition.length
            return lambda raw: f"{int.from_bytes(raw, 'big'):0{width}b}"
        if kind == _GEOMETRY:
            by_system = self._is_mysql_8
            return lambda raw: _geometry(raw, limit, by_system=by_system)
        if kind == _VECTOR:
            return lambda raw: _vector(raw, limit)
        if self.is_binary:
            return lambda raw: blob_cell(raw, limit)
        return lambda raw: (
            raw.decode("utf-8", "backslashreplace") if len(raw) <= limit else text_cell(raw, limit)
        )

    def cut(self, beginning: bytes, size_bytes: int) -> Cell:
        """Of a value too long to be held in memory."""
        if self.is_binary:
            return blob_cell(beginning, self.limit_bytes, size_bytes)
        return text_cell(beginning, self.limit_bytes, size_bytes)

    @property
    def may_be_large(self) -> bool:
        """An integer of more than 53 bits."""
        return self.definition.type_code == _LONGLONG

    @property
    def fixed_bytes(self) -> int:
        """How many bytes a value takes in a binary row; 0 when it says so itself."""
        kind = self.definition.type_code
        return _INTEGERS.get(kind, 0) or {_FLOAT: 4, _DOUBLE: 8}.get(kind, 0)

    def read_binary(self, data: bytes | bytearray, at: int) -> tuple[Cell, int]:
        """One value of a binary row, and where it ends."""
        kind = self.definition.type_code
        if kind in _INTEGERS:
            end = at + _INTEGERS[kind]
            signed = not self.definition.flags & _UNSIGNED_FLAG
            return int.from_bytes(data[at:end], "little", signed=signed), end
        if kind in _FLOATS:
            return self._float(kind, data, at)
        size, at = read_lenenc(data, at) if kind not in (*_DATES, _TIME) else (data[at], at + 1)
        raw = data[at : at + size]
        if kind in _DATES:
            return _date(raw, self.definition), at + size
        if kind == _TIME:
            return _time(raw, self.definition.decimals), at + size
        return self.decode(raw), at + size

    def _float(self, kind: int, data: bytes | bytearray, at: int) -> tuple[Cell, int]:
        layout = _FLOATS[kind]
        (value,) = struct.unpack_from(layout, data, at)
        # A text row shows a FLOAT with six digits; so does this, instead of 0.10000000149011612.
        return float_cell(float(f"{value:.6g}") if kind == _FLOAT else value), at + struct.calcsize(layout)


def row_columns(
    block: bytes, *, is_extended: bool, is_mysql_8: bool, limit_bytes: int
) -> tuple[RowColumn, ...]:
    """From the packets of a result's column definitions, as they came over the wire."""
    read = _remembered if len(block) <= _REMEMBERED_BYTES else _row_columns
    return read(block, is_extended, is_mysql_8, limit_bytes)


def _row_columns(
    block: bytes, is_extended: bool, is_mysql_8: bool, limit_bytes: int
) -> tuple[RowColumn, ...]:
    columns: list[RowColumn] = []
    at = 0
    while at < len(block):
        start = at + 4
        at = start + int.from_bytes(block[at : at + 3], "little")
        definition = read_column(block[start:at], is_extended=is_extended)
        columns.append(RowColumn(definition, limit_bytes, is_mysql_8=is_mysql_8))
    return tuple(columns)


# The same questions come again and again; a definition takes 4 µs to read. Some 10 MB at the very most.
_remembered = lru_cache(maxsize=256)(_row_columns)
_REMEMBERED_BYTES = 16 * 1024


def _is_binary(definition: ColumnDefinition) -> bool:
    """Bytes without a character set, and types that we do not know: shown as 0x…"""
    if definition.extended_type in ("uuid", "inet4", "inet6", "json"):
        return False
    if definition.type_code not in (*_NAMES, *_BLOBS, *_TEXTS):
        return True
    return definition.type_code in (_GEOMETRY, _VECTOR) or (
        definition.charset == _BINARY_CHARSET
        and definition.type_code in (*_BLOBS, *_TEXTS)
        and not definition.flags & (_ENUM_FLAG | _SET_FLAG)
    )


def type_name(definition: ColumnDefinition) -> str:
    kind = definition.type_code
    if definition.extended_type:
        return definition.extended_type
    if definition.flags & _ENUM_FLAG:
        return "enum"
    if definition.flags & _SET_FLAG:
        return "set"
    is_binary = definition.charset == _BINARY_CHARSET
    if kind in _BLOBS:
        size = definition.length if is_binary else definition.length // _BYTES_PER_CHARACTER
        prefix = next((name for most, name in _BLOB_SIZES if size <= most), "long")
        return prefix + ("blob" if is_binary else "text")
    if kind == _STRING:
        return "binary" if is_binary else "char"
    if kind in (_VARCHAR, _VAR_STRING):
        return "varbinary" if is_binary else "varchar"
    name = _NAMES.get(kind, f"type {kind}")
    if kind in _INTEGERS and kind != _YEAR and definition.flags & _UNSIGNED_FLAG:
        return f"{name} unsigned"
    return name


def _geometry(raw: bytes | bytearray, limit_bytes: int, *, by_system: bool) -> Cell:
    text = to_wkt(raw, by_system=by_system)
    if text is None:
        return blob_cell(raw, limit_bytes)
    return text_cell(text.encode(), limit_bytes)


def _vector(raw: bytes | bytearray, limit_bytes: int) -> Cell:
    """Four bytes a number."""
    if len(raw) % 4:
        return blob_cell(raw, limit_bytes)
    numbers = map(_short_float, struct.unpack(f"<{len(raw) // 4}f", raw))
    return text_cell(f"[{','.join(numbers)}]".encode(), limit_bytes)


def _short_float(number: float) -> str:
    """With as many digits as it takes to tell it from all others: -3.1 instead of -3.0999999."""
    exact = struct.pack("<f", number)
    texts = (f"{number:.{digits}g}" for digits in (6, 7, 8))
    return next((text for text in texts if struct.pack("<f", float(text)) == exact), f"{number:.9g}")


def _date(raw: bytes | bytearray, definition: ColumnDefinition) -> str:
    """Length 0, 4, 7 or 11: what is left out is zero."""
    padded = raw + bytes(11 - len(raw))
    year, month, day, hour, minute, second, micros = struct.unpack("<HBBBBBI", padded)
    date = f"{year:04}-{month:02}-{day:02}"
    if definition.type_code in (_DATE, _NEWDATE):
        return date
    return f"{date} {hour:02}:{minute:02}:{second:02}{_fraction(micros, definition.decimals)}"


def _time(raw: bytes | bytearray, decimals: int) -> str:
    """Length 0, 8 or 12; hours go to 838, and below zero."""
    padded = raw + bytes(12 - len(raw))
    negative, days, hour, minute, second, micros = struct.unpack("<BIBBBI", padded)
    sign = "-" if negative else ""
    return f"{sign}{days * 24 + hour:02}:{minute:02}:{second:02}{_fraction(micros, decimals)}"


def _fraction(micros: int, decimals: int) -> str:
    digits = decimals if decimals <= 6 else 6 if micros else 0  # 31 stands for "not fixed"
    return f".{micros:06}"[: digits + 1] if digits else ""
