"""From `[[sources]]` and `[[tools]]` to running sources: the operator's words as the SQL server's values."""

from collections.abc import Iterator
from pathlib import Path

from callgate.app.absent import AbsentUpstream
from callgate.app.server_address import server_of
from callgate.config.problem import Problem
from callgate.config.specs.config import Config, SourceSpec, ToolSpec
from callgate.model.errors import SetupError
from callgate.ports.status import SourceFacts
from callgate.ports.upstream import Upstream
from callgate.sql.engines.engine import find_engine
from callgate.sql.guard.policy import policy_of
from callgate.sql.server.arguments import Parameter
from callgate.sql.server.custom_tools import ToolFault, ToolSettings, prepare_tool
from callgate.sql.server.open_source import open_source
from callgate.sql.server.resource_uris import ResourceUris
from callgate.sql.settings import Mode, SourceSettings


def open_sources(config: Config) -> list[Upstream]:
    """Every source; one that this version cannot speak to is shown as down, the rest is served."""
    return [_open(spec, config) for spec in config.sources]


def tool_problems(config: Config) -> Iterator[Problem]:
    """What keeps the operator's own tools from being offered. The guard says it: no database is asked."""
    sources = {spec.id: spec for spec in config.sources}
    for at, tool in enumerate(config.tools):
        spec = sources[tool.source]
        engine = find_engine(spec.dsn.engine.value)
        if engine is None:
            continue
        outcome = prepare_tool(_tool(tool), policy_of(settings_of(spec, config), engine.dialect))
        if isinstance(outcome, ToolFault):
            yield Problem(f"tools[{at}].{outcome.key}", outcome.message, outcome.hint)


def briefly_named(config: Config) -> str | None:
    """A lone MySQL source of the environment's has the seed's names: `mysql_query`, not `mysql__query`."""
    if len(config.sources) != 1:
        return None
    (spec,) = config.sources
    return spec.id if spec.from_environment and spec.dsn.engine.value == "mysql" else None


def source_facts(config: Config) -> list[SourceFacts]:
    """What whoever may call may know of the databases."""
    if config.is_empty:
        return [SourceFacts("demo", "sqlite")]
    return [_facts(spec) for spec in config.sources]


def _facts(spec: SourceSpec) -> SourceFacts:
    dsn = spec.dsn
    server = server_of(dsn)
    is_read_only = spec.mode == "read_only"
    if server is None:
        return SourceFacts(
            spec.id, dsn.scheme, database=dsn.path, is_read_only=is_read_only, max_rows=spec.max_rows
        )
    # One engine has several schemes; DBHub has one word for it.
    engine = "mariadb" if dsn.scheme == "mariadb" else dsn.engine.value
    return SourceFacts(
        spec.id,
        engine,
        server.host,
        server.port,
        server.database,
        server.user,
        is_read_only,
        spec.max_rows,
    )


def settings_of(spec: SourceSpec, config: Config) -> SourceSettings:
    engines = [other.dsn.engine for other in config.sources]
    return SourceSettings(
        source_id=spec.id,
        engine=spec.dsn.engine.value,
        path=Path(spec.dsn.path or ""),
        server=server_of(spec.dsn),
        schema=spec.dsn.params.get("schema"),
        mode=Mode(spec.mode),
        timeout_s=spec.timeout_s,
        max_rows=spec.max_rows,
        character_limit=spec.character_limit,
        allow_ddl=spec.allow_ddl,
        allow_functions=frozenset(spec.allow_functions),
        pool_size=spec.pool_size,
        # A file is one database; a server has several, and an unqualified name means another tomorrow.
        require_qualified=spec.dsn.path is None if spec.require_qualified is None else spec.require_qualified,
        from_environment=spec.from_environment,
        has_siblings=engines.count(spec.dsn.engine) > 1,
    )


def _open(spec: SourceSpec, config: Config) -> Upstream:
    tools = [_tool(tool) for tool in config.tools if tool.source == spec.id]
    try:
        return open_source(settings_of(spec, config), tools)
    except SetupError as error:
        schemes = ResourceUris(spec.dsn.engine.value, spec.id).schemes
        return AbsentUpstream(spec.id, "sql", error.message, error.code, schemes)


def _tool(spec: ToolSpec) -> ToolSettings:
    parameters = tuple(
        Parameter(name, param.type, param.description or "", param.is_required, param.default)
        for name, param in spec.params.items()
    )
    return ToolSettings(spec.name, spec.sql, spec.description or "", parameters)
