"""open_source(settings): plain values in, a running source out. Engines are told apart here only."""

from callgate.model import error_codes as codes
from callgate.model.errors import SetupError
from callgate.sql.policy import policy_of
from callgate.sql.server import SqlServer
from callgate.sql.settings import SourceSettings
from callgate.sql.sqlite.dialect import SQLITE
from callgate.sql.sqlite.driver import SqliteDriver

DIALECTS = {SQLITE.name: SQLITE}


def open_source(settings: SourceSettings) -> SqlServer:
    """Opens no file yet: a source that is down must not stop the start."""
    dialect = DIALECTS.get(settings.engine)
    if dialect is None:
        raise SetupError(
            codes.SETUP_ENGINE,
            f"The source {settings.source_id} asks for the engine {settings.engine!r}.",
            hint=f"This version speaks to: {', '.join(DIALECTS)}.",
        )
    policy = policy_of(settings, dialect)
    return SqlServer(settings.source_id, policy, SqliteDriver(settings.path, policy, settings.pool_size))
