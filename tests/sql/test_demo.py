"""The demo shop: the same rows everywhere, whole or not at all, replaced when it is old."""

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from callgate.sql.demo.demo import DEMO_VERSION, make_demo_shop


def rows(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def value(path: Path, sql: str) -> Any:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchone()[0]


def test_two_shops_hold_the_same_rows(tmp_path: Path) -> None:
    make_demo_shop(tmp_path / "a.db")
    make_demo_shop(tmp_path / "new folder" / "b.db")
    assert rows(tmp_path / "a.db") == rows(tmp_path / "new folder" / "b.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "new folder"]


def test_it_is_a_shop_that_makes_sense(pristine_shop: Path) -> None:
    counts = {
        table: value(pristine_shop, f"SELECT count(*) FROM {table}")
        for table in ("customers", "products", "orders", "order_items")
    }
    assert 4_500 <= sum(counts.values()) <= 5_500
    assert value(pristine_shop, "SELECT count(*) FROM pragma_foreign_key_check") == 0
    assert value(pristine_shop, "SELECT count(*) FROM customers WHERE email NOT LIKE '%@example.com'") == 0
    assert (
        value(pristine_shop, "SELECT min(ordered_at) >= '2024' AND max(ordered_at) < '2026' FROM orders") == 1
    )
    assert value(pristine_shop, "SELECT count(*) FROM order_totals WHERE total IS NULL OR total <= 0") == 0
    assert value(pristine_shop, "SELECT count(*) FROM order_totals") == counts["orders"]
    assert value(pristine_shop, "PRAGMA user_version") == DEMO_VERSION
    assert value(pristine_shop, "PRAGMA integrity_check") == "ok"


def test_a_current_shop_is_left_alone_and_an_old_or_broken_one_is_replaced(shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("DELETE FROM order_items")
        connection.commit()
    make_demo_shop(shop)
    assert value(shop, "SELECT count(*) FROM order_items") == 0
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute(f"PRAGMA user_version = {DEMO_VERSION - 1}")
    make_demo_shop(shop)
    assert value(shop, "SELECT count(*) FROM order_items") > 0
    shop.write_bytes(b"not a database at all, but long enough to be read as one" * 20)
    make_demo_shop(shop)
    assert value(shop, "SELECT count(*) FROM orders") > 0


def test_processes_that_start_together_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=make_demo_shop, args=(path,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert [entry.name for entry in tmp_path.iterdir()] == ["shop.db"]
    assert value(path, "PRAGMA integrity_check") == "ok"
