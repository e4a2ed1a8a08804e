"""How many files and sockets this process may hold.

Without a plan the clients' connections take all of them, and the journal, the store, the
children and the databases get none. So clients get at most half, connections to HTTP servers a quarter; the
rest is a reserve.
"""

import resource
from dataclasses import dataclass

from callgate.config.specs.config import Config
from callgate.edge.listener import ListenerLimits
from callgate.http_client.pool import DEFAULT_LIMITS, PoolLimits

# More descriptors we never need, and some programs walk through every possible one at their start.
_ENOUGH = 65_536
# No connection at all would be no gateway. Below this limit the reserve is touched.
_LEAST = 16


@dataclass(frozen=True, slots=True)
class Descriptors:
    limit: int

    def for_clients(self, wanted: int) -> int:
        return max(_LEAST, min(wanted, self.limit // 2))

    def for_each_server(self, servers: int, wanted: int) -> int:
        """Connections to one HTTP server, of `servers` in all."""
        return max(_LEAST, min(wanted, self.limit // 4 // max(1, servers)))


def raise_limit() -> Descriptors:
    """The soft limit of a shell is often 1,024, although the hard one is far above it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard > _ENOUGH:
        hard = _ENOUGH
    if soft == resource.RLIM_INFINITY or soft >= hard:
        return Descriptors(_ENOUGH if soft == resource.RLIM_INFINITY else soft)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    except (OSError, ValueError):  # macOS allows less than it says
        return Descriptors(soft)
    return Descriptors(hard)


def pool_limits(config: Config, descriptors: Descriptors) -> PoolLimits:
    servers = sum(1 for spec in config.mcp_servers.values() if spec.url is not None and not spec.disabled)
    return PoolLimits(max_connections=descriptors.for_each_server(servers, DEFAULT_LIMITS.max_connections))


def listener_limits(config: Config, descriptors: Descriptors) -> ListenerLimits:
    server = config.server
    return ListenerLimits(server.max_body_bytes, descriptors.for_clients(server.max_connections))
