"""Edge owns the one listener and its gate, and mounts an ASGI application behind them."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# In the place of the client's address, for one that comes over a Unix socket.
UNIX_PEER = "unix"
# A proxy on this machine speaks for somebody elsewhere. Each of these says so: some proxies set only one.
FORWARDED = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"}
    | {"x-cluster-client-ip", "x-envoy-external-address", "x-original-forwarded-for", "x-forwarded"}
    | {f"x-forwarded-{what}" for what in ("for", "host", "port", "proto", "scheme", "server")}
)

# Plain ASGI 3 (scope type "http" only). The gate's finding is `scope["state"]["principal"]`: a Principal, or
# None where the path is open to everyone (health checks).
HttpApp = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class MountedApp:
    serve: HttpApp
    # Whether a path, as `scope["path"]` has it, is open to those without a token: health checks, and the web
    # page, which must be there before it can ask for one. Host and Origin are checked for them too.
    is_open: Callable[[str], bool]
