"""A file for this user alone."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
    try:
        # A name that nobody can foresee, and O_EXCL: in a folder of many, no link can wait for us there.
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as problem:
        raise _unfit(path, f"cannot be written ({problem.strerror})", "Name another with --output") from None
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _unfit(path: Path, why: str, hint: str) -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, f"{path} {why}", hint=hint)
