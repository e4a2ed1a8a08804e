"""The demo shop: a SQLite file that a newcomer can ask questions at once.

Written whole into a temporary file and renamed: a reader never sees half a shop, and two gateways that start
together both succeed (the last rename wins, with the same rows). An older version's file is replaced.
"""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from callgate.sql.demo.data import DemoRows

# Raise it when tables or rows change: files of older versions are then replaced at the next start.
DEMO_VERSION = 1

_SCHEMA = """
CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    city TEXT NOT NULL,
    country TEXT NOT NULL,
    phone TEXT,
    created_at DATE NOT NULL
);
CREATE TABLE products (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    category TEXT NOT NULL,
    price DECIMAL(10, 2) NOT NULL CHECK (price >= 0),
    stock INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    status TEXT NOT NULL CHECK (status IN ('pending', 'shipped', 'delivered', 'cancelled', 'returned')),
    ordered_at DATE NOT NULL,
    shipped_at DATE
);
CREATE TABLE order_items (
    id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
    product_id INTEGER NOT NULL REFERENCES products (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_price DECIMAL(10, 2) NOT NULL
);
CREATE INDEX customers_by_country ON customers (country);
CREATE INDEX products_by_category ON products (category);
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX orders_by_status ON orders (status, ordered_at);
CREATE INDEX order_items_by_order ON order_items (order_id);
CREATE INDEX order_items_by_product ON order_items (product_id);
CREATE VIEW order_totals AS
SELECT
    orders.id AS order_id,
    orders.customer_id,
    orders.status,
    orders.ordered_at,
    sum(order_items.quantity) AS items,
    round(sum(order_items.quantity * order_items.unit_price), 2) AS total
FROM orders
JOIN order_items ON order_items.order_id = orders.id
GROUP BY orders.id;
"""


def make_demo_shop(path: Path) -> None:
    """Make the file unless it is there in this version or a newer one."""
    if _version_of(path) >= DEMO_VERSION:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".tmp", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        _write(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _version_of(path: Path) -> int:
    """-1 when there is no usable file."""
    try:
        if path.stat().st_size == 0:
            return -1
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except (OSError, sqlite3.Error):
        return -1


def _write(path: Path) -> None:
    rows = DemoRows()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # A draft that is lost with the power is no loss: it was never renamed.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?)", rows.customers)
        connection.executemany("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?)", rows.products)
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", rows.orders)
        connection.executemany("INSERT INTO order_items VALUES (?, ?, ?, ?, ?)", rows.order_items)
        connection.execute("COMMIT")
        connection.execute(f"PRAGMA user_version = {DEMO_VERSION}")
