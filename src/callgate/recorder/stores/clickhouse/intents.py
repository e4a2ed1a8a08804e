"""What is about to be sent to ClickHouse, on our own disk, for as long as it is not known to be stored.

ClickHouse has no transaction whose end could be asked for. So the bytes of an INSERT are kept beside the
journal before they are sent, and go once its rows were counted. Whoever finds some, this process or another
on the same folder, counts, and sends the same bytes again: never others in their place.
"""

import fcntl
import os
import time
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import msgspec

from callgate.recorder.folder import files_in
from callgate.recorder.stores.clickhouse.insert_rows import Insert

_SUFFIX = ".insert"
# One process at a time sends the rows of a folder. Whoever waits longer says so, and tries again later.
_PATIENCE_S = 20.0
_LOOK_EVERY_S = 0.05


class _Head(msgspec.Struct):
    writer: str
    batch: str
    stored_on: date
    rows: int
    crc: int


class Intents:
    """Of one folder. Only who holds the lock may look at them or change them."""

    def __init__(self, record_folder: Path) -> None:
        self._folder = record_folder / "inserts"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Raises TimeoutError when another process on the same folder has it for too long."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline_mono = time.monotonic() + _PATIENCE_S
        try:
            while not _is_taken(lock):
                if time.monotonic() > deadline_mono:
                    raise TimeoutError("another process on this folder is sending for a long time")
                time.sleep(_LOOK_EVERY_S)
            yield
        finally:
            os.close(lock)

    @property
    def are_there(self) -> bool:
        return bool(files_in(self._folder, _SUFFIX))

    def found(self) -> Iterator[Insert]:
        """What somebody was about to send. A file that is not whole says nothing: it goes."""
        for path in files_in(self._folder, _SUFFIX):
            if (insert := _read(path)) is not None:
                yield insert
            else:
                path.unlink()

    def keep(self, insert: Insert) -> None:
        head = _Head(insert.writer, insert.batch, insert.stored_on, insert.rows, zlib.crc32(insert.body))
        path = self._path(insert)
        draft = path.with_suffix(".part")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(head) + b"\n")
            file.write(insert.body)
        draft.rename(path)

    def drop(self, insert: Insert) -> None:
        self._path(insert).unlink(missing_ok=True)

    def _path(self, insert: Insert) -> Path:
        return self._folder / f"{insert.writer}{_SUFFIX}"


def _is_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(path: Path) -> Insert | None:
    first, _, body = path.read_bytes().partition(b"\n")
    try:
        head = msgspec.json.decode(first, type=_Head)
    except msgspec.DecodeError:
        return None
    if zlib.crc32(body) != head.crc:
        return None
    return Insert(head.writer, head.batch, head.stored_on, head.rows, body)
