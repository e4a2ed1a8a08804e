"""A secret kept in a file of its own, as Docker, Kubernetes and systemd hand them over."""

from pathlib import Path

# A token, a password, a DSN: 64 KiB is far beyond any, and a log file named by mistake is not read whole.
MAX_SECRET_BYTES = 64 * 1024


class SecretFileError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_secret_file(path: Path) -> str:
    """The text without its trailing newline."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_SECRET_BYTES + 1)
        text = raw.decode("utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    except ValueError:  # not UTF-8, or a NUL in the path
        reason = "it is not UTF-8 text"
    else:
        if len(raw) <= MAX_SECRET_BYTES:
            return text.removesuffix("\n").removesuffix("\r")
        reason = f"it is larger than {MAX_SECRET_BYTES // 1024} KiB"
    # Raised outside the handler: an exception's context would carry the bytes that failed to decode.
    raise SecretFileError(reason)
