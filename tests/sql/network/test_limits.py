"""Rows and cells are cut while they arrive: `truncated` is exact, and nothing is held whole."""

import tracemalloc

import pytest
from databases.database import Database
from sql.network.conftest import Opener, Source

from callgate.sql.settings import Mode


def numbers(source: Source, count: int) -> str:
    if source.is_mysql:
        return f"SELECT seq FROM seq_1_to_{count}"
    return f"SELECT n FROM generate_series(1, {count}) AS n"


@pytest.mark.parametrize(
    ("count", "truncated"), [(0, False), (9, False), (10, False), (11, True), (500, True)]
)
async def test_truncated_is_exact(either: Opener, count: int, truncated: bool) -> None:
    async with either(max_rows=10) as source:
        sql = numbers(source, count) if count else f"{numbers(source, 5)} WHERE 1 = 0"
        result = await source.run(sql)
        assert [row[0] for row in result.rows] == list(range(1, min(count, 10) + 1))
        assert (result.truncated, result.row_count) == (truncated, min(count, 10))


async def test_truncated_is_exact_with_bound_values_too(either: Opener) -> None:
    async with either(max_rows=10) as source:
        holder = source.driver.placeholder(1)
        column = "seq" if source.is_mysql else "n"
        for count, truncated in ((10, False), (11, True)):
            result = await source.run(f"{numbers(source, 100)} WHERE {column} <= {holder}", count)
            assert (len(result.rows), result.truncated) == (10, truncated)


async def test_a_result_without_end_is_left_and_ended_at_the_server(either: Opener) -> None:
    async with either(max_rows=10, pool_size=1) as source:
        source.server.needs_mariadb("tables of numbers")
        big = (
            "SELECT a.seq, 'endless-here' FROM seq_1_to_1000000 a, seq_1_to_1000000 b"
            if source.is_mysql
            else "SELECT a, 'endless-here' FROM generate_series(1, 1000000) a, generate_series(1, 1000) b"
        )
        result = await source.run(big)
        assert (len(result.rows), result.truncated) == (10, True)
        await source.until_running("endless-here", 0)
        assert await source.cell("SELECT 7") == 7


async def test_more_characters_than_the_answer_may_have_are_not_fetched(either: Opener) -> None:
    async with either(max_rows=1000, character_limit=1000, pool_size=1) as source:
        wide = numbers(source, 1000).replace("SELECT ", "SELECT repeat('x', 100000), ")
        result = await source.run(wide)
        assert result.truncated
        assert len(result.rows) < 5
        assert await source.cell("SELECT 7") == 7


async def test_characters_of_several_bytes_are_not_counted_as_several(either: Opener) -> None:
    async with either(max_rows=1000, character_limit=1000) as source:
        result = await source.run(numbers(source, 30).replace("SELECT ", "SELECT '漢字漢字漢字漢字漢字', "))
        assert (len(result.rows), result.truncated) == (30, False)


async def test_a_truncated_statement_does_not_end_those_after_it(either: Opener) -> None:
    async with either(max_rows=10, pool_size=1) as source:
        long = numbers(source, 1_000_000).replace("SELECT ", "SELECT repeat('x', 1000), ")
        first, second = await source.run_all(long, "SELECT 7")
        assert (first.truncated, second.rows) == (True, ((7,),))


@pytest.mark.parametrize("size", [8_192, 8_193, 300_000, 17_000_000])
async def test_a_long_text_is_cut_and_says_so(either: Opener, size: int, mariadb: Database) -> None:
    if size > 16_000_000:
        mariadb.run("SET GLOBAL max_allowed_packet = 67108864")
    async with either() as source:
        (row,) = await source.rows(f"SELECT 1, repeat('x', {size}), 'after'")
        assert (row[0], row[2]) == (1, "after")
        if size <= 8_192:
            assert row[1] == "x" * size
        else:
            assert row[1] == "x" * 8_192 + f"… [cut: 8,192 of {size:,} bytes shown]"
        assert await source.cell("SELECT 7") == 7


async def test_a_long_text_is_cut_between_characters(either: Opener) -> None:
    async with either() as source:
        for size in (3_000, 300_000):
            cell = await source.cell(f"SELECT concat('x', repeat('漢', {size}))")
            assert str(cell).startswith("x漢")
            assert "\\x" not in str(cell)
            assert f"of {3 * size + 1:,} bytes shown" in str(cell)


async def test_a_long_blob_is_cut_and_says_so(either: Opener) -> None:
    async with either() as source:
        for size in (10_000, 400_000):
            expression = (
                f"CAST(repeat('a', {size}) AS BINARY)" if source.is_mysql else f"repeat('a', {size})::bytea"
            )
            cell = await source.cell(f"SELECT {expression}")
            assert cell == "0x" + "61" * 4_096 + f"… [cut: 4,096 of {size:,} bytes shown]"


async def test_a_long_bound_text_comes_back_cut(either: Opener) -> None:
    async with either() as source:
        holder = source.driver.placeholder(1) + ("" if source.is_mysql else "::text")
        cell = await source.cell(f"SELECT concat({holder}, '')", "y" * 600_000)
        assert str(cell).startswith("y" * 8_192 + "…")


async def test_a_large_result_does_not_grow_our_memory(either: Opener) -> None:
    """A thousand rows of a megabyte each; a script of its own measures the whole process."""
    async with either() as source:
        await source.run("SELECT 1")
        wide = numbers(source, 1000).replace("SELECT ", "SELECT repeat('x', 1000000), ")
        tracemalloc.start()
        try:
            result = await source.run(wide)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert result.truncated
        assert peak < 10_000_000


async def test_a_write_is_never_killed_for_what_it_returns(either: Opener) -> None:
    async with either(mode=Mode.WRITE, max_rows=1) as source:
        source.server.needs_mariadb("RETURNING")
        table = source.table("returning_much", "a text")
        insert = (
            numbers(source, 3000)
            .replace("SELECT ", "SELECT concat(repeat('x', 1000), ")
            .replace(" FROM", ") FROM")
        )
        result = await source.run(f"INSERT INTO {table} {insert} RETURNING a", is_write=True)
        assert (result.truncated, result.row_count) == (True, 3000)
        assert source.server.run(f"SELECT count(*) FROM {table}") == "3000"
