"""DuckDB, as one value."""

from callgate.sql.drivers.driver import Driver
from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.duckdb.schema import DUCKDB_QUERIES
from callgate.sql.engines.engine import Engine
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import SourceSettings


def open_driver(settings: SourceSettings, policy: Policy) -> Driver:
    from callgate.sql.engines.duckdb.driver.driver import DuckdbDriver

    return DuckdbDriver(settings.path, policy, settings.pool_size)


ENGINE = Engine(DUCKDB, lambda policy: DUCKDB_QUERIES, open_driver)
