"""The configured MCP servers as upstreams, and what all of them share."""

import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import callgate
from callgate.app.principals import bearer_tokens
from callgate.app.sources import briefly_named
from callgate.config.paths import record_folder, state_folder
from callgate.config.secret import secrets_among
from callgate.config.specs.config import Config, McpServerSpec
from callgate.http_client.client import HttpClient
from callgate.http_client.pool import PoolLimits
from callgate.ports.upstream import Upstream
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.lists.tool_choice import ToolChoice
from callgate.sandbox.confine import Sandbox
from callgate.sandbox.reach import Guarded
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.slots import ChildSlots
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.hide_secrets import held_in_address, hider
from callgate.upstreams.http.http_transport import HttpSettings
from callgate.upstreams.link.call_limits import DEFAULT_CALL_TIMEOUT_S, CallLimits
from callgate.upstreams.link.own_lines import OwnPatience, Shares
from callgate.upstreams.mcp_upstream import McpUpstream
from callgate.upstreams.openers import OwnChildOpener, child_opener, http_opener, sse_opener
from callgate.upstreams.server_lines import McpUpstreamPlan
from callgate.wire.connection.request_table import DEFAULT_TIMEOUT_S

# Of an entry: these do not concern the connection, and are taken over while it stays.
_LIVE = frozenset({"disabled", "redact_keys", "redact_patterns", "title", "tools"})


@dataclass(frozen=True, slots=True)
class Outward:
    """What all upstreams share: the guard and the number of their processes, the pool of connections."""

    warden: Warden
    client: HttpClient
    redact: Callable[[str], str]  # what is told of their refusals
    slots: ChildSlots = field(default_factory=ChildSlots)
    shares: Shares | None = None
    guarded: Guarded | None = None  # from confined programs
    patience: OwnPatience = field(default_factory=OwnPatience)

    def use(self, config: Config, limits: PoolLimits) -> None:
        """What the operator decides of all of them together."""
        server = config.server
        self.slots.use_limit(server.max_children)
        if self.shares is not None:
            self.shares.limit = share_of_one(config)
        self.patience.grace_s, self.patience.idle_s = server.child_grace_s, server.child_idle_s
        self.patience.answer_s = server.answer_timeout_s
        self.client.use_limits(limits)

    async def close(self) -> None:
        await self.client.close()
        self.warden.close()


