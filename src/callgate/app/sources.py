"""From `[[sources]]` and `[[tools]]` to running sources: the operator's words as the SQL server's values."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from callgate.config.problem import ConfigProblem
from callgate.config.specs.config import Config, SourceSpec, ToolSpec
from callgate.config.specs.dsn import Dsn, EngineName
from callgate.config.specs.server_params import read_server_params
from callgate.config.specs.ssh import SshSpec, read_hop
from callgate.model.envelope import Era
from callgate.model.error_codes import UPSTREAM_UNAVAILABLE, ErrorCode
from callgate.model.errors import SetupError, UpstreamError
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.reply import Reply, Tell
from callgate.model.session import Session
from callgate.model.upstream_news import News
from callgate.model.view import COMMON, View
from callgate.ports.status import SourceFacts
from callgate.ports.upstream import Asker, Upstream
from callgate.sql.engines.engine import find_engine
from callgate.sql.guard.policy import policy_of
from callgate.sql.server.arguments import Parameter
from callgate.sql.server.custom_tools import ToolFault, ToolSettings, prepare_tool
from callgate.sql.server.open_source import open_source
from callgate.sql.server.resource_uris import ResourceUris
from callgate.sql.server.server import SqlServer
from callgate.sql.settings import Mode, ServerAddress, SourceSettings, Ssh, SshHop, Tls, TlsMode

_PORTS = {EngineName.MYSQL: 3306, EngineName.POSTGRES: 5432}
_USERS = {EngineName.MYSQL: "root", EngineName.POSTGRES: "postgres"}
_CONNECT_TIMEOUT_S = 5.0  # a server on another continent answers within a second; beyond five, it is down


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What a running source depends on. While it is equal, the source stays as it is."""

    settings: SourceSettings
    tools: tuple[ToolSettings, ...]


def source_plan(spec: SourceSpec, config: Config) -> SourcePlan:
    tools = tuple(_tool(tool) for tool in config.tools if tool.source == spec.id)
    return SourcePlan(settings_of(spec, config), tools)


LearnPassword = Callable[[str], Awaitable[None]]


def open_one_source(plan: SourcePlan, learn_password: LearnPassword | None = None) -> Upstream:
    """One that this version cannot speak to is shown as down. `learn_password`: of its `password_command`."""
    settings = plan.settings
    if settings.server is not None:
        settings = replace(settings, server=replace(settings.server, learn_password=learn_password))
    try:
        return open_source(settings, plan.tools)
    except SetupError as error:
        schemes = ResourceUris(settings.engine, settings.source_id).schemes
        return _AbsentUpstream(settings.source_id, "sql", error.message, error.code, schemes)


def tool_problems(config: Config) -> Iterator[ConfigProblem]:
    """What keeps the operator's own tools from being offered. The guard says it: no database is asked."""
    sources = {spec.id: spec for spec in config.sources}
    for at, tool in enumerate(config.tools):
        spec = sources[tool.source]
        engine = find_engine(spec.dsn.engine.value)
        if engine is None:
            continue
        outcome = prepare_tool(_tool(tool), policy_of(settings_of(spec, config), engine.dialect))
        if isinstance(outcome, ToolFault):
            yield ConfigProblem(f"tools[{at}].{outcome.key}", outcome.message, outcome.hint)


def briefly_named(config: Config) -> str | None:
    """A lone MySQL source of the environment is named as other MySQL servers for MCP do: `mysql_query`."""
    if len(config.sources) != 1:
        return None
    (spec,) = config.sources
    return spec.id if spec.from_environment and spec.dsn.engine.value == "mysql" else None


def source_facts(config: Config) -> list[SourceFacts]:
    """What every authorised caller may know of the databases."""
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
        server=_server_of(spec),
        schema=spec.dsn.params.get("schema"),
        mode=Mode(spec.mode),
        timeout_s=spec.timeout_s,
        max_rows=spec.max_rows,
        character_limit=spec.character_limit,
        allow_ddl=spec.allow_ddl,
        allow_functions=frozenset(spec.allow_functions),
        pool_size=connections_of(spec, 1),
        # A file is one database; a server has several, and an unqualified name means another tomorrow.
        require_qualified=spec.dsn.path is None if spec.require_qualified is None else spec.require_qualified,
        from_environment=spec.from_environment,
        has_siblings=engines.count(spec.dsn.engine) > 1,
    )


