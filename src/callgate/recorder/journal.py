"""Each process's own append-only file of redacted rows: what survives us, and what the store is fed from.

A segment is a magic line, then frames: length (4 bytes), crc32 (4 bytes), msgpack row. The writer holds a
lock on its segment while it lives, so the drainer can tell a finished segment from one that still grows.
A frame cut short by a crash ends the segment; everything before it counts.
"""

import fcntl
import os
import struct
import uuid
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from callgate.recorder.rows import Row

_MAGIC = b"callgate-journal-1\n"
_HEAD = struct.Struct("<II")
_SUFFIX = ".journal"
# A segment that has been drained can only be dropped whole: small enough to go soon.
SEGMENT_BYTES = 8 * 1024 * 1024
_MAX_FRAME_BYTES = 64 * 1024 * 1024

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Row)


class JournalWriter:
    """Appends with plain write(2), many rows a call; used from one thread only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fd, self.path = self._new_segment()
        self._size_bytes = len(_MAGIC)

    def append(self, rows: Sequence[Row]) -> None:
        data = b"".join(map(_frame, rows))
        if self._size_bytes > len(_MAGIC) and self._size_bytes + len(data) > SEGMENT_BYTES:
            os.close(self._fd)
            self._fd, self.path = self._new_segment()
            self._size_bytes = len(_MAGIC)
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        self._size_bytes += len(data)

    def close(self) -> None:
        os.close(self._fd)

    def _new_segment(self) -> tuple[int, Path]:
        # uuid1-like order is not needed: rows carry their own time.
        path = self._folder / f"{os.getpid()}-{uuid.uuid4().hex[:12]}{_SUFFIX}"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, _MAGIC)
        return fd, path


def _frame(row: Row) -> bytes:
    payload = _encoder.encode(row)
    return _HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{_SUFFIX}"))


def is_abandoned(path: Path) -> bool:
    """Whether its writer is done with it: closed, rotated away or dead."""
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(fd)


def read_frames(path: Path, offset: int) -> Iterator[tuple[Row, int]]:
    """Rows from `offset` on (0 is the start), each with the offset after it; stops at an unfinished frame."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return
        file.seek(max(offset, len(_MAGIC)))
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            size, checksum = _HEAD.unpack(head)
            if size > _MAX_FRAME_BYTES:
                return
            payload = file.read(size)
            if len(payload) < size or zlib.crc32(payload) != checksum:
                return
            yield _decoder.decode(payload), file.tell()
