"""From the journals of all processes on one folder into the store, in the process with the store's lock."""

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path

from callgate.ports.record_store import AlreadyStoredError, RecordStore
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.foreign_rows import ForeignRows, Write
from callgate.recorder.flush.tokens import TokenCounter
from callgate.recorder.journal.journal import (
    is_abandoned,
    is_of_newer_version,
    is_read_to_its_end,
    read_frames,
    segments,
    writer_of,
)

_log = logging.getLogger(__name__)


class StoreLock:
    """One process at a time drains the journals of a folder (and may open its DuckDB files); the lock says
    which, and dies with its process."""

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


class RoundCutError(Exception):
    """What is left is for another round, which does not give way."""


class StoredSegments:
    """Segments that get no more rows and are stored to their end. Some stores may forget their last commits
    (a standby takes over), so a segment stays until that is no longer to be feared."""

    def __init__(self, kept_s: float = 0.0) -> None:
        self._kept_s = kept_s
        self._since_mono: dict[str, float] = {}
        self.needs_room = False  # then they go at once

    def __contains__(self, segment: Path) -> bool:
        return segment.name in self._since_mono

    def add(self, segment: Path) -> bool:
        """Whether it was not among them yet."""
        is_new = segment not in self
        self._since_mono.setdefault(segment.name, time.monotonic())
        return is_new

    def may_go(self, segment: Path) -> bool:
        stored_mono = self._since_mono.get(segment.name, time.monotonic())
        return self.needs_room or time.monotonic() - stored_mono >= self._kept_s

    def discard(self, segment: Path) -> None:
        self._since_mono.pop(segment.name, None)


def has_rows(folder: Path, *, or_ended: bool = False) -> bool:
    """Whether there may be a row to store; `or_ended`: or a segment to put away."""
    return any(
        not is_read_to_its_end(segment, 0) or (or_ended and is_abandoned(segment))
        for segment in segments(folder)
    )


def journalled_bytes(folder: Path) -> int:
    """In all segments together, stored or not."""
    size = 0
    for segment in segments(folder):
        with suppress(FileNotFoundError):  # somebody else may have put it away
            size += segment.stat().st_size
    return size


class Drain:
    """Of one folder into one store."""

    def __init__(
        self,
        folder: Path,
        store: RecordStore[Batch],
        tokens: TokenCounter | None = None,
        foreign_rows: ForeignRows | None = None,
    ) -> None:
        """`foreign_rows`: numbers and publishes other processes' rows."""
        self._folder = folder
        self._store = store
        self._tokens = tokens or TokenCounter()
        self._foreign_rows = foreign_rows
        self._reached: dict[str, int] = {}  # how far each segment is stored, as far as we know
        self._only: str | None = None
        self.batches = self.rows = 0  # that we stored
        self.stored = StoredSegments(store.traits.keeps_segments_s)

    def run(self, only: str | None = None, is_cut: Callable[[], bool] = lambda: False) -> bool:
        """Everything journalled so far, in every segment, or in those of one writer; whether a segment came
        to its end. Raises AlreadyStoredError, when it is to be run again, StoreBusyError, and RoundCutError
        if `is_cut` says so after a batch."""
        self._only = only
        self._is_cut = is_cut
        found = self._segments()
        watermarks = self._store.watermarks([path.name for path in found])
        self._reached = {path.name: watermarks.get(path.name, 0) for path in found}
        has_ended = False
        conflict: AlreadyStoredError | None = None
        for several, is_backlog in self._in_order(found):
            try:
                has_ended |= self._drain(several, is_backlog)
            except AlreadyStoredError as stored:  # the others' rows need not wait for that
                conflict = stored
        if conflict is not None:
            raise conflict
        return has_ended

    def _in_order(self, found: list[Path]) -> Iterator[tuple[list[Path], bool]]:
        """Segments of one writer each, and whether they are a backlog. A shared store may have been away for
        long: what is written now comes first, and again between older segments, the oldest of which come
        first."""
        if not self._store.traits.is_shared:
            yield from ((list(of_writer), False) for _, of_writer in groupby(found, writer_of))
            return
        live = [path for path in found if not is_abandoned(path)]
        yield from (([path], False) for path in live)
        for path in sorted(set(found) - set(live), key=_written_at):
            is_stored = is_read_to_its_end(path, self._reached[path.name])
            yield [path], not is_stored
            if not is_stored:
                yield from (([path], False) for path in live)

    def waiting_bytes(self) -> int:
        """What is journalled and not stored yet. From any thread."""
        size, reached = 0, self._reached
        for segment in self._segments():
            with suppress(FileNotFoundError):
                offset = reached.get(segment.name, 0)
                if not is_read_to_its_end(segment, offset):
                    size += segment.stat().st_size - offset
        return size

    def _segments(self) -> list[Path]:
        return [path for path in segments(self._folder) if self._only in (None, writer_of(path))]

    def living_writers(self) -> set[str]:
        """Writers that may still write, or whose rows are not drained yet."""
        return {writer_of(segment) for segment in segments(self._folder) if segment not in self.stored}

    def _drain(self, of_writer: list[Path], is_backlog: bool) -> bool:
        write = self._write
        if self._foreign_rows is not None:
            write = self._foreign_rows.writing(of_writer[0], write)
        drained = _DrainedWriter(write, self._put_away, self._tokens, self._is_cut, is_backlog=is_backlog)
        for segment in of_writer:
            drained.read(segment, self._reached[segment.name])
        return drained.finish()

    def _write(self, batch: Batch) -> None:
        self._store.write(batch)
        self.batches += 1
        self.rows += batch.events
        self._reached.update(batch.reached)

    def _put_away(self, segment: Path, reached: int) -> bool:
        """A segment that is stored as far as it can be read. Whether that is new."""
        is_new = self.stored.add(segment)
        if is_of_newer_version(segment):
            if is_new:
                _log.error(
                    "%s was written by a newer Callgate and is left as it is: start that version again to"
                    " have its calls in the record", segment,
                )  # fmt: skip
        elif self.stored.may_go(segment):
            _remove(segment, reached)
            self._store.forget(segment.name)
            self.stored.discard(segment)
        return is_new


