"""DuckDB's driver: faithful cells, exact truncation, a child that can be killed, files in every state."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Unpack

import duckdb
import pytest
from sql.conftest import Asker, Options
from sql.corpus_files import FOLDER

from callgate.sql.engines.duckdb.driver.driver import DuckdbDriver
from callgate.sql.engines.duckdb.driver.engine_process import EngineProcess
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import Mode, SourceSettings

RUNAWAY = "SELECT count(*) FROM range(100000000000) WHERE hash(range) % 7 = 1"
# One call of a built-in function: no interrupt reaches it.
LONG = f"replace(repeat('a', 10000), 'a', '{'a' * 20}')"
DEAF = f"SELECT levenshtein({LONG}, replace({LONG}, 'a', 'b'))"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("duckdb") / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute((FOLDER / "duckdb_schema.sql").read_text())
    return path


@pytest.fixture
def shop(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(pristine, tmp_path / "shop.duckdb"))


@asynccontextmanager
async def opened(path: Path, **settings: Unpack[Options]) -> AsyncIterator[Asker]:
    server = open_source(SourceSettings("shop", "duckdb", path, **settings))
    try:
        yield Asker(server)
    finally:
        await server.close()


def process_of(asker: Asker) -> EngineProcess:
    driver = asker.server._driver
    assert isinstance(driver, DuckdbDriver)
    assert driver._process is not None
    return driver._process


async def gone(pid: int) -> None:
    """Until the system has forgotten the process: it is reaped by its parent, whoever that is."""
    while Path(f"/proc/{pid}").exists():
        await asyncio.sleep(0.01)


CELLS = {
    "true": True,
    "170141183460469231731687303715884105727::HUGEINT": "170141183460469231731687303715884105727",
    "340282366920938463463374607431768211455::UHUGEINT": "340282366920938463463374607431768211455",
    "9007199254740993::BIGINT": "9007199254740993",
    "'123456789012345678901234567890123456789012'::BIGNUM": "123456789012345678901234567890123456789012",
    "1.10::DECIMAL(38, 10)": "1.1000000000",
    "0.1::FLOAT": 0.1,
    "0.1::DOUBLE": 0.1,
    "'NaN'::DOUBLE": "NaN",
    "'-inf'::FLOAT": "-Infinity",
    "''": "",
    "NULL": None,
    "chr(0) || 'a'": "\0a",
    r"'\xAA\x00'::BLOB": "0xaa00",
    "'0101'::BIT": "0101",
    "'5f3c1bd0-0000-4000-8000-000000000001'::UUID": "5f3c1bd0-0000-4000-8000-000000000001",
    "'ok'::mood": "ok",
    "DATE '2024-02-29'": "2024-02-29",
    "'infinity'::DATE": "infinity",
    "DATE '-5000-01-01'": "5001-01-01 (BC)",
    "TIMESTAMP '2024-02-29 10:00:00.123456'": "2024-02-29 10:00:00.123456",
    "TIMESTAMP_NS '2024-02-29 10:00:00.123456789'": "2024-02-29 10:00:00.123456789",
    "TIMESTAMPTZ '2024-02-29 10:00:00+02'": "2024-02-29 08:00:00+00",
    "TIME '12:34:56.789'": "12:34:56.789",
    "TIMETZ '12:34:56+02'": "12:34:56+02",
    "INTERVAL '1 month 2 days 3 hours'": "1 month 2 days 03:00:00",
    "[1, NULL, 3]": "[1, NULL, 3]",
    "[1, 2]::INTEGER[2]": "[1, 2]",
    "{'a': 1.50::DECIMAL(4, 2), 'b': [DATE '2024-01-01']}": "{'a': 1.50, 'b': [2024-01-01]}",
    "MAP {'x': INTERVAL 1 MONTH}": "{x=1 month}",
    "union_value(n := 2)": "2",
    "'{\"a\": 1}'::JSON": '{"a": 1}',
}


async def test_every_type_is_shown_faithfully(shop: Path) -> None:
    async with opened(shop) as source:
        items = ", ".join(f"{sql} AS c{number}" for number, sql in enumerate(CELLS))
        answer = await source.query(f"SELECT {items}", response_format="json")
        assert dict(zip(CELLS, answer.structured["rows"][0], strict=True)) == CELLS


async def test_columns_bear_their_names_and_types(shop: Path) -> None:
    async with opened(shop) as source:
        sql = 'SELECT id, id, total AS "a b", note FROM orders'
        answer = await source.query(sql, response_format="json")
        assert answer.structured["columns"] == [
            {"name": "id", "type": "INTEGER"},
            {"name": "id", "type": "INTEGER"},
            {"name": "a b", "type": "DECIMAL(10,2)"},
            {"name": "note", "type": "VARCHAR"},
        ]


@pytest.mark.parametrize("sql", ["SELECT range FROM range({})", "SELECT INTERVAL 1 DAY FROM range({})"])
async def test_truncated_is_exact_at_the_limit(sql: str, shop: Path) -> None:
    async with opened(shop, max_rows=100) as source:
        at_limit = await source.query(sql.format(100), response_format="json")
        beyond = await source.query(sql.format(101), response_format="json")
        endless = await source.query(sql.format(10**12), response_format="json")
    assert (len(at_limit.structured["rows"]), at_limit.structured["truncated"]) == (100, False)
    assert (len(beyond.structured["rows"]), beyond.structured["truncated"]) == (100, True)
    assert (len(endless.structured["rows"]), endless.structured["truncated"]) == (100, True)


async def test_rows_keep_the_order_of_the_query_when_cells_are_made_text(shop: Path) -> None:
    async with opened(shop) as source:
        sql = "SELECT r::DECIMAL(10, 1) FROM range(5000) t(r) ORDER BY r DESC"
        answer = await source.query(sql, response_format="json")
        shown = [float(row[0]) for row in answer.structured["rows"]]
        assert shown == sorted(shown, reverse=True)
        assert shown[0] == 4999


async def test_a_value_beyond_the_memory_limit_is_an_error_and_the_next_query_runs(shop: Path) -> None:
    async with opened(shop) as source:
        answer = await source.query("SELECT length(string_agg('xxxxxxxxxxxxxxxxxxxx')) FROM range(100000000)")
        assert answer.code == "source.failed"
        assert "more memory" in answer.text
        assert (await source.query("SELECT 1")).structured["rows"] == [[1]]


async def test_a_large_sort_that_does_not_fit_says_so_and_leaves_no_file(shop: Path) -> None:
    async with opened(shop) as source:
        answer = await source.query(
            "SELECT list(md5(range::VARCHAR) ORDER BY hash(range)) FROM range(9000000)"
        )
        assert answer.is_error
        assert [path.name for path in shop.parent.iterdir()] == ["shop.duckdb"]


async def test_a_runaway_query_is_stopped_and_the_process_lives_on(shop: Path) -> None:
    async with opened(shop, timeout_s=2.0) as source:
        await source.query("SELECT 1")
        pid = process_of(source).pid
        answer = await source.query(RUNAWAY)
        assert answer.code == "source.timeout"
        assert (await source.query("SELECT 1")).structured["rows"] == [[1]]
        assert process_of(source).pid == pid


async def test_a_call_that_nothing_interrupts_costs_the_process_and_not_the_source(shop: Path) -> None:
    async with opened(shop, timeout_s=2.0) as source:
        await source.query("SELECT 1")
        pid = process_of(source).pid
        answer = await source.query(DEAF)
        assert answer.code == "source.timeout"
        await gone(pid)
        assert (await source.query("SELECT 1")).structured["rows"] == [[1]]
        assert process_of(source).pid != pid


async def test_a_cancelled_query_ends_in_the_child(shop: Path) -> None:
    async with opened(shop, pool_size=1) as source:
        await source.query("SELECT 1")
        pid = process_of(source).pid
        task = asyncio.create_task(source.query(RUNAWAY))
        while not process_of(source)._waiting:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await source.query("SELECT 1")).structured["rows"] == [[1]]
        assert process_of(source).pid == pid


async def test_a_killed_process_fails_the_call_that_runs_and_is_replaced(shop: Path) -> None:
    async with opened(shop) as source:
        await source.query("SELECT 1")
        task = asyncio.create_task(source.query(RUNAWAY))
        while not process_of(source)._waiting:
            await asyncio.sleep(0.01)
        os.kill(process_of(source).pid, signal.SIGKILL)
        answer = await task
        assert answer.code == "source.failed"
        assert "Try again" in answer.text
        assert (await source.query("SELECT 1")).structured["rows"] == [[1]]


async def test_sixty_four_callers_on_a_pool_of_eight_all_get_their_own_answers(shop: Path) -> None:
    async with opened(shop, pool_size=8) as source:
        answers = await asyncio.gather(
            *(source.query(f"SELECT {number}, count(*) FROM orders") for number in range(64))
        )
        assert [answer.structured["rows"] for answer in answers] == [[[number, 4]] for number in range(64)]


async def test_the_session_is_read_back_as_it_was_pinned(shop: Path) -> None:
    async with opened(shop) as source:
        posture = await source.server._driver.posture()
        assert dict(posture.settings) == {
            "access_mode": "read_only",
            "enable_external_access": "false",
            "lock_configuration": "true",
            "memory_limit": "768.0 MiB",
            "threads": "2",
        }


async def test_closing_leaves_no_process(shop: Path) -> None:
    async with opened(shop) as source:
        await source.query("SELECT 1")
        pid = process_of(source).pid
    assert not Path(f"/proc/{pid}").exists()


async def test_no_orphan_is_left_when_the_gateway_is_killed(shop: Path) -> None:
    script = textwrap.dedent("""
        import asyncio, sys
        from pathlib import Path
        from callgate.sql.engines.duckdb.driver.driver import DuckdbDriver
        from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
        from callgate.sql.guard.judgement import Statement
        from callgate.sql.guard.policy import Policy

        async def main():
            driver = DuckdbDriver(Path(sys.argv[1]), Policy(DUCKDB), 2)
            await driver.run([Statement("SELECT 1", "SELECT")])
            print(driver._process.pid, flush=True)
            await driver.run([Statement(sys.argv[2], "SELECT")])

        asyncio.run(main())
    """)
    gateway = subprocess.Popen([sys.executable, "-c", script, shop, DEAF], stdout=subprocess.PIPE)
    assert gateway.stdout is not None
    pid = int(gateway.stdout.readline())
    gateway.kill()
    gateway.wait()
    gateway.stdout.close()
    await gone(pid)


async def test_the_child_knows_nothing_of_the_gateways_environment(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSQL_PASSWORD", "hunter2")
    async with opened(shop) as source:
        await source.query("SELECT 1")
        environment = Path(f"/proc/{process_of(source).pid}/environ").read_bytes()
        assert b"hunter2" not in environment


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.unlink(), "does not exist"),
        (lambda path: path.write_bytes(b"not a database at all"), "is not a DuckDB database"),
        (lambda path: path.write_bytes(path.read_bytes()[:20_000]), "cannot be opened"),
    ],
    ids=["missing", "foreign", "cut"],
)
async def test_a_file_that_cannot_be_used_is_told_and_tried_again(
    make: Callable[[Path], object], says: str, shop: Path, pristine: Path
) -> None:
    make(shop)
    async with opened(shop) as source:
        answer = await source.query("SELECT 1")
        assert answer.code == "source.unavailable"
        assert says in answer.text
        assert str(shop.parent) not in answer.text
        assert source.server.health().state == "down"
        assert str(shop) in source.server.health().detail
        shutil.copy(pristine, shop)
        assert (await source.query("SELECT count(*) FROM orders")).structured["rows"] == [[4]]
        assert source.server.health().state == "up"


async def test_a_file_that_somebody_else_writes_to_is_told_with_his_number(shop: Path) -> None:
    script = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script, shop], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    with writer:
        writer.stdout.readline()
        async with opened(shop) as source:
            answer = await source.query("SELECT 1")
            assert answer.code == "source.unavailable"
            assert f"in use by another process (process {writer.pid})" in answer.text
            writer.stdin.close()
            writer.wait()
            assert not (await source.query("SELECT 1")).is_error


async def test_an_idle_source_lets_others_write(shop: Path) -> None:
    async with opened(shop) as source:
        await source.query("SELECT 1")
        while True:  # until the child lets go of the file by itself
            try:
                with duckdb.connect(str(shop)) as connection:
                    connection.execute("DELETE FROM order_items")
                break
            except duckdb.IOException:
                await asyncio.sleep(0.2)
        assert (await source.query("SELECT count(*) FROM order_items")).structured["rows"] == [[0]]


async def test_a_file_that_was_replaced_is_the_one_that_is_read(shop: Path, tmp_path: Path) -> None:
    async with opened(shop) as source:
        assert (await source.query("SELECT count(*) FROM orders")).structured["rows"] == [[4]]
        draft = tmp_path / "draft.duckdb"
        with duckdb.connect(str(draft)) as connection:
            connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
        draft.replace(shop)
        assert (await source.query("SELECT count(*) FROM orders")).structured["rows"] == [[1]]


async def test_nothing_of_one_call_is_left_for_the_next(shop: Path) -> None:
    async with opened(shop, mode=Mode.WRITE, pool_size=1) as source:
        driver = source.server._driver
        assert (await source.query("PIVOT orders ON status USING sum(total)")).structured["rows"]
        types = await source.query("SELECT count(*) FROM duckdb_types() WHERE type_name LIKE '%pivot%'")
        assert types.structured["rows"] == [[0]]
        assert driver.trouble() is None


async def test_writes_count_their_rows_and_a_failed_transaction_changes_nothing(shop: Path) -> None:
    async with opened(shop, mode=Mode.WRITE) as source:
        wrote = await source.query("UPDATE orders SET total = total + 1")
        assert wrote.structured["rowCount"] == 4
        returned = await source.query("DELETE FROM order_items RETURNING order_id, now()")
        assert returned.structured["rowCount"] == 4
        assert len(returned.structured["rows"]) == 4
        doubled = await source.query("INSERT INTO customers (id, name) VALUES (1, 'x')")
        assert doubled.code == "source.constraint"
        failed = await source.query("BEGIN; DELETE FROM orders; INSERT INTO orders (nope) VALUES (1); COMMIT")
        assert failed.code == "source.unknown_column"
        assert (await source.query("SELECT count(*) FROM orders")).structured["rows"] == [[4]]


@pytest.mark.parametrize(
    ("sql", "code", "words"),
    [
        ("SELECT * FROM ordrs", "source.unknown_table", "Did you mean: orders"),
        ("SELECT * FROM salez.regions", "source.unknown_database", "SHOW SCHEMAS"),
        ("SELECT totl FROM orders", "source.unknown_column", "Did you mean: total"),
        (
            "SELECT c.totl FROM orders o JOIN customers c USING (id)",
            "source.unknown_column",
            "customers has the",
        ),
        ("SELECT totl FROM orders o JOIN customers c USING (id)", "source.unknown_column", "mean: o.total,"),
        (
            "SELECT zzzzz FROM sales.regions",
            "source.unknown_column",
            "sales.regions has the columns id, name.",
        ),
        ("SELECT id FROM orders LIMIT 1 2", "refused.unclear", "near"),
        ("SELECT 'a'::INTEGER", "source.failed", "TRY_CAST"),
        ("SELECT 1 AS a ORDER BY md6(a)", "refused.function", "md6"),
    ],
)
async def test_errors_teach(sql: str, code: str, words: str, shop: Path) -> None:
    async with opened(shop) as source:
        answer = await source.query(sql)
        assert answer.code == code
        assert words in answer.text
