"""Files that are written whole or not at all: beside the old one first, which then gives way at once.

Whoever reads meanwhile, and whatever ends us meanwhile, finds the old content or the new one.
"""

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
