"""What of a configuration starts a program of this machine, or reads a file, variable or secret of it. Pure.

Whoever may change the file through the API from elsewhere must not come to run programs here by it, or have
what is secret here sent to an address of their own. So these keys are taken from this machine alone.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from callgate.config.problem import Loc
from callgate.config.raw_values import table_of
from callgate.config.secret_source import EXEC

# Keys of any table. `env` and `args` decide what a program does as much as its name; `sandbox` what it may.
_KEYS = frozenset(
    {"command", "args", "env", "cwd", "sandbox", "password_command", "ssh", "ssl_ca", "ssl_cert", "ssl_key"}
    | {"tls_cert", "tls_key", "state_dir", "path", "archive"}
)
# Below these stand names that people chose.
_NAMED = ("mcpServers", "principals", "profiles")
_REFERENCE = re.compile(r"(?:file|exec|secret):")
# Words that stand for a variable or a secret: ours, and those of other clients' entries.
_MARK = re.compile(r"\$\{|\{env:|\$[A-Z_]")
_FILE_DSN = re.compile(r"\s*(?:jdbc:)?(?:sqlite3?|duckdb)\b", re.IGNORECASE)
_FILE_PARAM = re.compile(
    r"[?&](?:ssl[-_]?(?:ca|cert|key|rootcert)|(?:unix_)?socket|passfile|service|host(?==[^&]*(?:/|%2F))"
    r"|server[-_]?(?:rsa)?[-_]?public[-_]?key[\w-]*)=",
    re.IGNORECASE,
)
# A path in the place of the host, also a relative one: a socket. Before the "@" it is part of a password.
_SOCKET_HOST = re.compile(r"[^?]*?://(?:[^/?]*@)?[^@/?]*%2F[^@/?]*(?:[/?]|\Z)", re.IGNORECASE)
# A default is text of whoever writes it, and the name before it need not be set: it may be any of the above.
_DEFAULT = re.compile(r"\$\{[^}]*:-")
# A variable may stand for the whole address, or for parts after the scheme.
_SCHEME_MARK = re.compile(r"\s*[^:]*\$\{[^}]*\}[^:]*:")
_DSN_KEYS = ("dsn", "store", "database")
# No address is longer. Some of these look at a text once for each of its parts.
_MAX_DSN_CHARS = 4_096
_DSN_MARKS = (_FILE_DSN.match, _FILE_PARAM.search, _SOCKET_HOST.match, _DEFAULT.search, _SCHEME_MARK.match)


def reaching(tables: Mapping[str, Any]) -> list[Loc]:
    """The places of these tables that need this machine."""
    return [loc for loc, value in leaves(tables) if reaches(loc, value)]


def newly_reaching(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Loc]:
    """The places that differ between the two and need this machine. A server that is taken away needs
    nothing, but a sandbox that is."""
    old, new = dict(leaves(before)), dict(leaves(after))
    added = [loc for loc, value in new.items() if old.get(loc, _Nothing) != value]
    kept = {loc[:2] for loc in new}
    taken = [loc for loc in old if loc not in new and loc[:2] in kept]
    found = [loc for loc in added if reaches(loc, new[loc]) or _sends_elsewhere(loc, old)]
    found += [loc for loc in taken if reaches(loc, old[loc])]
    return found + [loc for loc in (*added, *taken) if _enables_program(loc, new)]


def _sends_elsewhere(loc: Loc, old: Mapping[Loc, Any]) -> bool:
    """Another address for secrets that are there already: headers, or the password that a program prints."""
    match loc:
        case ("mcpServers", str(name), "url"):
            kept = ("mcpServers", name, "headers")
        case ("sources", name, "dsn"):
            kept = ("sources", name, "password_command")
        case ("otel", "endpoint"):
            kept = ("otel", "headers")
        case _:
            return False
    return any(one[: len(kept)] == kept for one in old)


def _enables_program(loc: Loc, new: Mapping[Loc, Any]) -> bool:
    match loc:
        case ("mcpServers", str(name), "disabled"):
            return ("mcpServers", name, "command") in new and not new.get(loc, False)
        case _:
            return False


def newly_started(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Loc]:
    """The places where `exec:` is new. Only an editor writes it into the file: no request, no pasted text."""
    old = dict(leaves(before))
    return [
        loc
        for loc, value in leaves(after)
        if isinstance(value, str) and value.startswith(EXEC) and old.get(loc) != value
    ]


class _Nothing:
    pass


def reaches(loc: Loc, value: Any) -> bool:
    named = 1 if loc[:1] and loc[0] in _NAMED else None
    if any(part in _KEYS for at, part in enumerate(loc) if at != named):
        return True
    if not isinstance(value, str):
        return False
    if _REFERENCE.match(value) or _MARK.search(value):
        return True
    if loc[-1] not in _DSN_KEYS:
        return False
    return len(value) > _MAX_DSN_CHARS or any(finds(value) for finds in _DSN_MARKS)


def leaves(value: Any, loc: Loc = ()) -> Iterator[tuple[Loc, Any]]:
    """Single values with their places; entries of a list of tables by their id, as the file names them."""
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from leaves(item, (*loc, key))
    elif isinstance(value, list):
        for at, item in enumerate(cast("list[Any]", value)):
            part = table_of(item).get("id")
            yield from leaves(item, (*loc, part if isinstance(part, str) else at))
    else:
        yield loc, value
