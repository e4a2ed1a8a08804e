"""Which engine is opened how. Servers are private ones, started for the campaign and gone with it."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from databases.mariadb import mariadb_server
from databases.postgres import postgres_server
from sql.fuzz.engines.duckdb_engine import DuckdbEngine
from sql.fuzz.engines.engine import Engine
from sql.fuzz.engines.mysql_engine import MySqlEngine
from sql.fuzz.engines.postgres_engine import PostgresEngine
from sql.fuzz.engines.sqlite_engine import SqliteEngine

ENGINES = ("mysql", "postgres", "sqlite", "duckdb")


@contextmanager
def open_engine(name: str) -> Iterator[Engine]:
    match name:
        case "mysql":
            with mariadb_server() as server, closing(MySqlEngine(server)) as engine:
                yield engine
        case "postgres":
            with postgres_server() as server, closing(PostgresEngine(server)) as engine:
                yield engine
        case _:
            kind = SqliteEngine if name == "sqlite" else DuckdbEngine
            with ExitStack() as opened:
                folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="callgate-fuzz-")))
                yield opened.enter_context(closing(kind(folder)))
