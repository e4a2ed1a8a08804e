"""Files that are written whole or not at all: beside the old one first, which then gives way at once.

Whoever reads meanwhile, and whatever ends us meanwhile, finds the old content or the new one. Writers that
read a file first and then change it take turns (`alone_in`).
"""

import fcntl
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

TURN: Final = ".callgate.turn"  # there while somebody writes


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
    except OSError as problem:
        problem.filename = problem.filename or str(path)  # a full disk names none
        raise
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Of two that write at once, the second looks after the first is done. Raises OSError.

    A file of its own is locked: one that is written whole is another one afterwards, and the folder could be
    locked by everybody who may list it, for ever.
    """
    path = folder / TURN
    held = _take_turn(path, folder.stat())
    try:
        yield
        _sync(folder)
    finally:
        path.unlink(missing_ok=True)  # before the next one has its turn: it sees that its file is gone
        os.close(held)


def _take_turn(path: Path, folder: os.stat_result) -> int:
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            _open_to_writers(held, folder)
            fcntl.flock(held, fcntl.LOCK_EX)
            if _is_at(path, held):
                return held
        except OSError:
            os.close(held)
            raise
        os.close(held)


def _open_to_writers(held: int, folder: os.stat_result) -> None:
    """Whoever may write to the folder has a turn too, and nobody else."""
    with suppress(PermissionError):  # it is somebody else's, who has done it
        os.fchown(held, folder.st_uid if os.geteuid() == 0 else -1, folder.st_gid)
        os.fchmod(held, 0o660 if folder.st_mode & stat.S_IWGRP else 0o600)


def _is_at(path: Path, held: int) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(held))
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
