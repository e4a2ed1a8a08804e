"""How an upstream's tool is called in the aggregate: `<server>__<tool>`.

Server names have no `__` (config sees to it), so the part before the first one is always the server.
"""

import hashlib

SEPARATOR = "__"
# Several clients cut or refuse longer names.
MAX_NAME_CHARS = 64
_DIGEST_CHARS = 8


def public_name(server: str, native_name: str) -> str:
    """Stable: the same tool has the same name in every process and after every restart."""
    full = f"{server}{SEPARATOR}{native_name}"
    if len(full) <= MAX_NAME_CHARS:
        return full
    digest = hashlib.sha256(full.encode()).hexdigest()[:_DIGEST_CHARS]
    return f"{full[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def public_uri(server: str, native_uri: str) -> str:
    """For a uri that another server offers too; a scheme may contain `+`, so it stays a uri."""
    return f"{server}+{native_uri}"
