"""The gate in front of everything: Host, Origin, bearer token. Pure: header values in, a principal out.

Order: Host first (a rebound DNS name must learn nothing), then Origin (a web page of another site), then the
token. All three are for HTTP; a local pipe or socket is guarded by the file system.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from callgate.model.error_codes import REFUSED_HOST, REFUSED_ORIGIN, REFUSED_UNAUTHENTICATED
from callgate.model.errors import RefusedError
from callgate.model.identity import LOCAL, Principal

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Token:
    """What we keep of a bearer token: its digest, so that comparing takes the same time for any guess."""

    digest: bytes
    principal: Principal

    @classmethod
    def of(cls, secret: str, principal: str) -> "Token":
        return cls(_digest(secret), Principal(principal))


@dataclass(frozen=True, slots=True)
class GateRules:
    # None: any Host will do. Only right where a token is asked for, which a rebound page cannot know.
    hosts: frozenset[str] | None
    origins: frozenset[str]
    tokens: tuple[Token, ...]


def admit(rules: GateRules, headers: Mapping[str, str]) -> Principal:
    """Raises RefusedError."""
    check_site(rules, headers)
    return identify(rules, headers)


def check_site(rules: GateRules, headers: Mapping[str, str]) -> None:
    host = headers.get("host", "").lower()
    name = host_name(host)
    if rules.hosts is not None and name not in rules.hosts:
        raise RefusedError(
            REFUSED_HOST,
            f"Host {host[:100]!r} is not this gateway",
            hint="Use the address the gateway printed, or add the name to [server] allowed_hosts",
        )
    origin = headers.get("origin")
    if origin is not None and not _is_our_origin(origin.lower(), host, rules):
        raise RefusedError(
            REFUSED_ORIGIN,
            f"Origin {origin[:100]!r} may not call this gateway",
            hint="Add it to [server] allowed_origins if it is yours",
        )


def _is_our_origin(origin: str, host: str, rules: GateRules) -> bool:
    """Our own pages (same host and port), or one the operator named."""
    return origin in rules.origins or origin in (f"http://{host}", f"https://{host}")


def identify(rules: GateRules, headers: Mapping[str, str]) -> Principal:
    if not rules.tokens:
        return LOCAL
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    given = _digest(secret.strip())
    found: Principal | None = None
    for token in rules.tokens:  # all of them, always: how many were compared tells nothing
        if hmac.compare_digest(token.digest, given):
            found = token.principal
    if scheme.lower() != "bearer" or found is None:
        raise RefusedError(
            REFUSED_UNAUTHENTICATED,
            "A bearer token is needed" if not secret else "The bearer token is not valid",
            hint="Send Authorization: Bearer <one of [server] tokens>",
        )
    return found


def host_name(host: str) -> str:
    """The Host header without its port; IPv6 keeps its brackets."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
