"""SQLite without authorizer, limits or read-only file."""

import hashlib
import sqlite3
import tempfile
import time
from functools import cache
from pathlib import Path

from sql.fuzz.engines.engine import State

from callgate.sql.demo.demo import make_demo_shop
from callgate.sql.engines.sqlite.dialect.dialect import SQLITE

_STATEMENT_S = 0.5
_SESSION_PRAGMAS = (
    *(
        "application_id",
        "automatic_index",
        "busy_timeout",
        "cache_size",
        "cell_size_check",
        "defer_foreign_keys",
    ),
    *("foreign_keys", "ignore_check_constraints", "journal_mode", "journal_size_limit", "legacy_alter_table"),
    *("locking_mode", "max_page_count", "mmap_size", "query_only", "read_uncommitted", "recursive_triggers"),
    *("secure_delete", "synchronous", "temp_store", "threads", "trusted_schema", "user_version"),
    *(
        "wal_autocheckpoint",
        "writable_schema",
        "hard_heap_limit",
        "soft_heap_limit",
        "analysis_limit",
        "schema_version",
    ),
)


@cache
def demo_shop() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        make_demo_shop(path)
        return path.read_bytes()


class SqliteEngine:
    dialect = SQLITE
    tables = ("customers", "products", "orders", "order_items", "order_totals", "sqlite_master")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "shop.db"
        self._pristine = demo_shop()
        self._connection: sqlite3.Connection | None = None
        self.reset()

    @property
    def connection(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    def reset(self) -> None:
        self.close()
        for path in self._folder.iterdir():
            path.unlink()
        self._path.write_bytes(self._pristine)
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        self._connection.execute("SELECT * FROM sqlite_temp_master")  # opens the temporary database

    def run(self, sql: str) -> str | None:
        until = time.monotonic() + _STATEMENT_S
        self.connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
        try:
            cursor = self.connection.execute(sql)
            while cursor.fetchmany(1000):
                pass
        except (sqlite3.Error, ValueError, OverflowError, MemoryError, UnicodeError) as error:
            return f"{type(error).__name__}: {error}"
        return None

    def state(self) -> State:
        ask = self.connection.execute
        state: State = {name: ask(f"PRAGMA {name}").fetchall() for name in _SESSION_PRAGMAS}
        state["databases"] = ask("PRAGMA database_list").fetchall()
        state["temporary"] = ask("SELECT * FROM sqlite_temp_master").fetchall()
        state["in a transaction"] = self.connection.in_transaction
        state["changes"] = self.connection.total_changes
        state["content"] = hashlib.sha256(self._path.read_bytes()).hexdigest()
        state["files"] = sorted(path.name for path in self._folder.iterdir())
        return state

    def opinion(self, sql: str) -> str | None:
        """SQLite's own: a statement that it calls writing."""
        return None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
