"""Rows of a PostgreSQL server as its bytes come in: what they cost does not grow with the buffer."""

import struct

import pytest

from callgate.sql.drivers.network.stream import ByteStream
from callgate.sql.engines.postgres.driver.result import Rows, read_result
from callgate.sql.engines.postgres.driver.wire import PostgresWire
from callgate.sql.guard.policy import Limits

TEXT, INTEGER = 25, 23


def message(kind: bytes, payload: bytes) -> bytes:
    return kind + struct.pack(">I", len(payload) + 4) + payload


def fields(*types: int) -> bytes:
    each = b"".join(b"a\0" + bytes(6) + struct.pack(">IhIh", oid, -1, 0, 0) for oid in types)
    return message(b"T", struct.pack(">H", len(types)) + each)


def row(*cells: bytes) -> bytes:
    return message(
        b"D", struct.pack(">H", len(cells)) + b"".join(struct.pack(">I", len(c)) + c for c in cells)
    )


READY = message(b"Z", b"I")


class CountingStream(ByteStream):
    def __init__(self) -> None:
        super().__init__()
        self.copies = 0

    def ahead(self) -> bytes:
        self.copies += 1
        return super().ahead()


async def read(answer: bytes, limits: Limits, *, must_end: bool = True) -> tuple[Rows, CountingStream]:
    stream = CountingStream()
    stream.buffer += answer
    return await read_result(PostgresWire(stream, is_private=True), limits, must_end=must_end), stream


async def test_rows_beyond_the_limit_are_passed_over_without_a_copy_of_what_comes() -> None:
    rows, stream = await read(fields(TEXT) + row(b"abc") * 10_000 + READY, Limits(max_rows=10))
    assert len(rows.keeper.rows) == 10
    assert rows.keeper.truncated
    assert stream.copies < 5


async def test_rows_longer_than_what_is_copied_at_a_time_are_all_there() -> None:
    limits = Limits(max_rows=5_000, character_limit=10_000_000)
    cells = [b"%d" % number * 20 for number in range(5_000)]
    rows, _ = await read(fields(TEXT) + b"".join(map(row, cells)) + READY, limits)
    assert rows.keeper.rows == [(cell.decode(),) for cell in cells]


async def test_rows_without_columns_are_counted() -> None:
    rows, _ = await read(fields() + row() * 1_000 + READY, Limits(max_rows=2_000))
    assert rows.keeper.rows == [()] * 1_000


@pytest.mark.parametrize("must_end", [True, False])
async def test_far_more_rows_than_are_kept_end_the_reading_unless_it_must_end(must_end: bool) -> None:
    answer = fields(INTEGER) + row(b"7") * 20_000 + READY
    rows, _ = await read(answer, Limits(max_rows=1), must_end=must_end)
    assert rows.is_at_end is must_end
