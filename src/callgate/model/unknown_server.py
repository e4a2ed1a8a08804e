"""The error for the name of a server that there is not, wherever a client wrote it."""

from collections.abc import Iterable

from callgate.model.error_codes import CALLER_UNKNOWN_SERVER
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean

_MAX_NAMED = 20


def unknown_server(name: str, known: Iterable[str]) -> CallerError:
    known = list(known)
    hint = did_you_mean(name, known) or f"There are: {', '.join(known[:_MAX_NAMED]) or 'none'}"
    return CallerError(CALLER_UNKNOWN_SERVER, f"There is no server {name[:100]!r} here", hint=hint)
