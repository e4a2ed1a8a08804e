"""PostgreSQL as a superuser, through asyncpg: no read-only transaction, no pins."""

import asyncio
from typing import Any

import asyncpg
from databases.database import Database
from sql.fuzz.engines.engine import State, leak
from sql.postgres_shop import EXTENSIONS, SHOP
from sql.postgres_tree import found_in

from callgate.sql.engines.postgres.dialect.dialect import POSTGRES

_NAME = "fuzz_shop"
_SECRETS = ("root:x:0", "postmaster.pid")  # of /etc/passwd, and of a listing of the data folder
_READERS = ("file", "dir", "_ls", "lo_", "xml", "dblink", "copy", "stat", "import", "log")
_CATALOGUE = {
    # Without pg_toast, whose names and numbers are new after each reset.
    "relations": """SELECT relnamespace::regnamespace::text, relname, relkind FROM pg_class
                    WHERE oid >= 16384 AND relnamespace <> 'pg_toast'::regnamespace""",
    "columns": """SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod) FROM pg_attribute
                  WHERE attrelid >= 16384 AND attnum > 0 AND attrelid::regclass::text !~ '^pg_toast'""",
    "functions": "SELECT oid::regprocedure::text, md5(prosrc) FROM pg_proc WHERE oid >= 16384",
    "types": "SELECT typname FROM pg_type WHERE oid >= 16384 AND typtype <> 'c' AND typcategory <> 'A'",
    "schemas": "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'",
    "roles": "SELECT rolname, rolsuper, rolcanlogin, rolpassword FROM pg_authid",
    "databases": "SELECT datname FROM pg_database",
    "extensions": "SELECT extname FROM pg_extension",
    "sequences": "SELECT schemaname, sequencename, last_value FROM pg_sequences",
    "large objects": "SELECT oid FROM pg_largeobject_metadata",
    # An extension's own settings (a dot in the name) appear when its library is first used.
    "settings": r"""SELECT name, setting FROM pg_settings
                    WHERE name <> 'transaction_read_only' AND name !~ '\.'""",
    "settings of others": "SELECT setdatabase, setrole, setconfig FROM pg_db_role_setting",
    "advisory locks": "SELECT locktype, mode, objid FROM pg_locks WHERE locktype = 'advisory'",
    "channels": "SELECT * FROM pg_listening_channels()",
    "cursors": "SELECT name FROM pg_cursors WHERE name NOT LIKE '\\_\\_asyncpg%'",
    "prepared": "SELECT name FROM pg_prepared_statements WHERE name NOT LIKE '\\_\\_asyncpg%'",
    "slots": "SELECT slot_name FROM pg_replication_slots",
    "files": "SELECT * FROM pg_ls_dir('.') WHERE pg_ls_dir NOT IN ('pg_stat_tmp', 'postmaster.pid')",
    "search path": "SELECT current_schemas(true)::text, current_user::text, session_user::text",
}
# The server's own limit is half a second; what outlives it would hold the campaign for ever.
_MOST_S = 30.0
_REFUSED = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_TABLES = """SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
             WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"""


class PostgresEngine:
    dialect = POSTGRES
    tables = ("shop.customers", "shop.products", "shop.orders", "shop.categories", "shop.paid", "shop.audit")

    def __init__(self, server: Database) -> None:
        self._server = server
        self._loop = asyncio.new_event_loop()
        server.run(f"DROP DATABASE IF EXISTS {_NAME}")
        server.run(f"CREATE DATABASE {_NAME}")
        server.run("\n".join(f"CREATE EXTENSION {name};" for name in EXTENSIONS), database=_NAME)
        self._leak: str | None = None
        self._connection: Any = None
        self.reset()

    def reset(self) -> None:
        self._disconnect()
        self._server.run(SHOP, database=_NAME)
        self._connect()

    def run(self, sql: str) -> str | None:
        self._leak = None
        try:
            # The simple protocol: quicker, and it would run a second statement, had the guard overlooked one.
            self._do(self._connection.execute(sql, timeout=_MOST_S))
            if any(word in sql.lower() for word in _READERS):
                self._leak = leak(_SECRETS, sql, str(self._do(self._connection.fetch(sql, timeout=_MOST_S))))
        except TimeoutError:
            self._connection.terminate()
            self._connect()
            self._leak = f"the statement did not end in {_MOST_S:g} s"  # a finding: nothing else stops it
            return self._leak
        except (*_REFUSED, ValueError, OSError, RuntimeError) as error:
            if self._connection.is_closed():
                self._connect()
            return f"{type(error).__name__}: {error}"
        return None

    def state(self) -> State:
        state: State = {name: sorted(map(str, self._ask(sql))) for name, sql in _CATALOGUE.items()}
        for (table,) in self._ask(_TABLES):
            state[f"rows of {table}"] = str(
                self._ask(f"SELECT count(*), md5(string_agg(t::text, '' ORDER BY t::text)) FROM {table} t")
            )
        state["in a transaction"] = self._connection.is_in_transaction()
        return state

    def opinion(self, sql: str) -> str | None:
        return self._leak or next(iter(found_in(sql)), None)

    def close(self) -> None:
        self._disconnect()
        self._loop.close()

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._do(self._connection.fetch(sql))]

    def _do(self, coroutine: Any) -> Any:
        return self._loop.run_until_complete(coroutine)

    def _connect(self) -> None:
        server = self._server
        self._connection = self._do(
            asyncpg.connect(
                host=server.host,
                port=server.port,
                user=server.user,
                password=server.password,
                database=_NAME,
                statement_cache_size=0,
                server_settings={"statement_timeout": "500"},  # a mutation may never end
            )
        )

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._do(self._connection.close())
            self._connection = None
