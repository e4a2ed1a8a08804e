"""Every part, made and handed to those who need it, on one screen."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from callgate.api.http_api import HttpApi
from callgate.app.absent import AbsentUpstream
from callgate.config.paths import record_folder, state_folder
from callgate.config.specs import Config, McpServerSpec, ServerSpec, SourceSpec
from callgate.edge.gate import LOOPBACK_NAMES, GateRules, Token
from callgate.edge.listener import Listener
from callgate.edge.local_socket import LocalSocket
from callgate.model.error_codes import SETUP_STATE_FOLDER
from callgate.model.errors import SetupError
from callgate.model.events import Event
from callgate.ports.upstream import Upstream
from callgate.recorder.recorder import Recorder
from callgate.recorder.redact import Redactor
from callgate.relay.relay import Relay
from callgate.sql.demo import make_demo_shop
from callgate.sql.open_source import open_source
from callgate.sql.settings import Mode, SourceSettings
from callgate.upstreams.child_command import ChildCommand
from callgate.upstreams.http_client import HttpClient
from callgate.upstreams.http_settings import HttpSettings
from callgate.upstreams.mcp_upstream import McpUpstream, McpUpstreamPlan
from callgate.upstreams.openers import child_opener, http_opener, sse_opener
from callgate.upstreams.warden import Warden


class _Unrecorded:
    """`[record] enabled = false`: the sink that keeps nothing."""

    def emit(self, event: Event) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Outward:
    """What all upstreams share: the guard of their processes, and the pool of their connections."""

    warden: Warden
    client: HttpClient

    async def close(self) -> None:
        await self.client.close()
        self.warden.close()


@dataclass(frozen=True, slots=True)
class Gateway:
    relay: Relay
    recorder: Recorder | None
    listener: Listener
    local_socket: LocalSocket
    outward: Outward

    async def close(self) -> None:
        """Doors first, then what is behind them; the record last, so that it hears of every end."""
        self.relay.retire()
        await self.listener.close()
        await self.local_socket.close()
        await self.relay.close()
        await self.outward.close()
        if self.recorder is not None:
            await self.recorder.close()


async def build_gateway(config: Config, keeps_store: bool) -> Gateway:
    """`keeps_store`: whether this process holds the record's store while it runs (see Recorder)."""
    state = make_state_folder(config)
    upstreams: list[Upstream] = [_source(spec) for spec in config.sources]
    outward = Outward(Warden(), HttpClient())
    upstreams += [
        _mcp_server(name, spec, outward) for name, spec in config.mcp_servers.items() if not spec.disabled
    ]
    if config.is_empty:
        upstreams.append(await _demo(state))
    recorder = None
    if config.record.enabled:
        recorder = Recorder(record_folder(config), Redactor(config.record.redact_keys), keeps_store)
    relay = Relay(
        upstreams,
        sink=recorder or _Unrecorded(),
        session_gap_s=config.record.session_gap_s,
        deny_destructive=config.policy.destructive == "deny",
    )
    api = HttpApi(record=recorder, status=relay)
    listener = Listener(relay, api.app(), _gate_rules(config.server), config.server.max_body_bytes)
    return Gateway(relay, recorder, listener, LocalSocket(relay), outward)


def make_state_folder(config: Config) -> Path:
    folder = state_folder(config)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"The state folder {folder} cannot be made: {problem.strerror}",
            hint="Choose another with CALLGATE_STATE_DIR or [server] state_dir",
        ) from problem
    return folder


def _source(spec: SourceSpec) -> Upstream:
    settings = SourceSettings(
        source_id=spec.id,
        engine=spec.dsn.engine.value,
        path=Path(spec.dsn.path or ""),
        schema=spec.dsn.params.get("schema"),
        mode=Mode(spec.mode),
        timeout_s=spec.timeout_s,
        max_rows=spec.max_rows,
        character_limit=spec.character_limit,
        allow_ddl=spec.allow_ddl,
        allow_functions=frozenset(spec.allow_functions),
        pool_size=spec.pool_size,
        require_qualified=bool(spec.require_qualified),
        from_environment=spec.from_environment,
    )
    try:
        return open_source(settings)
    except SetupError as error:  # an engine we do not speak yet: shown as down, the rest is served
        return AbsentUpstream(spec.id, "sql", error.message, error.code)


def _mcp_server(name: str, spec: McpServerSpec, outward: Outward) -> Upstream:
    if spec.command is not None:
        env = {key: value.get_secret_value() for key, value in spec.env.items()}
        opener = child_opener(ChildCommand(name, spec.command, spec.args, env, spec.cwd), outward.warden)
    else:
        assert spec.url is not None
        headers = tuple((key, value.get_secret_value()) for key, value in spec.headers.items())
        settings = HttpSettings(name, spec.url, headers)
        make = sse_opener if spec.kind == "sse" else http_opener
        opener = make(settings, outward.client)
    return McpUpstream(McpUpstreamPlan(name, opener, spec.timeout_s, spec.isolation))


async def _demo(state: Path) -> Upstream:
    path = state / "demo" / "shop.db"
    await asyncio.to_thread(make_demo_shop, path)
    return open_source(SourceSettings(source_id="demo", engine="sqlite", path=path, schema="shop"))


def _gate_rules(server: ServerSpec) -> GateRules:
    listen = server.listen
    host = f"[{listen.host}]" if ":" in listen.host else listen.host.lower()
    hosts = LOOPBACK_NAMES | {host} | {name.lower() for name in server.allowed_hosts}
    # Beyond loopback the names we are reached by are the operator's affair, and tokens are mandatory.
    open_to_any_name = not listen.is_loopback and not server.allowed_hosts
    return GateRules(
        hosts=None if open_to_any_name else frozenset(hosts),
        origins=frozenset(origin.lower().rstrip("/") for origin in server.allowed_origins),
        tokens=tuple(Token.of(t.token.get_secret_value(), t.principal) for t in server.tokens),
    )
