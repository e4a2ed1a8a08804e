"""One spelling of a definition, and its digest. Pure.

Order of members and blanks do not count; everything else does. A member that is given twice is refused: one
reader takes the first, another the last. What cannot be read has the digest of its bytes.
"""

import hashlib
import json
from typing import Any


class UnreadableError(Exception):
    """Why a definition cannot be read in one way only."""


def read_definition(definition: bytes) -> Any:
    """Raises UnreadableError."""
    try:
        return json.loads(definition.decode(), object_pairs_hook=_members)
    except RecursionError:
        raise UnreadableError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise UnreadableError("it is not UTF-8") from None
    except ValueError as problem:
        raise UnreadableError(str(problem)[:100]) from None


def canonical(definition: bytes) -> bytes:
    """Raises UnreadableError."""
    read = read_definition(definition)
    told = json.dumps(read, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return told.encode(errors="surrogatepass")


def digest_of(definition: bytes) -> str:
    try:
        told = canonical(definition)
    except (UnreadableError, RecursionError):
        told = b"\0" + definition  # no JSON begins so
    return f"sha256:{hashlib.sha256(told).hexdigest()}"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise UnreadableError("it gives a member twice")
    return members
