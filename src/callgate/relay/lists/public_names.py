"""How an upstream's tool is called in the aggregate: `<server>__<tool>`.

Rules
1. A public name has at most 64 characters, all of them letters, digits, `_` and `-`: several clients refuse
   any other, and with it the whole list.
2. Server names are ids (config sees to it), without `__`, so the part before the first one is the server. A
   name may end with one `_`: with servers `a` and `a_`, `a___t` is `t` of `a_`, and `_t` of `a` has the form
   with a digest. So no tool can have a name that belongs to another server.
3. What is too long first loses the server's part, which becomes its short name, and only then the end of the
   tool's. A tool whose own part changes gets a digest of its name, so that no two become one.
4. One upstream may be joined by a single `_` instead (`mysql_query`): no other name is without `__`.

All of it depends on the two names alone: the same tool has the same name in every process.
"""

import hashlib
import re
from collections.abc import Container, Iterable, Mapping

SEPARATOR = "__"
SHORT_SEPARATOR = "_"
MAX_NAME_CHARS = 64
_DIGEST_CHARS = 8
_NOT_PUBLIC = re.compile(r"[^A-Za-z0-9_-]")
# `aws-1f2e3d`: enough of the name to be recognised, and of a digest to be nobody else's.
_SHORT_SERVER_CHARS = 10
_SHORT_DIGEST_CHARS = 6


def short_servers(servers: Iterable[str]) -> dict[str, str]:
    """The short name of each server, for tools whose names leave no room for the long one."""
    servers = list(servers)
    taken = set(servers)
    short: dict[str, str] = {}
    for server in servers:
        made, digits = server, _SHORT_DIGEST_CHARS
        while len(server) > _SHORT_SERVER_CHARS and made in taken:
            beginning = server[: _SHORT_SERVER_CHARS - _SHORT_DIGEST_CHARS - 1].rstrip("-_")
            made = f"{beginning}-{_digest(server)[:digits]}"
            digits += 1
        taken.add(made)
        short[server] = made
    return short


def server_of(
    name: str, servers: Container[str], by_short_name: Mapping[str, str] | None = None
) -> str | None:
    """Which of these servers a public name belongs to."""
    server, separator, tool = name.partition(SEPARATOR)
    if not separator:
        return None
    if tool[:1] == "_" and f"{server}_" in servers:
        return f"{server}_"
    return server if server in servers else (by_short_name or {}).get(server)


def public_name(
    server: str,
    native_name: str,
    separator: str = SEPARATOR,
    servers: Container[str] = (),
    short: str | None = None,
) -> str:
    """`short`: the server's short name; without one the long one stays."""
    tool = _NOT_PUBLIC.sub("_", native_name)
    is_anothers = native_name[:1] == "_" and f"{server}_" in servers
    if is_anothers or not tool.strip("_-"):
        tool = tool.lstrip("_") or "tool"
    if tool != native_name:
        tool = f"{tool}_{_digest_of(server, native_name)}"
    full = f"{server}{separator}{tool}"
    if len(full) <= MAX_NAME_CHARS:
        return full
    full = f"{short or server}{SEPARATOR}{tool}"
    if len(full) <= MAX_NAME_CHARS:
        return full
    return f"{full[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}_{_digest_of(server, native_name)}"


def public_uri(server: str, native_uri: str) -> str:
    """For a uri that another server offers too; a scheme may contain `+`, so it stays a uri."""
    return f"{server}+{native_uri}"


def _digest_of(server: str, native_name: str) -> str:
    return _digest(f"{server}\0{native_name}")[:_DIGEST_CHARS]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
