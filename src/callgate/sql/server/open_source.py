"""open_source(settings): plain values in, a running source out."""

from collections.abc import Sequence

from callgate.model import error_codes as codes
from callgate.model.errors import SetupError
from callgate.sql.engines.engine import ENGINES, find_engine
from callgate.sql.guard.policy import policy_of
from callgate.sql.server.custom_tools import ToolSettings, prepare_tools
from callgate.sql.server.server import SqlServer
from callgate.sql.settings import SourceSettings


def open_source(settings: SourceSettings, tools: Sequence[ToolSettings] = ()) -> SqlServer:
    """Waits for no database: a source that is down must not stop the start. Raises SetupError."""
    engine = find_engine(settings.engine)
    if engine is None:
        raise SetupError(
            codes.SETUP_ENGINE,
            f"The source {settings.source_id} asks for the engine {settings.engine!r}.",
            hint=f"This version supports: {', '.join(ENGINES)}.",
        )
    policy = policy_of(settings, engine.dialect)
    driver = engine.open_driver(settings, policy)
    return SqlServer(settings, policy, driver, engine.schema_queries(policy), prepare_tools(tools, policy))
