"""`callgate backup`: configuration, state and record as one archive. Counterpart: `restore_backup.py`.

Rules
1. The record comes from the gateway that runs, with everything settled when it was asked; without one, from
   the files. `state.db` is copied by SQLite itself, so nobody has to stop.
2. The manifest comes last, with the size and digest of everything before it: an archive without it is cut.
"""

import asyncio
import gzip
import hashlib
import io
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

import callgate
from callgate.app.commands.record_access import record_api
from callgate.config.load import Loaded
from callgate.config.paths import state_folder

FORMAT = 1
MANIFEST = "manifest.json"
LOCK, _STATE_DB, _STATE_KEY = "callgate.lock", "state.db", "state.key"
CHUNK_BYTES = 1024 * 1024
_GZIP_LEVEL = 1  # the record is compressed already

Tell = Callable[[str], None]


class BackupEntry(msgspec.Struct, frozen=True):
    size_bytes: int
    sha256: str


class BackupManifest(msgspec.Struct, frozen=True):
    format: int
    callgate: str  # the version that wrote it
    made_at: str
    entries: dict[str, BackupEntry]
    left_out: tuple[str, ...] = ()  # in sentences


async def back_up(loaded: Loaded, out: IO[bytes], tell: Tell) -> BackupManifest:
    """Writes the archive. `tell`: what is being done. Raises SetupError and OSError."""
    state = state_folder(loaded.config)
    left_out: list[str] = []
    with tempfile.TemporaryDirectory(prefix="callgate-backup-") as passing, _Writer(out) as writer:
        if loaded.origin is not None:
            suffix = ".json" if loaded.origin.suffix == ".json" else ".toml"
            writer.add(f"config/callgate{suffix}", loaded.origin, tell)
            if (lock := loaded.origin.with_name(LOCK)).is_file():
                writer.add(f"config/{LOCK}", lock, tell)
        if (state / _STATE_DB).is_file():
            copy = Path(passing) / _STATE_DB
            await asyncio.to_thread(_copy_database, state / _STATE_DB, copy)
            writer.add(f"state/{_STATE_DB}", copy, tell)
        if (state / _STATE_KEY).is_file():
            writer.add(f"state/{_STATE_KEY}", state / _STATE_KEY, tell)
        if not loaded.config.record.enabled:
            left_out.append("Calls are not recorded here.")
        elif loaded.config.store.is_database:
            left_out.append(f"The record is in {loaded.config.store}: use that database's own backup.")
        else:
            await _add_record(loaded, Path(passing), writer, tell)
        return writer.finish(tuple(left_out))


async def _add_record(loaded: Loaded, passing: Path, writer: "_Writer", tell: Tell) -> None:
    spool = passing / "record.tar"
    with spool.open("wb") as file:
        async with record_api(loaded) as api:
            received_bytes = 0
            async for piece in api.stream("record", "files"):
                await asyncio.to_thread(file.write, piece)
                received_bytes += len(piece)
                tell(f"record: {received_bytes // 1024 // 1024} MiB read")
    with tarfile.open(spool) as archive:
        for member in archive:
            data = archive.extractfile(member)
            assert data is not None, "the gateway sends regular files"
            writer.add_data(f"record/{member.name}", data, member.size, tell)


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as there, closing(sqlite3.connect(target)) as here:
        there.backup(here)


class _Writer:
    def __init__(self, out: IO[bytes]) -> None:
        self._gzip = gzip.GzipFile(fileobj=out, mode="wb", compresslevel=_GZIP_LEVEL)
        # In this format a file of any size has one header: `restore_backup` takes no others.
        self._tar = tarfile.open(  # noqa: SIM115 - closed by __exit__
            fileobj=self._gzip, mode="w|", format=tarfile.GNU_FORMAT
        )
        self._entries: dict[str, BackupEntry] = {}

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self._tar.close()
        self._gzip.close()

    def add(self, name: str, path: Path, tell: Tell) -> None:
        with path.open("rb") as file:
            self.add_data(name, file, os.fstat(file.fileno()).st_size, tell)

    def add_data(self, name: str, data: IO[bytes], size_bytes: int, tell: Tell) -> None:
        tell(name)
        head = tarfile.TarInfo(name)
        head.size, head.mode = size_bytes, 0o600
        digested = Digested(data)
        self._tar.addfile(head, digested)
        self._entries[name] = BackupEntry(size_bytes, digested.sha256)

    def finish(self, left_out: tuple[str, ...]) -> BackupManifest:
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = BackupManifest(FORMAT, callgate.__version__, made_at, self._entries, left_out)
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        head = tarfile.TarInfo(MANIFEST)
        head.size, head.mode = len(text), 0o600
        self._tar.addfile(head, io.BytesIO(text))
        return manifest


class Digested(io.RawIOBase):
    """What is read of it is also digested."""

    def __init__(self, data: IO[bytes]) -> None:
        self._data = data
        self._digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        piece = self._data.read(size)
        self._digest.update(piece)
        return piece

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()
