"""How many files and sockets this process may hold, and who gets how many of them.

Without a plan the clients' connections take all of them, and the journal, the store, the children and the
databases get none. So clients get at most half, connections to HTTP servers a quarter; the rest is a reserve.
"""

import resource
from dataclasses import dataclass

# More than this we never need, and some programs walk through every possible descriptor at their start.
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
