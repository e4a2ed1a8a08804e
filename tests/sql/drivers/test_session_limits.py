"""Small statements that ask for gigabytes are answered, and everyone else goes on working."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sql.conftest import OpenShop

from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.engines.sqlite.driver.connection import open_connection
from callgate.sql.engines.sqlite.session_limits import COLUMNS, HEAP_BYTES, VALUE_BYTES
from callgate.sql.guard.policy import Policy

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
DOUBLED = ", ".join(f"a{n} AS (SELECT p.x FROM a{n - 1} p, a{n - 1} q)" for n in range(1, 21))
COPIED = ", ".join(f"a{n} AS (SELECT x + x AS x FROM a{n - 1})" for n in range(1, 23))
# 200,000 characters.
LONG = "replace(hex(zeroblob(10000)), '00', 'aaaaaaaaaaaaaaaaaaaa')"
HUNGRY = [
    f"WITH a0(x) AS (SELECT 1), {DOUBLED} SELECT count(*) FROM a20",
    f"WITH a0 AS (SELECT length(name) AS x FROM customers), {COPIED} SELECT x FROM a22",
    f"{ENDLESS} SELECT x FROM c ORDER BY {LONG} || x",
    f"{ENDLESS} SELECT DISTINCT {LONG} || x FROM c LIMIT -1 OFFSET 1000000000",
    f"{ENDLESS} SELECT x, count(*) FROM c GROUP BY {LONG} || x",
]


@pytest.mark.parametrize("sql", HUNGRY)
async def test_a_statement_that_needs_too_much_memory_says_so_and_leaves_the_source_usable(
    opened: OpenShop, sql: str
) -> None:
    async with opened(pool_size=1) as source:
        answer = await source.query(sql)
        assert (answer.is_error, answer.code) == (True, "source.failed")
        assert "needs more memory than the 256 MiB" in answer.text
        assert "fewer or smaller columns" in answer.text
        after = await source.query("SELECT count(*) FROM orders")
        assert after.structured["rows"] == [[1450]]


async def test_a_row_of_too_many_columns_is_not_built(opened: OpenShop) -> None:
    columns = ", ".join(["x"] * 300)
    async with opened() as source:
        answer = await source.query(f"WITH a AS (SELECT {LONG} x) SELECT {columns} FROM a")
        widest = await source.query("SELECT " + ", ".join(["1"] * COLUMNS))
    assert answer.code == "source.failed"
    assert f"at most {COLUMNS} columns" in answer.text
    assert not widest.is_error


def test_sorting_leaves_no_files_and_the_heap_has_its_limit(shop: Path) -> None:
    with closing(open_connection(shop, Policy(SQLITE))) as connection:
        assert connection.execute("PRAGMA temp_store").fetchone() == (2,)
    with closing(sqlite3.connect(":memory:")) as connection:
        # Process-wide: this connection was opened without any of our limits.
        assert connection.execute("PRAGMA hard_heap_limit").fetchone() == (HEAP_BYTES,)


async def test_eight_workers_get_their_results_beside_one_that_takes_all_memory(opened: OpenShop) -> None:
    honest = "SELECT o.*, c.name FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY c.name, o.id"
    async with opened(pool_size=9) as source:
        alone = await asyncio.gather(*(source.query(f"{honest} -- {n}") for n in range(8)))
        assert [answer.is_error for answer in alone] == [False] * 8
        hungry, *beside = await asyncio.gather(
            source.query(HUNGRY[2]), *(source.query(f"{honest} -- {n}") for n in range(8))
        )
        # Who asks in the moment in which the memory is full is told what to do; nobody gets half a result.
        assert hungry.code == "source.failed"
        assert all(not answer.is_error or "try again" in answer.text for answer in beside)
        after = await asyncio.gather(*(source.query(f"{honest} -- {n}") for n in range(8)))
        assert [answer.structured["rows"] for answer in after] == [alone[0].structured["rows"]] * 8


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Honest rows of which some are larger than any value may be."""
    path = tmp_path / "archive.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, title TEXT, body TEXT, image BLOB)")
        rows = [
            (1, "small", "x", b"y"),
            (2, "large", "x" * (VALUE_BYTES + 1), b"y" * (VALUE_BYTES + 1)),
            (3, "fits", "x" * (VALUE_BYTES - 1000), b"y" * 10_000),
        ]
        connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?)", rows)
        connection.execute(f"CREATE TABLE wide ({', '.join(f'c{n}' for n in range(300))})")
        connection.execute("INSERT INTO wide (c0, c299) VALUES (1, 2)")
        connection.commit()
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pages",
        "SELECT substr(body, 1, 10) FROM pages WHERE id = 2",
        "SELECT image FROM pages WHERE id = 2",
        "SELECT length(body) FROM pages",
        "SELECT * FROM pages WHERE id <> 2 ORDER BY title",
    ],
)
async def test_a_stored_value_that_is_too_large_is_answered_with_what_to_leave_out(
    opened: OpenShop, archive: Path, sql: str
) -> None:
    async with opened(archive, pool_size=1) as source:
        answer = await source.query(sql)
        assert answer.code == "source.failed"
        assert "larger than 256 KiB" in answer.text
        assert "leave out" in answer.text
        small = await source.query("SELECT id, title, typeof(body), length(image) FROM pages ORDER BY title")
        assert [row[0] for row in small.structured["rows"]] == [3, 2, 1]
        cut = await source.query("SELECT body FROM pages WHERE id = 3")
        assert f"of {VALUE_BYTES - 1000:,} bytes shown" in cut.text


async def test_a_wide_table_can_be_read_by_column_also_after_the_schema_has_changed(
    opened: OpenShop, archive: Path
) -> None:
    async with opened(archive, pool_size=1) as source:
        assert "at most 200 columns" in (await source.query("SELECT * FROM wide")).text
        for name in ("first", "second"):
            with closing(sqlite3.connect(archive)) as other:
                other.execute(f"CREATE TABLE {name} (a, b CHECK (b <> '{'x' * 50_000}'))")
            assert not (await source.query(f"SELECT * FROM {name}")).is_error
            answer = await source.query("SELECT c299, c0 FROM wide")
            assert answer.structured["rows"] == [[2, 1]]