def _written_at(segment: Path) -> tuple[float, str]:
    """When it was written to last; those of one writer in their order."""
    try:
        return segment.stat().st_mtime, segment.name
    except FileNotFoundError:  # somebody else put it away
        return 0.0, segment.name


def _remove(segment: Path, reached: int) -> None:
    """Only what was read to its end may go; the rest is evidence, and perhaps rows to be saved by hand."""
    if is_read_to_its_end(segment, reached):
        segment.unlink()
        return
    kept = segment.rename(segment.with_suffix(".damaged"))
    _log.error("a journal is damaged after byte %d; the rest of it is not recorded: see %s", reached, kept)


class _DrainedWriter:
    """All segments of one writer, in their order: a batch goes on from one to the next."""

    def __init__(
        self,
        write: Write,
        put_away: Callable[[Path, int], bool],
        tokens: TokenCounter,
        is_cut: Callable[[], bool],
        *,
        is_backlog: bool,
    ) -> None:
        self._write = write
        self._put_away = put_away
        self._tokens = tokens
        self._is_cut = is_cut
        self._new_batch = partial(Batch, is_backlog=is_backlog)
        self._batch = self._new_batch()
        self._ended: list[tuple[Path, int]] = []  # segments that get no more, and how far they were read
        self._has_ended = False

    def read(self, segment: Path, offset: int) -> None:
        # Asked before reading: a segment that ends in between is drained to its end the next time.
        is_ended = is_abandoned(segment)
        if not is_read_to_its_end(segment, offset):
            for frame in read_frames(segment, offset):
                self._batch.add(segment.name, frame, offset)
                offset = frame.end
                if self._batch.is_complete:
                    self._store()
                    if self._is_cut():
                        raise RoundCutError
        if is_ended:
            self._ended.append((segment, offset))

    def finish(self) -> bool:
        """Whether a segment came to its end, now that all of them is stored."""
        if not self._batch.is_empty:
            self._tokens.fill_in(self._batch)
        self._store()
        return self._has_ended

    def _store(self) -> None:
        if not self._batch.is_empty:
            self._write(self._batch)
        self._batch = self._new_batch()
        for segment, reached in self._ended:
            self._has_ended |= self._put_away(segment, reached)
        self._ended.clear()
