"""Reading a result's rows off the wire: streamed, cut and stopped at the limits, never held whole.

`truncated` is exact: it is set when one more row has begun to arrive than may be kept.
"""

import time
from dataclasses import dataclass, field

from callgate.sql.drivers.driver import Cell, Column, StatementResult
from callgate.sql.drivers.network.cut_rows import lenenc_rows
from callgate.sql.drivers.network.keeper import RowKeeper
from callgate.sql.drivers.network.server import ServerError
from callgate.sql.drivers.network.stream import HIGH_BYTES, ConnectionLost
from callgate.sql.engines.mysql.driver import packets
from callgate.sql.engines.mysql.driver.columns import RowColumn, row_columns
from callgate.sql.engines.mysql.driver.packets import MAX_PACKET
from callgate.sql.engines.mysql.driver.wire import EOF_BYTES, MySqlWire
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits

_ERR = 0xFF
_END = 0xFE
_NULL = 0xFB
_HEADER_BYTES = 4
_LOCAL_INFILE = 0xFB
_OK = 0x00
# Reading on is cheaper than a kill, its second connection and a new login (about 3 ms), up to about here.
# Many short rows cost more than few long ones: a row counts as a hundred bytes more than it has.
_SKIPPED_BYTES = 512 * 1024
_ROW_COST_BYTES = 100
# A table has at most 4096 columns, and each is defined in at most some 2 KB.
_MOST_COLUMNS = 4 * 4096
_MOST_DEFINITION_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class Rows:
    columns: tuple[Column, ...] = ()
    keeper: RowKeeper = field(default_factory=lambda: RowKeeper(Limits()))
    affected: int = 0
    is_at_end: bool = True  # the server has said all it had to say
    skipped: int = 0  # rows that came and were not kept

    def told(self, statement: Statement, started: float) -> StatementResult:
        """`started`: by `time.perf_counter()`."""
        kept = self.keeper.rows
        return StatementResult(
            statement_type=statement.statement_type,
            columns=self.columns,
            rows=tuple(kept),
            # INSERT … RETURNING sends rows and no count: they are the count.
            row_count=self.affected + self.skipped + len(kept) if statement.is_write else len(kept),
            elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
            truncated=self.keeper.truncated,
            is_write=statement.is_write,
        )


Columns = tuple[RowColumn, ...]


async def read_result(wire: MySqlWire, statement: Statement, limits: Limits) -> Rows:
    """What the server says to a statement that was sent. Raises `ServerError`, `ConnectionLost`."""
    wire.turn()
    data = wire.ready() or await wire.packet()
    if data[0] == _ERR:
        raise ServerError(packets.read_fault(data))
    if data[0] == _OK:
        wire.note_end(data)
        return Rows(affected=packets.read_affected(data))
    if data[0] == _LOCAL_INFILE:
        raise ConnectionLost  # the server asks for a file of ours: never
    count, _ = packets.read_lenenc(data, 0)
    limits = statement.limits or limits
    columns = await read_columns(wire, count, limits)
    rows = await read_rows(wire, columns, limits, is_binary=bool(statement.parameters))
    # A write must come to its end, however much it returns.
    if not rows.is_at_end:
        await skip_rows(wire, rows, limited=not statement.is_write)
    return rows


async def read_columns(wire: MySqlWire, count: int, limits: Limits) -> Columns:
    if count > _MOST_COLUMNS:
        raise ConnectionLost  # nothing that we hold grows with what a server says
    block = wire.ready_block(count)
    if block is None:
        block = await _block(wire, count)
    if not wire.ends_with_ok:
        await wire.packet()  # EOF
    return row_columns(
        block,
        is_extended=wire.is_extended,
        is_mysql_8=wire.is_mysql_8,
        limit_bytes=limits.cell_bytes,
    )


async def _block(wire: MySqlWire, count: int) -> bytes:
    definitions: list[bytes] = []
    size_bytes = 0
    for _ in range(count):
        definition = packets.framed(await wire.packet())
        size_bytes += len(definition)
        if size_bytes > _MOST_DEFINITION_BYTES:
            raise ConnectionLost
        definitions.append(definition)
    return b"".join(definitions)


async def read_rows(wire: MySqlWire, columns: Columns, limits: Limits, *, is_binary: bool) -> Rows:
    keep = RowKeeper(limits)
    result = Rows(tuple([column.column for column in columns]), keep)
    reader = _BinaryReader(columns) if is_binary else _TextReader(columns)
    stream = wire.stream
    while True:
        stream.at += reader.read_buffered(stream.ahead(), keep)
        if wire.at_end():
            return result
        size = await wire.header()
        if stream.available < 1:
            await stream.fill(1)
        if await _is_end(wire, size):
            return result
        if not keep.has_room():
            result.is_at_end = False
            result.skipped += 1
            await _skip_packet(wire, size)
            return result
        if size > HIGH_BYTES:
            keep.row(await _LargeRow(wire, size).read(columns, is_binary=is_binary), size)
        else:
            keep.row(reader.read_row(await stream.take(size), 0), size)


async def skip_rows(wire: MySqlWire, result: Rows, *, limited: bool) -> bool:
    """To the end of the result; False when it is too far away."""
    cost_bytes = 0
    while True:
        rows, size = _skip_buffered(wire)
        result.skipped += rows
        cost_bytes += size + rows * _ROW_COST_BYTES
        if limited and cost_bytes > _SKIPPED_BYTES:
            return False
        size = await wire.header()
        if wire.stream.available < 1:
            await wire.stream.fill(1)
        if await _is_end(wire, size):
            result.is_at_end = True
            return True
        result.skipped += 1
        cost_bytes += size
        await _skip_packet(wire, size)


