"""MariaDB as an administrator, through PyMySQL: no read-only transaction, no pins."""

from typing import Any

import pymysql.err
from databases.database import Database
from sql.fuzz.engines.engine import State, leak
from sql.mysql_lab import MySqlLab, Session

from callgate.sql.engines.mysql.dialect.dialect import MYSQL

_SECRETS = ("TOP-SECRET-IN-A-FILE", "root:x:0")
_TABLES = ("customers", "products", "orders", "order_items", "events", "articles", "categories", "big_orders")


class MySqlEngine:
    dialect = MYSQL
    tables = tuple(f"corpus.{table}" for table in _TABLES)

    def __init__(self, server: Database) -> None:
        self._lab = MySqlLab(server)
        self._files = sorted(path.name for path in self._lab.files.iterdir())
        self._leak: str | None = None
        self._session = self._connected()

    def reset(self) -> None:
        self._session.close()
        for path in self._lab.files.iterdir():
            if path.name not in self._files:
                path.unlink()
        self._lab.rebuild()
        self._session = self._connected()

    def run(self, sql: str) -> str | None:
        self._leak = None
        try:
            with self._session.connection.cursor() as cursor:
                cursor.execute(self._lab.text(sql))
                while rows := cursor.fetchmany(1000):
                    self._leak = self._leak or leak(_SECRETS, sql, str(rows))
        except (pymysql.err.Error, ValueError, UnicodeError, RuntimeError, OverflowError) as error:
            if not self._session.connection.open:
                self._session = self._connected()
            return f"{type(error).__name__}: {error}"
        return None

    def state(self) -> State:
        state: State = {f"session {name}": value for name, value in self._session.state().items()}
        state["structure"] = self._lab._read_structure()
        state |= {f"rows of {name}": value for name, value in self._lab._checksums().items()}
        state["files"] = sorted(path.name for path in self._lab.files.iterdir())
        state["globals"] = self._ask("SELECT @@global.read_only, @@global.general_log, @@global.sql_mode")
        state["locks held"] = self._ask("SELECT RELEASE_ALL_LOCKS()")
        return state

    def opinion(self, sql: str) -> str | None:
        return self._leak

    def close(self) -> None:
        self._session.close()

    def _ask(self, sql: str) -> Any:
        with self._session.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def _connected(self) -> Session:
        session = Session(self._lab)
        with session.connection.cursor() as cursor:
            cursor.execute("SET max_statement_time = 0.5")  # a mutation may never end
        return session
