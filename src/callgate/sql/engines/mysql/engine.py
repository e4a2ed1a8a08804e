"""MySQL and MariaDB, as one value."""

from callgate.sql.drivers.driver import Driver
from callgate.sql.engines.engine import Engine
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.mysql.schema import MYSQL_QUERIES
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import SourceSettings


def open_driver(settings: SourceSettings, policy: Policy) -> Driver:
    from callgate.sql.engines.mysql.driver.driver import mysql_driver

    assert settings.server is not None
    driver = mysql_driver(settings.source_id, settings.server, policy, settings.pool_size)
    driver.start()
    return driver


ENGINE = Engine(MYSQL, lambda policy: MYSQL_QUERIES, open_driver)