def connections_of(spec: SourceSpec, replicas: int) -> int:
    """How many a replica may have, where so many of them live."""
    if spec.max_connections is None:
        return spec.pool_size
    return min(spec.pool_size, max(1, spec.max_connections // replicas))


def share_connections(config: Config, servers: Sequence[SqlServer], replicas: int) -> None:
    """Replicas came or went."""
    by_name = {server.name: server for server in servers}
    for spec in config.sources:
        server = by_name.get(spec.id)
        if server is not None and spec.max_connections is not None:
            server.limit_connections(connections_of(spec, replicas))


def _tool(spec: ToolSpec) -> ToolSettings:
    parameters = tuple(
        Parameter(name, param.type, param.description or "", param.is_required, param.default)
        for name, param in spec.params.items()
    )
    return ToolSettings(spec.name, spec.sql, spec.description or "", parameters)


class _AbsentUpstream:
    """What stands in for a configured server or source that this version cannot reach: it says so, always."""

    def __init__(
        self, name: str, kind: str, reason: str, code: ErrorCode, schemes: frozenset[str] = frozenset()
    ) -> None:
        """`schemes`: they stay its own, so that nobody else answers in its place."""
        self.name = name
        self.schemes = schemes
        self._health = Health(name, kind, State.DOWN, reason, code.code)

    async def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        raise UpstreamError(UPSTREAM_UNAVAILABLE, f"{self.name} is down: {self._health.detail}")

    def bridges(self, era: Era) -> bool:
        return False

    def tell(self, method: str, params: bytes, session: Session) -> None:
        pass

    def hear(self, listener: Callable[[News], None]) -> None:
        pass

    def view_of(self, asker: Asker) -> View:
        return COMMON

    def show_alike(self, is_alike: bool) -> None:
        """It never makes a difference."""

    def forget(self, session: Session) -> None:
        pass

    def health(self) -> Health:
        return self._health

    def leave(self) -> None:
        pass

    def is_busy(self) -> bool:
        return False

    async def close(self) -> None:
        pass


def _server_of(spec: SourceSpec) -> ServerAddress | None:
    server = server_of(spec.full_dsn)
    if server is None:
        return None
    return replace(
        server,
        password_command=spec.password_command,
        password_ttl_s=spec.password_ttl_s,
        ssh=_ssh_of(spec.ssh) if spec.ssh is not None else None,
    )


def _ssh_of(spec: SshSpec) -> Ssh:
    user = spec.user or getpass.getuser()
    hops = [SshHop(*read_hop(jump, user)) for jump in spec.jump]
    return Ssh(
        (*hops, SshHop(spec.host, spec.port, user)),
        spec.known_hosts,
        spec.key,
        spec.key_password.get_secret_value() if spec.key_password is not None else None,
        spec.host_key,
    )


def server_of(dsn: Dsn) -> ServerAddress | None:
    """The address, with the engine's own defaults. None when the DSN names a file.

    Its parameters were checked when the configuration was read.
    """
    usual_port = _PORTS.get(dsn.engine)
    if usual_port is None:
        return None
    params = read_server_params(dsn)
    port = dsn.port or usual_port
    return ServerAddress(
        host=dsn.host or "localhost",
        port=port,
        user=dsn.user or _USERS[dsn.engine],
        password=dsn.password.get_secret_value() if dsn.password is not None else None,
        database=dsn.database,
        socket=_socket(dsn, params.socket, port),
        tls=Tls(
            TlsMode(params.tls_mode),
            params.ca_file,
            params.cert_file,
            params.key_file,
            params.key_password,
        ),
        connect_timeout_s=params.connect_timeout_s or _CONNECT_TIMEOUT_S,
        application_name=params.application_name or "callgate",
        others=tuple((host, other_port or usual_port) for host, other_port in dsn.others),
        session_attrs=params.session_attrs,
        channel_binding=params.channel_binding,
        options=params.options,
        server_key_file=params.server_key_file,
        fetches_server_key=params.fetches_server_key,
    )


def _socket(dsn: Dsn, path: Path | None, port: int) -> Path | None:
    """PostgreSQL's people name the folder that the socket is in."""
    if path is None or dsn.engine is not EngineName.POSTGRES or path.name.startswith(".s.PGSQL."):
        return path
    return path / f".s.PGSQL.{port}"


async def open_demo(state: Path) -> Upstream:
    path = state / "demo" / "shop.db"
    from callgate.sql.demo.demo import make_demo_shop  # not above: SQLite takes 2 MB

    await asyncio.to_thread(make_demo_shop, path)
    return open_source(SourceSettings(source_id="demo", engine="sqlite", path=path, schema="shop"))
