"""open_source(settings): plain values in, a running source out. Engines are told apart here only."""

from collections.abc import Sequence

from callgate.model import error_codes as codes
from callgate.model.errors import SetupError
from callgate.sql.drivers.driver import Driver
from callgate.sql.engines.dialects import NAMES, find_dialect
from callgate.sql.guard.policy import Policy, policy_of
from callgate.sql.server.custom_tools import ToolSettings, prepare_tools
from callgate.sql.server.server import SqlServer
from callgate.sql.settings import SourceSettings


def open_source(settings: SourceSettings, tools: Sequence[ToolSettings] = ()) -> SqlServer:
    """Waits for no database: a source that is down must not stop the start. Raises SetupError."""
    dialect = find_dialect(settings.engine)
    if dialect is None:
        raise SetupError(
            codes.SETUP_ENGINE,
            f"The source {settings.source_id} asks for the engine {settings.engine!r}.",
            hint=f"This version speaks to: {', '.join(NAMES)}.",
        )
    policy = policy_of(settings, dialect)
    return SqlServer(settings, policy, _driver(settings, policy), prepare_tools(tools, policy))


def _driver(settings: SourceSettings, policy: Policy) -> Driver:
    """Imported one by one: who has one engine pays for no other."""
    if settings.server is not None:
        return _server_driver(settings, policy)
    if policy.dialect.name == "duckdb":
        from callgate.sql.engines.duckdb.driver.driver import DuckdbDriver

        return DuckdbDriver(settings.path, policy, settings.pool_size)
    from callgate.sql.engines.sqlite.driver.driver import SqliteDriver

    return SqliteDriver(settings.path, policy, settings.pool_size)


def _server_driver(settings: SourceSettings, policy: Policy) -> Driver:
    """Begins to look for the server at once, in the background: needs a running loop."""
    assert settings.server is not None
    if policy.dialect.name == "mysql":
        from callgate.sql.engines.mysql.driver.driver import mysql_driver

        driver = mysql_driver(settings.source_id, settings.server, policy, settings.pool_size)
    else:
        from callgate.sql.engines.postgres.driver.driver import postgres_driver

        driver = postgres_driver(settings.source_id, settings.server, policy, settings.pool_size)
    driver.start()
    return driver
