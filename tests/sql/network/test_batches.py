"""Rows that arrive together are decoded together: each cell is what it would be alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sql.network.conftest import Opener, Source

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.keeper import RowKeeper
from callgate.sql.drivers.network.stream import OUT_OF_STEP, ConnectionLost
from callgate.sql.engines.mysql.driver.columns import RowColumn
from callgate.sql.engines.mysql.driver.packets import ColumnDefinition
from callgate.sql.engines.mysql.driver.result import _TextReader
from callgate.sql.guard.policy import Limits

LONG, VAR_STRING, UTF8MB4, BINARY = 3, 253, 45, 63


def mixed(source: Source, count: int) -> str:
    """Integers, texts of every length class, NULLs, and now and then a text above the limit of a cell."""
    numbers = f"seq AS n FROM seq_1_to_{count}" if source.is_mysql else f"generate_series(1, {count}) AS n"
    return f"""
        SELECT n, nullif(length(repeat('x', n % 3)), 0), concat('é|', n), repeat('y', n % 300),
            CASE WHEN n % 50 = 0 THEN repeat('z', 9000) WHEN n % 7 = 0 THEN NULL ELSE '' END
        FROM (SELECT {numbers}) AS numbers ORDER BY 1
    """


def mixed_row(n: int) -> tuple[Cell, ...]:
    cut = "z" * 8192 + "… [cut: 8,192 of 9,000 bytes shown]"
    last = cut if n % 50 == 0 else None if n % 7 == 0 else ""
    return n, n % 3 or None, f"é|{n}", "y" * (n % 300), last


async def test_a_batch_holds_nulls_long_texts_and_cut_ones_in_their_places(either: Opener) -> None:
    async with either(character_limit=1_000_000) as source:
        result = await source.run(mixed(source, 700))
        assert list(result.rows) == [mixed_row(n) for n in range(1, 701)]
        assert not result.truncated


@pytest.mark.parametrize("count", [199, 200, 201])
async def test_the_limit_of_rows_falls_within_a_batch(either: Opener, count: int) -> None:
    async with either(character_limit=1_000_000, max_rows=200) as source:
        result = await source.run(mixed(source, count))
        assert list(result.rows) == [mixed_row(n) for n in range(1, min(count, 200) + 1)]
        assert result.truncated == (count > 200)


async def test_the_limit_of_characters_falls_within_a_batch(either: Opener) -> None:
    """Four bytes a character at most: what is kept is never less than may be shown."""
    async with either(character_limit=2_000) as source:
        result = await source.run(mixed(source, 400))
        shown = [mixed_row(n) for n in range(1, len(result.rows) + 1)]
        assert list(result.rows) == shown
        assert result.truncated
        assert sum(len(str(cell)) for row in shown for cell in row) > 2_000


async def test_rows_without_a_column_are_counted(post: Opener) -> None:
    async with post() as source:
        result = await source.run("SELECT FROM generate_series(1, 5)")
        assert (result.rows, result.truncated) == (((),) * 5, False)


def column(name: str, type_code: int, charset: int) -> RowColumn:
    definition = ColumnDefinition(name, charset, 400, type_code, flags=0, decimals=0)
    return RowColumn(definition, Limits().cell_bytes)


def packet(*cells: bytes | None) -> bytes:
    body = b"".join(b"\xfb" if cell is None else bytes([len(cell)]) + cell for cell in cells)
    return len(body).to_bytes(3, "little") + b"\5" + body


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**64 - 1),
            st.none() | st.binary(max_size=60),
            st.binary(max_size=60),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_a_batch_is_read_as_its_rows_one_by_one(rows: list[tuple[int | None, bytes | None, bytes]]) -> None:
    """Also bytes that are no text, in any cell of the column."""
    reader = _TextReader(
        (column("n", LONG, BINARY), column("text", VAR_STRING, UTF8MB4), column("blob", VAR_STRING, BINARY))
    )
    packets = [packet(None if n is None else b"%d" % n, text, blob) for n, text, blob in rows]
    keep = RowKeeper(Limits())
    buffer = b"".join(packets)
    assert reader.read_buffered(buffer, keep) == len(buffer)
    assert keep.rows == [reader.read_row(one, 4) for one in packets]


@pytest.mark.parametrize("cells", [(b"1", b"a", b"b"), (b"", b"", b"")])
def test_cells_that_do_not_fill_their_row_end_the_connection(cells: tuple[bytes, ...]) -> None:
    reader = _TextReader((column("n", LONG, BINARY), column("text", VAR_STRING, UTF8MB4)))
    buffer = packet(b"7", b"x") + packet(*cells) + packet(b"8", b"y")
    with pytest.raises((ConnectionLost, *OUT_OF_STEP)):
        reader.read_buffered(buffer, RowKeeper(Limits()))


def test_a_row_that_is_not_there_yet_is_left() -> None:
    reader = _TextReader((column("n", LONG, BINARY), column("text", VAR_STRING, UTF8MB4)))
    whole, partial = packet(b"7", b"x"), packet(b"8", b"yyyy")[:-1]
    keep = RowKeeper(Limits())
    assert reader.read_buffered(whole + partial, keep) == len(whole)
    assert keep.rows == [(7, "x")]
