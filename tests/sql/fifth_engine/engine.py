"""An engine that nobody else knows: SQLite's files under other words."""

from dataclasses import replace

from callgate.sql.engines.engine import Engine
from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.engines.sqlite.driver.driver import SqliteDriver
from callgate.sql.engines.sqlite.schema import sqlite_queries

WORDING = replace(SQLITE.wording, qualified_name="shelf.table", explain_prefix="EXPLAIN", smallest_of="min")
FIFTH = replace(SQLITE, name="fifth", display_name="Fifth", wording=WORDING)
ENGINE = Engine(
    FIFTH,
    sqlite_queries,
    lambda settings, policy: SqliteDriver(settings.path, policy, settings.pool_size),
)
