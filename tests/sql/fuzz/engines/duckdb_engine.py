"""DuckDB without any of our limits: every file, setting and extension is within its reach."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
from sql.corpus_files import FOLDER
from sql.fuzz.engines.engine import State, leak

from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.duckdb.dialect.file_names import is_file_name
from callgate.sql.engines.duckdb.dialect.functions import ALLOWED, TABLES

_SCHEMA = (FOLDER / "duckdb_schema.sql").read_text()
_STATEMENT_S = 0.5  # a statement of a corpus takes milliseconds; a mutation of it may never end
MARKER = "TOPSECRET"
# What DuckDB's own tree calls operators and keywords.
_NO_FUNCTIONS = frozenset(
    {
        *(
            "!__postfix",
            "operator",
            "array_extract",
            "array_slice",
            "list_value",
            "struct_pack",
            "map",
            *("row", "columns", "unpack"),
        ),
        *("date_part", "struct_extract", "timezone", "count_star", "regexp_full_match", "contains"),
        *("like_escape", "ilike_escape", "not_like_escape", "not_ilike_escape", "list_apply", "list_filter"),
        *("sum_no_overflow", "unnest", "coalesce", "constant_or_null", "~~~", "interval"),
    }
)
_CATALOGUE = {
    "tables": "SELECT database_name, schema_name, table_name, sql, comment FROM duckdb_tables()",
    "views": "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal",
    "sequences": "SELECT * FROM duckdb_sequences()",
    "macros": "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal",
    "types": "SELECT type_name FROM duckdb_types() WHERE NOT internal AND type_name NOT LIKE '__pivot%'",
    "indexes": "SELECT index_name, sql FROM duckdb_indexes()",
    "schemas": "SELECT database_name, schema_name FROM duckdb_schemas()",
    "databases": "SELECT database_name, path FROM duckdb_databases()",
    "settings": "SELECT name, value FROM duckdb_settings()",
    "variables": "SELECT name, value::VARCHAR FROM duckdb_variables()",
    "secrets": "SELECT name FROM duckdb_secrets()",
    "prepared": "SELECT name FROM duckdb_prepared_statements()",
    "triggers": "SELECT count(*) FROM duckdb_triggers()",
    "extensions": "SELECT extension_name FROM duckdb_extensions() WHERE loaded",
    "search path": "SELECT current_schema(), current_database()",
}


class DuckdbEngine:
    dialect = DUCKDB
    tables = ("customers", "products", "orders", "order_items", "events", "sales.regions", "big_orders")

    def __init__(self, folder: Path) -> None:
        """`folder` becomes the working directory: a file name without a path must lead somewhere."""
        self._folder = folder
        self._home = Path.cwd()
        self._leak: str | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None
        os.chdir(folder)
        _lay_bait(folder)
        with duckdb.connect("corpus.duckdb") as connection:
            connection.execute(_SCHEMA)
        self._pristine = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.reset()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        assert self._connection is not None
        return self._connection

    def reset(self) -> None:
        self._disconnect()
        _empty(self._folder)
        for name, content in self._pristine.items():
            (self._folder / name).write_bytes(content)
        # Nothing is to be had from the network in a test, and trying takes time.
        self._connection = duckdb.connect("corpus.duckdb", config={"threads": 2, "memory_limit": "1GB"})
        self._connection.execute("SET autoinstall_known_extensions = false")

    def run(self, sql: str) -> str | None:
        self._leak = None
        watchdog = threading.Timer(_STATEMENT_S, self.connection.interrupt)
        watchdog.start()
        try:
            self.connection.execute(sql)
            while rows := self.connection.fetchmany(1000):
                self._leak = self._leak or leak((MARKER,), sql, str(rows))
        except (duckdb.Error, RuntimeError, ValueError, OverflowError, UnicodeError, MemoryError) as error:
            return f"{type(error).__name__}: {error}"
        finally:
            watchdog.cancel()
            _leave_result(self.connection)
        return None

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """As text: Python's own types fail for some values."""
        statements = self.connection.extract_statements(sql)
        for statement in statements[:-1]:
            self.connection.execute(statement)
        self.connection.execute(statements[-1])
        return self.connection.fetchall()

    def state(self) -> State:
        state: State = {name: sorted(self._ask(sql), key=repr) for name, sql in _CATALOGUE.items()}
        for database, schema, table in self._ask(
            "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
        ):
            name = f'"{database}"."{schema}"."{table}"'
            state[f"rows of {name}"] = self._ask(f"SELECT count(*), bit_xor(hash(t)) FROM {name} AS t")
        state["files"] = sorted(
            (str(path.relative_to(self._folder)), path.stat().st_size)
            for path in self._folder.rglob("*")
            if not path.name.startswith("corpus.duckdb")
        )
        return state

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        # In a session of its own a temporary table would not be seen.
        return self.connection.execute(sql).fetchall()

    def opinion(self, sql: str) -> str | None:
        if self._leak is not None:
            return self._leak
        row = self.connection.execute("SELECT json_serialize_sql($1)", [sql]).fetchone()
        assert row is not None
        try:
            tree = json.loads(row[0])
        except RecursionError:
            return None  # a chain of hundreds of operators: deeper than Python reads
        if tree.get("error"):
            return None  # not a SELECT to DuckDB, or no SQL at all
        for node in _nodes(tree):
            if (fault := _fault_of(node)) is not None:
                return fault
        return None

    def close(self) -> None:
        self._disconnect()
        os.chdir(self._home)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _leave_result(connection: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.Error):
        connection.abort()


def _nodes(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _nodes(inner)


def _fault_of(node: dict[str, Any]) -> str | None:
    kind = node.get("type")
    name = str(node.get("function_name", "")).lower()
    if kind == "TABLE_FUNCTION":
        function = str(node.get("function", {}).get("function_name", "")).lower()
        return None if function in TABLES else f"DuckDB sees {function}() in FROM"
    if name and name.isidentifier() and name not in ALLOWED | _NO_FUNCTIONS | TABLES:
        return f"DuckDB sees a call of {name}()"
    if kind == "BASE_TABLE":
        parts = [node.get("catalog_name"), node.get("schema_name"), node.get("table_name")]
        table = ".".join(str(part) for part in parts if part)
        return f"DuckDB sees a file in {table!r}" if is_file_name(table) else None
    if kind in ("INSERT_NODE", "UPDATE_NODE", "DELETE_NODE", "INSERT", "UPDATE", "DELETE"):
        return f"DuckDB sees a {kind}"
    return None


def _empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def _lay_bait(folder: Path) -> None:
    """Files that a statement could read, each with a word that is in no table."""
    for name in ("secret.csv", "SECRET2.CSV"):
        (folder / name).write_text(f"word\n{MARKER}\n")
    (folder / "more.csv").write_text(f"id,word\n55,{MARKER}\n")
    (folder / "secret.txt").write_text(MARKER)
    (folder / "secret.json").write_text(json.dumps([{"word": MARKER}]))
    (folder / "secret.ndjson").write_text(json.dumps({"word": MARKER}) + "\n")
    with duckdb.connect(str(folder / "other.duckdb")) as other:
        other.execute(f"CREATE TABLE word AS SELECT '{MARKER}' AS word")
        other.execute(f"COPY word TO '{folder / 'secret.parquet'}'")