def _skip_buffered(wire: MySqlWire) -> tuple[int, int]:
    """Past rows that lie whole in the buffer: how many, and of how many bytes."""
    stream = wire.stream
    buffer, at, end = stream.buffer, stream.at, len(stream.buffer)
    rows, start = 0, at
    while end - at > _HEADER_BYTES:
        size = buffer[at] | buffer[at + 1] << 8 | buffer[at + 2] << 16
        stop = at + _HEADER_BYTES + size
        if stop > end or buffer[at + _HEADER_BYTES] >= _END:
            break
        at = stop
        rows += 1
    stream.at = at
    return rows, at - start


async def _is_end(wire: MySqlWire, size: int) -> bool:
    """After a header: whether this packet ends the rows; it is taken then."""
    first = wire.stream.buffer[wire.stream.at]
    if first == _ERR and size < MAX_PACKET:
        raise ServerError(packets.read_fault(await wire.stream.take(size)))
    if first == _END and size < (MAX_PACKET if wire.ends_with_ok else EOF_BYTES):
        wire.note_end(await wire.stream.take(size))
        return True
    return False


async def _skip_packet(wire: MySqlWire, size: int) -> None:
    await wire.stream.skip(size)
    while size == MAX_PACKET:
        size = await wire.header()
        await wire.stream.skip(size)


class _TextReader:
    """Of the rows of an ordinary query."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def read_buffered(self, buffer: bytes, keep: RowKeeper) -> int:
        """Keep the rows that lie whole in the buffer, nearly all of them; returns how many bytes they took.

        A row that may hold a cell above the limit is left where it is, and so is the one that passes the
        limit of bytes.
        """
        end = min(len(buffer), keep.bytes_left)
        rows, size_bytes = lenenc_rows(buffer, end, keep.rows_left, keep.cell_bytes, self._columns)
        keep.several(rows, size_bytes)
        return size_bytes

    def read_row(self, buffer: bytes, at: int) -> tuple[Cell, ...]:
        """With a look at the limit for every cell."""
        row: list[Cell] = []
        for column in self._columns:
            if buffer[at] == _NULL:
                row.append(None)
                at += 1
                continue
            size, at = packets.read_lenenc(buffer, at)
            row.append(column.decode(buffer[at : at + size]))
            at += size
        return tuple(row)


class _BinaryReader:
    """Of the rows of a prepared statement."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def read_buffered(self, buffer: bytes, keep: RowKeeper) -> int:
        """As `_TextReader` does; every cell has a look at the limit here."""
        at, end = 0, len(buffer)
        while keep.may_keep and end - at > _HEADER_BYTES:
            size = buffer[at] | buffer[at + 1] << 8 | buffer[at + 2] << 16
            start = at + _HEADER_BYTES
            if start + size > end or buffer[start] >= _END:
                break
            keep.row(self.read_row(buffer, start), size)
            at = start + size
        return at

    def read_row(self, buffer: bytes, at: int) -> tuple[Cell, ...]:
        row: list[Cell] = []
        nulls = at + 1
        at = nulls + (len(self._columns) + 9) // 8
        for number, column in enumerate(self._columns, start=2):
            if buffer[nulls + number // 8] >> number % 8 & 1:
                row.append(None)
                continue
            cell, at = column.read_binary(buffer, at)
            row.append(cell)
        return tuple(row)


class _LargeRow:
    """A row that is not held in memory: of each long cell only the beginning is taken."""

    def __init__(self, wire: MySqlWire, size: int) -> None:
        self._wire = wire
        self._left = size  # of the current packet
        self._is_last = size < MAX_PACKET

    async def read(self, columns: Columns, *, is_binary: bool) -> tuple[Cell, ...]:
        nulls = await self._take(1 + (len(columns) + 9) // 8) if is_binary else b""
        row: list[Cell] = []
        for number, column in enumerate(columns, start=2):
            if is_binary and nulls[1 + number // 8] >> number % 8 & 1:
                row.append(None)
                continue
            row.append(await self._cell(column, is_binary=is_binary))
        await self._turn()
        await self._skip(self._left)
        return tuple(row)

    async def _cell(self, column: RowColumn, *, is_binary: bool) -> Cell:
        fixed = column.fixed_bytes if is_binary else 0
        if fixed:
            return column.read_binary(bytearray(await self._take(fixed)), 0)[0]
        head = await self._take(1)
        if head[0] == _NULL and not is_binary:
            return None
        if head[0] > _NULL:
            head += await self._take({252: 2, 253: 3, 254: 8}[head[0]])
        size, _ = packets.read_lenenc(head, 0)
        if size <= column.limit_bytes:
            raw = bytearray(await self._take(size))
            return column.read_binary(bytearray(head) + raw, 0)[0] if is_binary else column.decode(raw)
        kept = column.limit_bytes + 1
        beginning = await self._take(kept)
        await self._skip(size - kept)
        return column.cut(beginning, size)

    async def _take(self, count: int) -> bytes:
        taken = b""
        while count > 0:
            await self._turn()
            step = self._step(count)
            taken += await self._wire.stream.take(step)
            self._left -= step
            count -= step
        return taken

    async def _skip(self, count: int) -> None:
        while count > 0:
            await self._turn()
            step = self._step(count)
            await self._wire.stream.skip(step)
            self._left -= step
            count -= step

    def _step(self, count: int) -> int:
        if self._left == 0:
            raise ConnectionLost  # a row that ends before its last cell: out of step
        return min(count, self._left)

    async def _turn(self) -> None:
        """On to the next packet when this one is used up."""
        while self._left == 0 and not self._is_last:
            self._left = await self._wire.header()
            self._is_last = self._left < MAX_PACKET
