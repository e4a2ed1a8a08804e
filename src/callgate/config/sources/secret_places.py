"""Where in the file a secret may stand, how one is read from a file of its own, and how it lands in a DSN.

Counterpart: `interpolate`, which walks over the values.
"""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from callgate.config.problem import Loc

# A token, a password, a DSN: 64 KiB is far beyond any, and a log file named by mistake is not read whole.
_MAX_SECRET_BYTES = 64 * 1024
STATE_KEY: Loc = ("server", "state_key")


def bears_secret(loc: Loc) -> bool:
    """The keys where a whole value may be `file:…`, `secret:…` or `exec:…`."""
    match loc:
        case ("server", "tokens", int()) | ("server", "tokens", int(), "token") | ("server", "state_key"):
            return True
        case ("otel", "headers", str()) | ("principals", str(), "token"):
            return True
        case ("sources", int(), "ssl_key_password") | ("sources", int(), "ssh", "key_password"):
            return True
        case _:
            return is_env_or_header(loc) or is_dsn(loc)


def is_env_or_header(loc: Loc) -> bool:
    match loc:
        case ("mcpServers", str(), "headers" | "env", str()):
            return True
        case _:
            return False


def is_dsn(loc: Loc) -> bool:
    match loc:
        case ("sources", int(), "dsn") | ("record", "store") | ("replicas", "database"):
            return True
        case _:
            return False


Escape = Callable[[list[tuple[str, bool]]], list[tuple[str, bool]]]


def escape_in_dsn(pieces: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Percent-encode what was filled in as user, password or param; leave a whole DSN or a host alone."""
    # Each filled-in piece stands as one NUL, so that its own "@" and "?" do not count.
    skeleton = "".join("\x00" * bool(piece) if filled else piece for piece, filled in pieces)
    begin = skeleton.find("://")
    at = skeleton.rfind("@")
    question = skeleton.find("?", max(at, 0))
    escaped: list[tuple[str, bool]] = []
    position = 0
    for piece, filled in pieces:
        in_credentials = 0 <= begin < position < at
        in_params = 0 <= question < position
        escaped.append(
            (quote(piece, safe=""), True) if filled and (in_credentials or in_params) else (piece, filled)
        )
        position += bool(piece) if filled else len(piece)
    return escaped


class SecretFileError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_secret_file(path: Path) -> str:
    """A secret in a file of its own, as Docker, Kubernetes and systemd hand them over.

    Without its trailing newline. Raises SecretFileError.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_SECRET_BYTES + 1)
        text = raw.decode("utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    except ValueError:  # not UTF-8, or a NUL in the path
        reason = "it is not UTF-8 text"
    else:
        if len(raw) <= _MAX_SECRET_BYTES:
            return text.removesuffix("\n").removesuffix("\r")
        reason = f"it is larger than {_MAX_SECRET_BYTES // 1024} KiB"
    # Raised outside the handler: an exception's context would carry the bytes that failed to decode.
    raise SecretFileError(reason)
