# cython: language_level=3, wraparound=False, annotation_typing=False
"""The drivers' two hot loops: from the bytes of a buffer to rows of faithful cells. Pure.

This file is compiled when the package is built and a C compiler is at hand (`hatch_build.py`; `cut_rows.pxd`
has the types); without one it runs as it stands, ten times as slow. Both must do the same:
docs/decisions/0019-compiled-rows.md.

A row that is not whole, may hold a cell above the limit, or is none at all, ends the loop and stays where it
is. Cells that do not fill their row mean that we are out of step with the server.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.stream import ConnectionLost

Decode = Callable[[bytes], Cell]
_NULL = -1  # as a length
_FEW_DIGITS = 18  # of any number below 2^63


class CellDecoder(Protocol):
    """How the cells of a column are decoded. Counterpart: the engines' `columns`."""

    @property
    def decode(self) -> Decode:
        """Of any value: cuts it at the limit, and shows bytes that are no text."""
        ...

    @property
    def is_text(self) -> bool:
        """Of a value within the limit `decode` makes UTF-8, with `\\xNN` for bytes that are none."""
        ...


def lenenc_rows(
    buffer: bytes, end: int, most: int, limit: int, columns: Sequence[CellDecoder]
) -> tuple[list[tuple[Cell, ...]], int]:
    """MySQL's text rows: a packet each, a length before every cell. At most `most` of them, from the bytes
    before `end`, each shorter than `limit`; and how many bytes they took."""
    decoders = [None if column.is_text else column.decode for column in columns]
    rows: list[tuple[Cell, ...]] = []
    at = 0
    while len(rows) < most and at + 4 < end:
        place = at + 4  # three bytes of length, one of sequence
        size = buffer[at] | buffer[at + 1] << 8 | buffer[at + 2] << 16
        row_end = place + size
        if row_end > end or size >= limit or buffer[place] >= 0xFE:
            break
        row: list[Cell] = []
        for decode in decoders:
            if place >= row_end:
                raise ConnectionLost
            length = buffer[place]
            place += 1
            if length == 0xFB:
                length = _NULL
            elif length > 0xFB:
                if length > 0xFD or place + 3 > row_end:
                    raise ConnectionLost  # eight bytes of length have no place in a row below the limit
                width = length - 0xFA
                length = buffer[place] | buffer[place + 1] << 8
                if width == 3:
                    length |= buffer[place + 2] << 16
                place += width
            place = _add_cell(row, buffer, place, length, row_end, decode)
        _add_row(rows, row, place, row_end)
        at = row_end
    return rows, at


def int32_rows(
    buffer: bytes, end: int, most: int, limit: int, columns: Sequence[CellDecoder]
) -> tuple[list[tuple[Cell, ...]], int]:
    """PostgreSQL's DataRow messages, four bytes of length before every cell; otherwise as `lenenc_rows`."""
    decoders = [None if column.is_text else column.decode for column in columns]
    rows: list[tuple[Cell, ...]] = []
    at = 0
    while len(rows) < most and at + 7 <= end and buffer[at] == 0x44:
        size = buffer[at + 1]  # by itself first: compiled, shifting a byte this far would overflow
        size = size << 24 | buffer[at + 2] << 16 | buffer[at + 3] << 8 | buffer[at + 4]
        row_end = at + 1 + size
        if row_end > end or size >= limit:
            break
        place = at + 7  # how many cells there are is said too; we know
        row: list[Cell] = []
        for decode in decoders:
            if place + 4 > row_end:
                raise ConnectionLost
            length = buffer[place]
            length = length << 24 | buffer[place + 1] << 16 | buffer[place + 2] << 8 | buffer[place + 3]
            place += 4
            if length > 0x7FFFFFFF:  # below zero
                length = _NULL
            place = _add_cell(row, buffer, place, length, row_end, decode)
        _add_row(rows, row, place, row_end)
        at = row_end
    return rows, at


def _add_cell(
    row: list[Cell], buffer: bytes, place: int, length: int, row_end: int, decode: Decode | None
) -> int:
    """And where the cell ends. `decode`: None for a text."""
    if length == _NULL:
        row.append(None)
        return place
    end = place + length
    if end > row_end:
        raise ConnectionLost
    if decode is None:
        row.append(buffer[place:end].decode("utf-8", "backslashreplace"))  # compiled, no bytes are copied
    elif decode is int:
        row.append(_integer(buffer, place, end))
    else:
        row.append(decode(buffer[place:end]))
    return end


def _integer(buffer: bytes, place: int, end: int) -> int:
    """What `int` says, which is asked about everything but a few digits: it takes ten times as long."""
    start = place
    if end > start and buffer[start] == 0x2D:
        start += 1
    if not 0 < end - start <= _FEW_DIGITS:
        return int(buffer[place:end])
    number = 0
    for at in range(start, end):
        digit = buffer[at] - 0x30
        if digit < 0 or digit > 9:
            return int(buffer[place:end])
        number = number * 10 + digit
    return number if start == place else -number


def _add_row(rows: list[tuple[Cell, ...]], row: list[Cell], place: int, row_end: int) -> None:
    if place != row_end:
        raise ConnectionLost
    rows.append(tuple(row))
