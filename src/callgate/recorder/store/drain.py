"""From the journals of all processes into the one store, by whoever holds the store's lock."""

import fcntl
import logging
import os
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from callgate.recorder.journal.journal import (
    is_abandoned,
    is_read_to_its_end,
    read_frames,
    segments,
    writer_of,
)
from callgate.recorder.store.foreign_rows import ForeignRows, Write
from callgate.recorder.store.store import Store
from callgate.recorder.store.tokens import TokenCounter
from callgate.recorder.store.write_batch import Batch

_log = logging.getLogger(__name__)


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


def drain(folder: Path, store: Store, tokens: TokenCounter, foreign_rows: ForeignRows | None = None) -> bool:
    """Everything journalled so far, in every segment; whether a segment came to its end.

    `foreign_rows`: numbers and publishes other processes' rows.
    """
    watermarks = store.watermarks()
    ended = False
    for _, of_writer in groupby(segments(folder), writer_of):
        of_writer = list(of_writer)
        write = store.write if foreign_rows is None else foreign_rows.writing(of_writer[0], store.write)
        drained = _DrainedWriter(write, tokens)
        for segment in of_writer:
            drained.read(segment, watermarks.get(segment.name, 0))
        for segment in drained.finish():
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
    _log.error("a journal is damaged after byte %d; the rest of it is not recorded: see %s", reached, kept)


class _DrainedWriter:
    """All segments of one writer, in their order: a batch goes on from one to the next."""

    def __init__(self, write: Write, tokens: TokenCounter) -> None:
        self._write = write
        self._tokens = tokens
        self._batch = Batch()
        self._ended: list[tuple[Path, int]] = []  # segments that get no more, and how far they were read
        self._gone: list[Path] = []

    def read(self, segment: Path, offset: int) -> None:
        # Asked before reading: a segment that ends in between is drained to its end the next time.
        is_ended = is_abandoned(segment)
        if not is_read_to_its_end(segment, offset):
            for frame in read_frames(segment, offset):
                self._batch.add(segment.name, frame)
                offset = frame.end
                if self._batch.is_complete:
                    self._store()
        if is_ended:
            self._ended.append((segment, offset))

    def finish(self) -> list[Path]:
        """The segments that are gone, now that all of them is stored."""
        if not self._batch.is_empty:
            self._tokens.fill_in(self._batch)
        self._store()
        return self._gone

    def _store(self) -> None:
        if not self._batch.is_empty:
            self._write(self._batch)
        self._batch = Batch()
        for segment, reached in self._ended:
            _put_away(segment, reached)
            self._gone.append(segment)
        self._ended.clear()