def share_of_one(config: Config) -> int:
    """Of the processes, for one principal. Without tokens there is nobody else to leave something for."""
    return max(1, config.server.max_children // (2 if bearer_tokens(config) else 1))


def open_mcp_server(name: str, spec: McpServerSpec, outward: Outward) -> McpUpstream:
    plan = plan_of(name, spec, outward)
    if plan.own_opener is None:
        return McpUpstream(plan)
    slots = outward.slots

    def let_go() -> None:
        slots.ask_no_more(upstream.expendable)
        slots.give_back()

    slots.reserve()
    upstream = McpUpstream(replace(plan, on_close=let_go))
    slots.ask_first(upstream.expendable)
    return upstream


def plan_key(spec: McpServerSpec) -> dict[str, object]:
    """What a server's connections depend on. While it is equal, they stay."""
    return {name: getattr(spec, name) for name in McpServerSpec.spec_keys if name not in _LIVE}


def adapt_mcp_server(spec: McpServerSpec, upstream: Upstream) -> None:
    """What can change while its connections stay."""
    assert isinstance(upstream, McpUpstream)
    upstream.title = spec.title
    upstream.call_limits.by_tool = spec.tools.timeout_s


def plan_of(name: str, spec: McpServerSpec, outward: Outward) -> McpUpstreamPlan:
    own_opener = None
    if spec.command is not None:
        env = {key: value.get_secret_value() for key, value in spec.env.items()}
        hide = hider(held_by(spec), outward.redact)
        sandbox = _sandbox(name, spec, outward)
        cwd = _neutral_folder(sandbox, outward) if spec.in_workspace else spec.cwd
        command = ChildCommand(name, spec.command, spec.args, env, cwd, hide, sandbox)
        opener = child_opener(command, outward.warden)
        own_opener = OwnChildOpener(command, outward.warden, outward.slots)
    else:
        assert spec.url is not None
        headers = tuple((key, value.get_secret_value()) for key, value in spec.headers.items())
        settings = HttpSettings(name, spec.url, headers, outward.redact)
        make = sse_opener if spec.kind == "sse" else http_opener
        opener = make(settings, outward.client)
    return McpUpstreamPlan(
        name,
        opener,
        timeout_s=spec.timeout_s or DEFAULT_TIMEOUT_S,
        isolation=spec.isolation,
        own_opener=own_opener,
        call_limits=CallLimits(spec.timeout_s or DEFAULT_CALL_TIMEOUT_S, spec.tools.timeout_s),
        title=spec.title,
        start_timeout_s=spec.start_limit_s,
        own_patience=outward.patience,
        shares=outward.shares,
        keeps_state=spec.affinity == "session",
        in_workspace=spec.in_workspace,
    )


def guarded_of(config: Config, file: Path | None) -> Guarded:
    files = [record_folder(config), *([file] if file is not None else [])]
    return Guarded(
        state_folder(config).resolve(),
        Path.home().resolve(),
        # A link to our file too: whoever may exchange it gives us another file, and the lock beside it.
        tuple({place for path in files for place in (path.resolve(), path.parent.resolve() / path.name)}),
        _code_of_ours(),
    )


def _code_of_ours() -> tuple[Path, ...]:
    """What runs unconfined at our next start, and before a confined server is confined."""
    libraries = [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    programs = [Path(sys.executable), Path(sys.executable).resolve(), Path(callgate.__file__)]
    return tuple({place.resolve() for place in (*libraries, *(program.parent for program in programs))})


def _sandbox(name: str, spec: McpServerSpec, outward: Outward) -> Sandbox | None:
    if spec.sandbox is None:
        return None
    assert outward.guarded is not None, "whoever starts servers of a configuration says what is guarded"
    own = outward.guarded.state / "sandbox" / name
    return Sandbox(own, outward.guarded, spec.sandbox.reads, spec.sandbox.writes, spec.sandbox.network)


def _neutral_folder(sandbox: Sandbox | None, outward: Outward) -> Path | None:
    """For the process that only lists: an empty folder, or the one that a confined program has anyway."""
    if sandbox is not None:
        return None
    assert outward.guarded is not None
    folder = outward.guarded.state / "no-workspace"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def offer_rules(config: Config) -> OfferRules:
    return OfferRules(
        deny_destructive=config.policy.destructive == "deny",
        briefly_named=briefly_named(config),
        tool_search=config.server.tool_search,
        max_offers=config.server.max_offers,
        tool_choices=tool_choices(config),
    )


def tool_choices(config: Config) -> dict[str, ToolChoice]:
    """Of the servers whose entry has rules for their tools."""
    return {
        name: ToolChoice(spec.tools.only, spec.tools.leave_out, spec.tools.timeout_s)
        for name, spec in config.mcp_servers.items()
        if spec.tools.only or spec.tools.leave_out or spec.tools.timeout_s
    }


def held_by(spec: McpServerSpec, *, with_variables: bool = False) -> Iterator[str]:
    """What its entry holds in secret. A server may repeat it in whatever it says. `with_variables`: also what
    a variable of any name filled in, which may be a path."""
    env = {name: value.get_secret_value() for name, value in spec.env.items()}
    yield from secrets_among(env, spec.args)
    places = [(("env", name), value) for name, value in env.items()]
    for loc, value in [*places, *((("args", at), value) for at, value in enumerate(spec.args))]:
        written = spec.written_of(*loc)
        if written is not None and (with_variables or "${" not in written):
            yield value
    if spec.url is not None:
        yield from held_in_address(spec.url, (value.get_secret_value() for value in spec.headers.values()))
