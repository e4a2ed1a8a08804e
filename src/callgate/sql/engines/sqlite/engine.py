"""SQLite, as one value."""

from callgate.sql.drivers.driver import Driver
from callgate.sql.engines.engine import Engine
from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.engines.sqlite.schema import sqlite_queries
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import SourceSettings


def open_driver(settings: SourceSettings, policy: Policy) -> Driver:
    from callgate.sql.engines.sqlite.driver.driver import SqliteDriver

    return SqliteDriver(settings.path, policy, settings.pool_size)


ENGINE = Engine(SQLITE, sqlite_queries, open_driver)
