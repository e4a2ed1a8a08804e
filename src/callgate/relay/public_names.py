"""How an upstream's tool is called in the aggregate: `<server>__<tool>`.

Server names have no `__` (config sees to it), so the part before the first one is always the server. One
upstream may be joined by a single `_` instead (`mysql_query`, seed 003's name): no other name is without
`__`.
"""

import hashlib

SEPARATOR = "__"
SHORT_SEPARATOR = "_"
# Several clients cut or refuse longer names.
MAX_NAME_CHARS = 64
_DIGEST_CHARS = 8


def public_name(server: str, native_name: str, separator: str = SEPARATOR) -> str:
    """Stable: the same tool has the same name in every process and after every restart."""
    full = f"{server}{separator}{native_name}"
    return full if len(full) <= MAX_NAME_CHARS else short_name(server, native_name)


def short_name(server: str, native_name: str) -> str:
    """For a name that is too long, or that another one has already; as stable as the other form."""
    full = f"{server}{SEPARATOR}{native_name}"
    digest = hashlib.sha256(f"{server}\0{native_name}".encode()).hexdigest()[:_DIGEST_CHARS]
    return f"{full[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def public_uri(server: str, native_uri: str) -> str:
    """For a uri that another server offers too; a scheme may contain `+`, so it stays a uri."""
    return f"{server}+{native_uri}"
