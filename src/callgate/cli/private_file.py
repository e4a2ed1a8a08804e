"""A file for this user alone."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from callgate.config.whole_file import whole_file
from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError


@contextmanager
def private_file(path: Path) -> Generator[IO[bytes]]:
    """A file for this user alone: written whole or not at all, and through no link.

    Raises CallerError when there can be no such file.
    """
    if path.is_symlink():
        raise _unfit(path, "is a link", "Name the file itself")
    if path.exists() and not path.is_file():
        raise _unfit(path, "is not a regular file", "Name another, or leave --output out and redirect stdout")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(whole_file(path))
        except OSError as problem:
            why = f"cannot be written ({problem.strerror})"
            raise _unfit(path, why, "Name another with --output") from None
        yield file


def _unfit(path: Path, why: str, hint: str) -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, f"{path} {why}", hint=hint)
