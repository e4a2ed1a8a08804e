"""Files that are written whole or not at all: beside the old one first, which then gives way at once.

Whoever reads meanwhile, and whatever ends us meanwhile, finds the old content or the new one. Writers that
read a file first and then change it take turns (`alone_in`).
"""

import fcntl
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path, mode: int = 0o600) -> Generator[IO[bytes]]:
    """What is written into it becomes the file, unless something is raised. Raises OSError."""
    # A name that nobody can foresee, and O_EXCL: in a folder of many, no link can wait for us there.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Of two that write at once, the second looks after the first is done. The folder is locked: a file that
    is written whole is another one afterwards. Raises OSError."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
        os.fsync(held)
    finally:
        os.close(held)
