"""PostgreSQL, as one value."""

from callgate.sql.drivers.driver import Driver
from callgate.sql.engines.engine import Engine
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.engines.postgres.schema import POSTGRES_QUERIES
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import SourceSettings


def open_driver(settings: SourceSettings, policy: Policy) -> Driver:
    from callgate.sql.engines.postgres.driver.driver import postgres_driver

    assert settings.server is not None
    driver = postgres_driver(settings.source_id, settings.server, policy, settings.pool_size)
    driver.start()
    return driver


ENGINE = Engine(POSTGRES, lambda policy: POSTGRES_QUERIES, open_driver)
