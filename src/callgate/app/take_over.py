"""What changes while a gateway serves, and how: from the next configuration to the parts that run.

Who may come and what is taken out of texts come first: what is stricter holds at once. Servers come last,
because new ones take their time to start.
"""

from callgate.app.build import Gateway
from callgate.app.principals import gate_rules
from callgate.app.process import listener_limits, pool_limits
from callgate.config.specs.config import Config

# Keys that are read once: what they decide is opened, bound or forked at the start. Of a table without
# names, all of it.
_AT_START: dict[str, tuple[str, ...]] = {
    "server": ("listen", "socket_group", "state_dir", "state_key", "workers", "audit_stderr"),
    "record": ("enabled", "path", "store", "migrate", "archive"),
    "otel": (),
    "replicas": (),
}


def needs_restart(key_path: str) -> bool:
    """Whether a change of this key waits for a new start."""
    table, _, key = key_path.partition(".")
    return table in _AT_START and (not _AT_START[table] or key in _AT_START[table])


def servable(read: Config, started: Config) -> Config:
    """As far as it can be served without a new start."""
    kept: dict[str, object] = {}
    for table, keys in _AT_START.items():
        now, then = getattr(read, table), getattr(started, table)
        kept[table] = then if not keys else now.with_values(**{key: getattr(then, key) for key in keys})
    return read.with_values(**kept)


async def take_over(gateway: Gateway, config: Config) -> None:
    """Serves this from now on. Returns when what was changed has taken its place, or starts beside it."""
    gateway.listener.gate.use(gate_rules(config))
    await gateway.served.use(config)
    if gateway.record is not None:
        gateway.record.use(config, gateway.served.redactors)
    gateway.listener.use_limits(listener_limits(config, gateway.descriptors))
    gateway.outward.use(config, pool_limits(config, gateway.descriptors))
    gateway.relay.use_times(config.record.session_gap_s, config.server.answer_timeout_s)
    await gateway.trust.use(config)
    await gateway.upstreams.change(config, gateway.relay)
    gateway.trust.let_go()
