"""Each process's own append-only file of redacted rows: what survives us, and what the store is fed from.

A segment is a magic line, then frames (see `frames`). The writer holds a lock on its segment while it lives,
so the drainer can tell a finished segment from one that still grows.

1. A segment appears under its final name only when it is locked and begun: who finds one without a lock
   may take it for finished. (A crash before that leaves a few bytes under another name, and no row.)
2. What a failed write left behind is taken back, so nothing follows a torn frame.
3. A frame cut short by a crash ends the segment; everything before it counts.
"""

import fcntl
import os
import threading
import uuid
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from callgate.background import Background
from callgate.recorder.folder import files_in
from callgate.recorder.journal.frames import HEAD, Frame, read_frame
from callgate.recorder.trouble import JournalFullError, Trouble, attempt, journal_unsynced

_MAGIC_OF_ANY = b"callgate-journal-"
_MAGIC = _MAGIC_OF_ANY + b"6\n"
# What a crash left before an upgrade: without frames of calls, else the same.
_READ_MAGICS = (_MAGIC, b"callgate-journal-3\n")
_SUFFIX = ".journal"
# A segment that has been drained can only be dropped whole: small enough to go soon.
SEGMENT_BYTES = 16 * 1024 * 1024
# A length beyond this is taken for damage. Writers must keep to it: a larger frame would end its segment.
MAX_FRAME_BYTES = 256 * 1024 * 1024
_READ_BYTES = 1024 * 1024
# What a machine that fails may cost; a process that fails costs nothing that was written.
_EVERY_S = 0.25


class JournalRoom:
    """How much may wait in a folder's journals, for a store that can be away for long."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0

    def measure(self, used_bytes: int) -> None:
        """From another thread, now and then: what waits in truth."""
        self.used_bytes = used_bytes

    def take(self, size_bytes: int) -> None:
        """Raises JournalFullError. Where nothing waits, any size will do: it would never fit."""
        if self.used_bytes and self.used_bytes + size_bytes > self.max_bytes:
            raise JournalFullError
        self.used_bytes += size_bytes


class JournalWriter:
    """Appends with plain write(2), many rows a call; used by one thread at a time, but for `sync`."""

    def __init__(self, folder: Path, room: JournalRoom | None = None) -> None:
        self._folder = folder
        self._room = room
        self.writer_id = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._segments = 0
        self._fd: int | None = None
        self._fd_lock = threading.Lock()  # between `sync` and closing the file
        self._unsynced = False
        self._begin_segment()

    def append(self, frames: Sequence[bytes | bytearray]) -> None:
        """All of them or, with an OSError, none."""
        size = sum(map(len, frames))
        if self._room is not None:
            self._room.take(size)
        is_full = self._size_bytes > len(_MAGIC) and self._size_bytes + size > SEGMENT_BYTES
        if self._fd is None or is_full:
            self._begin_segment()
        assert self._fd is not None
        try:
            _write_all(self._fd, frames)
        except OSError:
            self._take_back()
            raise
        self._size_bytes += size
        self._unsynced = True

    def sync(self) -> None:
        """To the disk itself: write(2) survives a process that dies, not a machine."""
        if not self._unsynced:
            return
        with self._fd_lock:
            fd = None if self._fd is None else os.dup(self._fd)
        if fd is None:
            return
        self._unsynced = False
        try:
            os.fdatasync(fd)
        except OSError:
            self._unsynced = True
            raise
        finally:
            os.close(fd)

    def close(self) -> None:
        with self._fd_lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    def _begin_segment(self) -> None:
        path = self._folder / f"{self.writer_id}.{self._segments:06}{_SUFFIX}"
        unseen = path.with_suffix(f"{_SUFFIX}.new")
        fd = os.open(unseen, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            _write_all(fd, [_MAGIC])
            unseen.rename(path)
        except BaseException:
            os.close(fd)
            unseen.unlink(missing_ok=True)
            raise
        self.close()  # the one before, only now that there is another to write to
        self._segments += 1
        self._fd, self.path, self._size_bytes = fd, path, len(_MAGIC)

    def _take_back(self) -> None:
        """The next append must not follow a torn frame: readers stop there and would never see it."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, self._size_bytes)
        except OSError:
            self.close()  # then the torn frame is this segment's last, and the next append begins another


def _write_all(fd: int, parts: Sequence[bytes | bytearray]) -> None:
    written = os.writev(fd, parts)
    if written < sum(map(len, parts)):
        rest = memoryview(b"".join(parts))[written:]
        while rest:
            rest = rest[os.write(fd, rest) :]


def segments(folder: Path) -> list[Path]:
    return files_in(folder, _SUFFIX)


def writer_of(segment: Path) -> str:
    return segment.name.partition(".")[0]


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


def is_read_to_its_end(path: Path, offset: int) -> bool:
    """`offset`: as far as frames were read, 0 if there was none."""
    return path.stat().st_size <= max(offset, len(_MAGIC))


def is_of_newer_version(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(len(_MAGIC))
    return begin.startswith(_MAGIC_OF_ANY) and begin not in _READ_MAGICS


def read_frames(path: Path, offset: int) -> Iterator[Frame]:
    """From `offset` on (0 is the start); stops at an unfinished frame."""
    with path.open("rb", buffering=_READ_BYTES) as file:
        if file.read(len(_MAGIC)) not in _READ_MAGICS:
            return
        at = max(offset, len(_MAGIC))
        file.seek(at)
        while len(head := file.read(HEAD.size)) == HEAD.size:
            size, checksum = HEAD.unpack(head)
            if not 0 < size <= MAX_FRAME_BYTES:
                return
            payload = file.read(size)
            if len(payload) < size or zlib.crc32(payload) != checksum:
                return
            at += HEAD.size + size
            try:
                found = read_frame(payload, at)
            except ValueError:
                return
            yield found


class JournalSync:
    """A thread that has the journal reach the disk itself. fdatasync may take long: no reply waits for it."""

    def __init__(self, journal: JournalWriter, background: Background) -> None:
        self._journal = journal
        self._stopped = threading.Event()
        self.trouble = Trouble()
        self._thread = background.thread("journal sync", self._run)

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_EVERY_S):
            attempt(self._sync, self.trouble)

    def _sync(self) -> None:
        try:
            self._journal.sync()
        except OSError as problem:
            raise journal_unsynced(problem) from problem
