"""Reading the answer to one statement off the wire: rows streamed, cut and stopped at the limits."""

import struct
from dataclasses import dataclass, field
from functools import lru_cache

from callgate.sql.driver import Cell
from callgate.sql.network.keeper import RowKeeper
from callgate.sql.network.server import ServerFault
from callgate.sql.network.stream import HIGH_BYTES, ConnectionLost
from callgate.sql.policy import Limits
from callgate.sql.postgres import messages
from callgate.sql.postgres.columns import SHORT_BYTES, Decode, cut, decoder, short_decoder
from callgate.sql.postgres.messages import Field
from callgate.sql.postgres.wire import ERROR, READY, PostgresWire

_PARSED, _BOUND, _NO_DATA, _FIELDS, _ROW = ord("1"), ord("2"), ord("n"), ord("T"), ord("D")
_COMPLETE, _SUSPENDED, _EMPTY = ord("C"), ord("s"), ord("I")
_COPY_OUT, _COPY_DATA, _COPY_DONE = ord("H"), ord("d"), ord("c")
_EXPECTED = (_PARSED, _BOUND, _NO_DATA, _ROW, _SUSPENDED, _EMPTY, _COPY_OUT, _COPY_DATA, _COPY_DONE)
_HEADER_BYTES = 5
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
    read: _RowReader | None = None
    skipped_bytes = 0
    while True:
        if read is not None:
            _read_buffered(wire, read, result.keeper)
        found = wire.ready()
        if found is None:
            kind, size = await wire.header()
            if kind == _ROW and read is not None and result.keeper.has_room():
                result.keeper.row(await _read_row(wire, read, size), size)
                continue
            found = kind, await _take_unless_data(wire, kind, size)
            skipped_bytes += size
        elif found[0] == _ROW:
            result.keeper.has_room()  # it has not, or the row would have been read: this makes it truncated
            skipped_bytes += len(found[1])
        kind, body = found
        if kind == _FIELDS:
            read = _row_reader(body, limits.cell_bytes)
            result.fields = read.fields
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


def _read_buffered(wire: PostgresWire, read: "_RowReader", keeper: RowKeeper) -> None:
    """Rows that lie whole in the buffer, without a single wait: nearly all of them."""
    stream = wire.stream
    buffer = bytes(memoryview(stream.buffer)[stream.at :])  # slices of bytes are twice as quick to make
    at, end = 0, len(buffer)
    while end - at > _HEADER_BYTES and buffer[at] == _ROW and keeper.may_keep:
        size = _length(buffer, at + 1)[0] + 1
        if at + size > end:
            break
        keeper.row(read(buffer, at + _HEADER_BYTES), size)
        at += size
    stream.at += at


async def _read_row(wire: PostgresWire, read: "_RowReader", size: int) -> tuple[Cell, ...]:
    if size > HIGH_BYTES:
        return await read.large(wire)
    return read(await wire.stream.take(size), 0)


@lru_cache(maxsize=512)  # the same questions come again and again
def _row_reader(description: bytes, limit_bytes: int) -> "_RowReader":
    return _RowReader(messages.read_fields(description), limit_bytes)


class _RowReader:
    """Of rows that lie whole in the buffer: this is the hot loop of the driver."""

    def __init__(self, fields: tuple[Field, ...], limit_bytes: int) -> None:
        self.fields = fields
        self._limit_bytes = limit_bytes
        self._long = [decoder(field.type_oid, limit_bytes) for field in fields]
        self._short = [short_decoder(field.type_oid, limit_bytes) for field in fields]

    def __call__(self, buffer: bytes, at: int) -> tuple[Cell, ...]:
        try:
            return self._read(buffer, at, self._short)
        except UnicodeDecodeError:  # from a database that does not look at its texts (SQL_ASCII)
            return self._read(buffer, at, self._long)

    def _read(self, buffer: bytes, at: int, short: list[Decode]) -> tuple[Cell, ...]:
        row: list[Cell] = []
        at += 2  # how many cells; we know
        for number, decode in enumerate(short):
            (size,) = _length(buffer, at)
            at += 4
            if 0 <= size <= SHORT_BYTES:
                row.append(decode(buffer[at : at + size]))
                at += size
            elif size < 0:
                row.append(None)
            else:
                row.append(self._long[number](buffer[at : at + size]))
                at += size
        return tuple(row)

    async def large(self, wire: PostgresWire) -> tuple[Cell, ...]:
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
                row.append(self._long[number](await stream.take(size)))
            else:
                beginning = await stream.take(kept)
                await stream.skip(size - kept)
                row.append(cut(field_.type_oid, beginning, size, self._limit_bytes))
        return tuple(row)
