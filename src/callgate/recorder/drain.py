"""From the journals of all processes into the one store, by whoever holds the store's lock."""

import fcntl
import logging
import os
from contextlib import suppress
from pathlib import Path

from callgate.recorder.journal import is_abandoned, is_read_to_its_end, read_frames, segments, writer_of
from callgate.recorder.store import Store
from callgate.recorder.tokens import TokenCounter
from callgate.recorder.write_batch import Batch

_log = logging.getLogger(__name__)

# Bounds the memory and the length of one transaction; the next batch follows at once. DuckDB needs about
# eight times as much while it parses.
_BATCH_BYTES = 8 * 1024 * 1024


class StoreLock:
    """One process at a time may open a DuckDB file; the lock says which, and dies with its process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def try_acquire(self) -> bool:
        if self._fd is not None:
            return True
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self._fd = fd
        return True

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def has_work(folder: Path) -> bool:
    """Whether there is a row to store or a segment to put away."""
    return any(not is_read_to_its_end(segment, 0) or is_abandoned(segment) for segment in segments(folder))


def journalled_bytes(folder: Path) -> int:
    """In all segments together, stored or not."""
    size = 0
    for segment in segments(folder):
        with suppress(FileNotFoundError):  # somebody else may have put it away
            size += segment.stat().st_size
    return size


def behind_bytes(folder: Path, store: Store) -> int:
    """What is journalled and not stored yet."""
    marks = store.watermarks()
    return sum(max(0, path.stat().st_size - marks.get(path.name, 0)) for path in segments(folder))


def drain(folder: Path, store: Store, tokens: TokenCounter) -> bool:
    """Everything journalled so far, in every segment; whether a segment came to its end."""
    watermarks = store.watermarks()
    ended = False
    for segment in segments(folder):
        # Asked before reading: a segment that ends in between is drained to its end the next time.
        finished = is_abandoned(segment)
        reached = _drain_segment(segment, watermarks.get(segment.name, 0), store, tokens)
        if finished:
            _put_away(segment, reached)
            store.forget_watermark(segment.name)
            ended = True
    return ended


def living_writers(folder: Path) -> set[str]:
    """Who may still write, or has written what is not drained yet."""
    return {writer_of(segment) for segment in segments(folder)}


def _put_away(segment: Path, reached: int) -> None:
    """Only what was read to its end may go; the rest is evidence, and perhaps rows to be saved by hand."""
    if is_read_to_its_end(segment, reached):
        segment.unlink()
        return
    kept = segment.rename(segment.with_suffix(".damaged"))
    _log.error(
        "a journal is damaged after byte %d; what follows there is not recorded: see %s", reached, kept
    )


def _drain_segment(segment: Path, offset: int, store: Store, tokens: TokenCounter) -> int:
    """The offset that was reached."""
    if is_read_to_its_end(segment, offset):
        return offset
    batch = Batch(segment.name, offset)
    for frame in read_frames(segment, offset):
        batch.add(frame)
        if batch.size_bytes >= _BATCH_BYTES:
            store.write(batch)
            batch = Batch(segment.name, frame.end)
    if not batch.is_empty:
        tokens.fill_in(batch)
        store.write(batch)
    return batch.byte_offset
