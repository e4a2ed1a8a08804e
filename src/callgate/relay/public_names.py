"""How an upstream's tool is called in the aggregate: `<server>__<tool>`.

Server names have no `__` (config sees to it), so the part before the first one is the server. A name may end
with one `_`: with servers `a` and `a_`, `a___t` is `t` of `a_`, and `_t` of `a` has the short form. So no
tool can have a name that belongs to another server. One upstream may be joined by a single `_` instead
(`mysql_query`, seed 003's name): no other name is without `__`.
"""

import hashlib
from collections.abc import Container

SEPARATOR = "__"
SHORT_SEPARATOR = "_"
# Several clients cut or refuse longer names.
MAX_NAME_CHARS = 64
_DIGEST_CHARS = 8


def server_of(name: str, servers: Container[str]) -> str | None:
    """Which of these servers a public name belongs to."""
    server, separator, tool = name.partition(SEPARATOR)
    if not separator:
        return None
    if tool[:1] == "_" and f"{server}_" in servers:
        return f"{server}_"
    return server if server in servers else None


def public_name(
    server: str, native_name: str, separator: str = SEPARATOR, servers: Container[str] = ()
) -> str:
    """Stable: the same tool has the same name in every process and after every restart."""
    full = f"{server}{separator}{native_name}"
    is_anothers = native_name[:1] == "_" and f"{server}_" in servers
    return _short_name(server, native_name) if is_anothers or len(full) > MAX_NAME_CHARS else full


def _short_name(server: str, native_name: str) -> str:
    """For a name that is too long, or that belongs to another server; as stable as the other form."""
    full = f"{server}{SEPARATOR}{native_name.lstrip('_')}"
    digest = hashlib.sha256(f"{server}\0{native_name}".encode()).hexdigest()[:_DIGEST_CHARS]
    return f"{full[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def public_uri(server: str, native_uri: str) -> str:
    """For a uri that another server offers too; a scheme may contain `+`, so it stays a uri."""
    return f"{server}+{native_uri}"
