"""From the journals of all processes into the one store, by whoever holds the store's lock."""

import fcntl
import logging
import os
from pathlib import Path

from callgate.recorder.journal import is_abandoned, is_read_to_its_end, read_frames, segments
from callgate.recorder.store import Batch, Store

_log = logging.getLogger(__name__)

# Bounds the memory and the length of one transaction; the next batch follows at once.
_BATCH_EVENTS = 4096


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


def drain(folder: Path, store: Store) -> int:
    """Everything journalled so far, in every segment; returns the number of events stored."""
    watermarks = store.watermarks()
    stored = 0
    for segment in segments(folder):
        # Asked before reading: a segment that ends in between is drained to its end the next time.
        finished = is_abandoned(segment)
        events, reached = _drain_segment(segment, watermarks.get(segment.name, 0), store)
        stored += events
        if finished:
            _put_away(segment, reached)
            store.forget_watermark(segment.name)
    return stored


def _put_away(segment: Path, reached: int) -> None:
    """Only what was read to its end may go; the rest is evidence, and perhaps rows to be saved by hand."""
    if is_read_to_its_end(segment, reached):
        segment.unlink()
        return
    kept = segment.rename(segment.with_suffix(".damaged"))
    _log.error(
        "a journal is damaged after byte %d; what follows there is not recorded: see %s", reached, kept
    )


def _drain_segment(segment: Path, offset: int, store: Store) -> tuple[int, int]:
    """Events stored, and the offset that was reached."""
    batch, stored = Batch(segment.name, offset), 0
    for row, end in read_frames(segment, offset):
        batch.add(row)
        offset = batch.byte_offset = end
        if len(batch.events) >= _BATCH_EVENTS:
            store.write(batch)
            stored += len(batch.events)
            batch = Batch(segment.name, offset)
    if not batch.is_empty:
        store.write(batch)
    return stored + len(batch.events), offset
