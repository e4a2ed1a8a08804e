"""The file behind a source: whether there is one, and how it begins."""

from pathlib import Path

from callgate.model import error_codes as codes
from callgate.model.errors import SourceError


def read_header(path: Path, size_bytes: int) -> bytes:
    """Raises `SourceError` with the operator's next step when there is no such file."""
    try:
        if path.is_dir():
            raise unavailable(f"{path} is a folder, not a database file.", "Name the file itself.")
        if path.exists() and not path.is_file():  # to open a pipe is to wait until somebody writes to it
            raise unavailable(f"{path} is a pipe or a device, not a file.", "Write its content into a file.")
        with path.open("rb") as file:
            return file.read(size_bytes)
    except FileNotFoundError:
        raise unavailable(f"the file {path} does not exist.", "Check the path in the source's DSN.") from None
    except OSError as error:
        raise unavailable(
            f"the file {path} cannot be read ({error.strerror}).", "Check its permissions."
        ) from None


def unavailable(message: str, hint: str) -> SourceError:
    return SourceError(codes.SOURCE_UNAVAILABLE, message, hint=hint)
