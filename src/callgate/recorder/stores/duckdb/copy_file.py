"""Copies of files, made in the kernel, and on file systems that can share blocks without copying at all."""

import errno
import os
from pathlib import Path

_PIECE_BYTES = 64 * 1024 * 1024
_READ_BYTES = 1024 * 1024
# What a file system or a kernel says that has no such call. (EXDEV cannot be: both are in one folder.)
_CANNOT = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EXDEV})


def copy_open_file(source_fd: int, target: Path) -> None:
    """Private, and new: it follows no link that waits there. Whole, or not there."""
    target_fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _copy(source_fd, target_fd, os.fstat(source_fd).st_size)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        os.close(target_fd)


def copy_small_file(source: Path, target: Path) -> None:
    """Not for a file on which this process holds a lock that matters: closing it gives the lock away."""
    source_fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        copy_open_file(source_fd, target)
    finally:
        os.close(source_fd)


def _copy(source_fd: int, target_fd: int, size_bytes: int) -> None:
    at = 0
    while at < size_bytes:
        at += _copy_piece(source_fd, target_fd, at, min(_PIECE_BYTES, size_bytes - at)) or size_bytes


def _copy_piece(source_fd: int, target_fd: int, at: int, length: int) -> int:
    """How many bytes; none: the file became shorter."""
    try:
        return os.copy_file_range(source_fd, target_fd, length, at, at)
    except (OSError, AttributeError) as problem:  # macOS has no such call
        if isinstance(problem, OSError) and problem.errno not in _CANNOT:
            raise
    data = os.pread(source_fd, min(length, _READ_BYTES), at)
    os.pwrite(target_fd, data, at)  # whole, or an error: it is a plain file
    return len(data)
