"""Reading the answer to one statement off the wire: rows streamed, cut and stopped at the limits."""

import struct
from dataclasses import dataclass, field
from functools import lru_cache

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.cut_rows import int32_rows
from callgate.sql.drivers.network.keeper import RowKeeper
from callgate.sql.drivers.network.server import ServerFault
from callgate.sql.drivers.network.stream import HIGH_BYTES, ConnectionLost
from callgate.sql.engines.postgres.driver import messages
from callgate.sql.engines.postgres.driver.columns import FieldDecoder, cut
from callgate.sql.engines.postgres.driver.messages import Field
from callgate.sql.engines.postgres.driver.wire import ERROR, READY, PostgresWire
from callgate.sql.guard.policy import Limits

_PARSED, _BOUND, _NO_DATA, _FIELDS, _ROW = ord("1"), ord("2"), ord("n"), ord("T"), ord("D")
_COMPLETE, _SUSPENDED, _EMPTY = ord("C"), ord("s"), ord("I")
_COPY_OUT, _COPY_DATA, _COPY_DONE = ord("H"), ord("d"), ord("c")
_EXPECTED = (_PARSED, _BOUND, _NO_DATA, _ROW, _SUSPENDED, _EMPTY, _COPY_OUT, _COPY_DATA, _COPY_DONE)
# Reading on is cheaper than a cancel and a new connection (about 10 ms), up to about here.
_SKIPPED_BYTES = 1024 * 1024
_length = struct.Struct("!i").unpack_from


@dataclass(slots=True)
class Rows:
    fields: tuple[Field, ...] = ()
    keeper: RowKeeper = field(default_factory=lambda: RowKeeper(Limits()))
    affected: int = 0
    fault: ServerFault | None = None
    is_at_end: bool = True  # the server has said all it had to say
    status: bytes = b""  # of the session afterwards: I(dle), T (in a transaction), E (in a failed one)


async def read_result(wire: PostgresWire, limits: Limits, *, must_end: bool) -> Rows:
    """To the ReadyForQuery of the statement's group; `must_end`: however much it returns."""
    result = Rows(keeper=RowKeeper(limits))
    reader: _RowReader | None = None
    stream, keep = wire.stream, result.keeper
    skipped_bytes = 0
    while True:
        if reader is not None:
            # The loop takes bytes: their slices are twice as quick to make as those of the bytearray.
            stream.at += reader.read_buffered(bytes(memoryview(stream.buffer)[stream.at :]), keep)
        found = wire.ready()
        if found is None:
            kind, size = await wire.header()
            if kind == _ROW and reader is not None and keep.has_room():
                keep.row(await _read_row(wire, reader, size), size)
                continue
            found = kind, await _take_unless_data(wire, kind, size)
            skipped_bytes += size
        elif found[0] == _ROW:
            if reader is not None and keep.has_room():
                keep.row(reader.read_row(found[1]), len(found[1]))
                continue
            skipped_bytes += len(found[1])
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
        result.affected = messages.read_affected(body)
    elif kind == ERROR:
        result.fault = messages.read_fault(body)
    elif kind not in _EXPECTED:
        raise ConnectionLost  # COPY FROM STDIN, or out of step


async def skip_to_ready(wire: PostgresWire) -> ServerFault | None:
    """Past the answers of one group; its error, if there was one."""
    fault: ServerFault | None = None
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
        self._decoders = [FieldDecoder(field.type_oid, limit_bytes) for field in fields]

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
