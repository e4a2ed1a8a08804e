"""Reading the answer to one statement off the wire: rows streamed, cut and stopped at the limits."""

import struct
from dataclasses import dataclass, field
from functools import lru_cache

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.cut_rows import Decode, int32_rows
from callgate.sql.drivers.network.keeper import RowKeeper
from callgate.sql.drivers.network.server import DatabaseFault
from callgate.sql.drivers.network.stream import HIGH_BYTES, ConnectionLost
from callgate.sql.engines.postgres.driver import messages
from callgate.sql.engines.postgres.driver.messages import Field
from callgate.sql.engines.postgres.driver.wire import ERROR, READY, PostgresWire
from callgate.sql.guard.policy import Limits
from callgate.sql.results.cells import float_cell, text_cell

_PARSED, _BOUND, _NO_DATA, _FIELDS, _ROW = ord("1"), ord("2"), ord("n"), ord("T"), ord("D")
_COMPLETE, _SUSPENDED, _EMPTY = ord("C"), ord("s"), ord("I")
_COPY_OUT, _COPY_DATA, _COPY_DONE = ord("H"), ord("d"), ord("c")
_EXPECTED = (_PARSED, _BOUND, _NO_DATA, _ROW, _SUSPENDED, _EMPTY, _COPY_OUT, _COPY_DATA, _COPY_DONE)
# Reading on is cheaper than a cancel and a new connection (about 10 ms), up to about here.
_SKIPPED_BYTES = 1024 * 1024
_ROW_COST_BYTES = 100  # a small row takes as long to pass over as so many bytes of a large one
_length = struct.Struct("!i").unpack_from
# Object ids that PostgreSQL has promised never to change (pg_type.dat).
_BOOL, _BYTEA = 16, 17
_INTEGERS = frozenset({20, 21, 23, 26})  # int8, int2, int4, oid
_FLOATS = frozenset({700, 701})


@dataclass(slots=True)
class Rows:
    fields: tuple[Field, ...] = ()
    keeper: RowKeeper = field(default_factory=lambda: RowKeeper(Limits()))
    affected: int = 0
    completed: int = 0  # statements of the group that came to their end
    fault: DatabaseFault | None = None
    is_at_end: bool = True  # the server has said all it had to say
    status: bytes = b""  # of the session afterwards: I(dle), T (in a transaction), E (in a failed one)


async def read_result(wire: PostgresWire, limits: Limits, *, must_end: bool) -> Rows:
    """To the ReadyForQuery of the statement's group; `must_end`: however much it returns."""
    result = Rows(keeper=RowKeeper(limits))
    reader: _RowReader | None = None
    stream, keep = wire.stream, result.keeper
    skipped_bytes = 0
    while True:
        if reader is not None and keep.may_keep:
            stream.at += reader.read_buffered(stream.ahead(), keep)
        found = wire.ready()
        if found is None:
            kind, size = await wire.header()
            if kind == _ROW and reader is not None and keep.has_room():
                keep.row(await _read_row(wire, reader, size), size)
                continue
            found = kind, await _take_unless_data(wire, kind, size)
            skipped_bytes += size + _ROW_COST_BYTES
        elif found[0] == _ROW:
            if reader is not None and keep.has_room():
                keep.row(reader.read_row(found[1]), len(found[1]))
                continue
            skipped_bytes += len(found[1]) + _ROW_COST_BYTES
        kind, body = found
        if kind == _FIELDS:
            reader = _row_reader(body, limits.cell_bytes)
            result.fields = reader.fields
        elif kind == READY:
            result.status = body
            return result
        else:
            _note(result, kind, body)
        if skipped_bytes > _SKIPPED_BYTES and not must_end:
            result.is_at_end = False
            return result


async def _take_unless_data(wire: PostgresWire, kind: int, size: int) -> bytes:
    if kind not in (_ROW, _COPY_DATA):
        return await wire.stream.take(size)
    await wire.stream.skip(size)
    return b""


def _note(result: Rows, kind: int, body: bytes) -> None:
    if kind == _COMPLETE:
        result.completed += 1
        result.affected = messages.read_affected(body)
    elif kind == ERROR:
        result.fault = messages.read_fault(body)
    elif kind not in _EXPECTED:
        raise ConnectionLost  # COPY FROM STDIN, or out of step


async def skip_to_ready(wire: PostgresWire) -> DatabaseFault | None:
    """Past the answers of one group; its error, if there was one."""
    fault: DatabaseFault | None = None
    while True:
        found = wire.ready()
        if found is None:
            kind, size = await wire.header()
            body = await wire.stream.take(size) if kind == ERROR else b""
            if kind != ERROR:
                await wire.stream.skip(size)
        else:
            kind, body = found
        if kind == READY:
            return fault
        if kind == ERROR:
            fault = messages.read_fault(body)


async def _read_row(wire: PostgresWire, reader: "_RowReader", size: int) -> tuple[Cell, ...]:
    if size > HIGH_BYTES:
        return await reader.read_large(wire)
    return reader.read_row(await wire.stream.take(size))


@lru_cache(maxsize=512)  # the same questions come again and again
def _row_reader(description: bytes, limit_bytes: int) -> "_RowReader":
    return _RowReader(messages.read_fields(description), limit_bytes)


class _RowReader:
    def __init__(self, fields: tuple[Field, ...], limit_bytes: int) -> None:
        self.fields = fields
        self._limit_bytes = limit_bytes
        self._decoders = [_FieldDecoder(field.type_oid, limit_bytes) for field in fields]

    def read_buffered(self, buffer: bytes, keep: RowKeeper) -> int:
        """Keep the rows that lie whole in the buffer, nearly all of them; returns how many bytes they took.

        A row that may hold a cell above the limit or has no column (`SELECT FROM t`) is left where it is, and
        so is the one that passes the limit of bytes.
        """
        if not self._decoders:
            return 0
        end = min(len(buffer), keep.bytes_left)
        rows, size_bytes = int32_rows(buffer, end, keep.rows_left, self._limit_bytes, self._decoders)
        keep.several(rows, size_bytes)
        return size_bytes

    def read_row(self, body: bytes) -> tuple[Cell, ...]:
        """With a look at the limit for every cell."""
        row: list[Cell] = []
        at = 2
        for decoder in self._decoders:
            (size,) = _length(body, at)
            at += 4
            if size < 0:
                row.append(None)
                continue
            row.append(decoder.decode(body[at : at + size]))
            at += size
        return tuple(row)

    async def read_large(self, wire: PostgresWire) -> tuple[Cell, ...]:
        """A row that is not held in memory: of each long cell only the beginning is taken."""
        stream = wire.stream
        await stream.skip(2)
        row: list[Cell] = []
        kept = self._limit_bytes + 4
        for number, field_ in enumerate(self.fields):
            (size,) = _length(await stream.take(4), 0)
            if size < 0:
                row.append(None)
            elif size <= kept:
                row.append(self._decoders[number].decode(await stream.take(size)))
            else:
                beginning = await stream.take(kept)
                await stream.skip(size - kept)
                row.append(cut(field_.type_oid, beginning, size, self._limit_bytes))
        return tuple(row)


# How a PostgreSQL column's values become faithful cells. Pure.
#
# The server sends text. Integers, floats and booleans become JSON's own; bytea becomes 0x…; all else stays
# the server's words: numeric with its NaN and its scale, dates with BC and infinity, json as it was written,
# arrays, ranges, rows and types that nobody here has heard of.
class _FieldDecoder:
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
