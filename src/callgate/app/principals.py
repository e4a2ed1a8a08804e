"""Who may come to this gateway, and as what: from the configuration to the rules of the gate."""

from callgate.config.specs.config import Config
from callgate.edge.gate import LOOPBACK_NAMES, BearerToken, GateRules
from callgate.model.identity import LOCAL, Principal, Role


def gate_rules(config: Config) -> GateRules:
    server = config.server
    listen = server.listen
    hosts = LOOPBACK_NAMES | {name.lower() for name in server.allowed_hosts}
    if listen.socket_path is None:
        hosts |= {f"[{listen.host}]" if ":" in listen.host else listen.host.lower()}
    # Beyond loopback the names we are reached by are the operator's affair, and tokens are mandatory.
    open_to_any_name = not server.is_private and not server.allowed_hosts
    return GateRules(
        hosts=None if open_to_any_name else frozenset(hosts),
        origins=frozenset(origin.lower().rstrip("/") for origin in server.allowed_origins),
        tokens=tuple(bearer_tokens(config)),
        local=None if needs_token(config) else _principal(config, LOCAL.name),
    )


def needs_token(config: Config) -> bool:
    """Whether everybody needs one. `[principals]` alone only give names to those who have one."""
    return bool(config.server.tokens) or not config.server.is_private


def bearer_tokens(config: Config) -> list[BearerToken]:
    """`[server] tokens` are the operators' own, unless `[principals]` gives that name less."""
    tokens = [
        BearerToken.of(one.token.get_secret_value(), _principal(config, one.principal))
        for one in config.server.tokens
    ]
    for name, spec in config.principals.items():
        principal = Principal(name, spec.role_or(Role.CALL))
        expires_s = None if spec.expires is None else spec.expires.timestamp()
        if spec.token is not None:
            tokens.append(BearerToken.of(spec.token.get_secret_value(), principal, expires_s))
        elif spec.token_hash is not None:
            tokens.append(BearerToken(spec.token_hash, principal, expires_s))
    return tokens


def tokens_in_short(config: Config) -> list[tuple[str, str]]:
    """Which token is whose, for replicas to compare."""
    return [
        (one.token_hash, f"{one.principal.name} {one.principal.role.word} {one.expires_s}")
        for one in bearer_tokens(config)
    ]


def _principal(config: Config, name: str) -> Principal:
    spec = config.principals.get(name)
    return Principal(name, Role.OPERATE if spec is None else spec.role_or(Role.OPERATE))
