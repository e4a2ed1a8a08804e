"""`callgate restore`: what `backup.py` wrote, back in its places.

Rules
1. Before anything is restored the whole archive is read and compared with its manifest.
2. Only regular files with the names below are taken out, never through a link, into new folders; what was in
   their place is renamed, never removed.
3. The record goes to where the restored configuration has it. That folder may be a volume, which cannot be
   renamed: what is in it goes to a folder in it.
"""

import gzip
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self

import msgspec

from callgate.app.commands.backup import (
    CHUNK_BYTES,
    FORMAT,
    LOCK,
    MANIFEST,
    BackupEntry,
    BackupManifest,
    Digested,
    Tell,
)
from callgate.app.running import find_running
from callgate.config.draft import record_path
from callgate.config.sources.file import ConfigFile, read_config_text
from callgate.config.whole_file import whole_file
from callgate.model.error_codes import CALLER_BAD_PARAMS, SETUP_STATE_FOLDER, SETUP_STATE_NEWER
from callgate.model.errors import CallerError, SetupError

_NAMES = re.compile(
    r"config/callgate\.(?:toml|json|lock)|state/state\.(?:db|key)"
    r"|record/\d{4}-\d{2}-\d{2}(?:\.\d{1,4})?\.duckdb(?:\.wal)?"
)
# What only lengthens the next header, or describes holes: tarfile reads such a one into the memory, however
# long it is, and each of a row of them inside of the one before. `backup.py` writes none.
_HEADERS_OF_HEADERS = frozenset(
    (
        *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME),
        *(tarfile.GNUTYPE_LONGLINK, tarfile.GNUTYPE_SPARSE),
    )
)
_MAX_MANIFEST_BYTES = 16 * 1024 * 1024  # a line for each day, for more years than anybody keeps


def check_backup(archive: Path, tell: Tell) -> BackupManifest:
    """Reads all of it. Raises CallerError for no whole backup, SetupError for one of a newer Callgate."""
    found: dict[str, BackupEntry] = {}
    manifest: BackupManifest | None = None
    with _members(archive) as members:
        for member, data in members:
            if manifest is not None:
                raise _unfit(archive, f"something follows its {MANIFEST}")
            if member.name == MANIFEST:
                manifest = _read_manifest(archive, data, member.size)
                continue
            if member.name in found:
                raise _unfit(archive, f"{member.name[:100]!r} does not belong into a backup")
            tell(f"checking {member.name}")
            digested = Digested(data)
            while digested.read(CHUNK_BYTES):
                pass
            found[member.name] = BackupEntry(member.size, digested.sha256)
    if manifest is None:
        raise _unfit(archive, "it is cut: its manifest is missing")
    if manifest.entries != found:
        names = sorted({*found, *manifest.entries})
        differing = [name for name in names if found.get(name) != manifest.entries.get(name)]
        raise _unfit(archive, f"{differing[0]} is not what its manifest says")
    return manifest


def restore(archive: Path, state: Path, config: Path, *, overwrites: bool, tell: Tell) -> list[Path]:
    """What was in the place of what is restored, under its new names. Raises as `check_backup`."""
    manifest = check_backup(archive, tell)
    has_config = any(name.startswith("config/") for name in manifest.entries)
    _check_place(state, config if has_config else None, overwrites=overwrites)
    state.parent.mkdir(parents=True, exist_ok=True)
    left = dict(manifest.entries)
    made = Path(tempfile.mkdtemp(prefix=f".{state.name}.restoring-", dir=state.parent))
    try:
        (made / "state").mkdir(mode=0o700)
        with _members(archive) as members:
            for member, data in members:
                if member.name != MANIFEST:
                    tell(f"restoring {member.name}")
                    digested = Digested(data)
                    _write(_target(made, member.name), digested)
                    # It is read for the second time: who can write to it may have put another one there.
                    if BackupEntry(member.size, digested.sha256) != left.pop(member.name, None):
                        raise _unfit(archive, f"{member.name} is not what its manifest says")
        if left:
            raise _unfit(archive, f"{min(left)} is not what its manifest says")
        record = _record_elsewhere(made, state, config)
        if record is not None:
            _check_record(record, state, overwrites=overwrites)
        return _put_in_place(made, state, config, record)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _target(made: Path, name: str) -> Path:
    room, _, file = name.partition("/")
    folders = {
        "state": made / "state",
        "record": made / "state" / "record" / "days",
        "config": made / "config",
    }
    return folders[room] / file


def _write(path: Path, data: Digested) -> None:
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(data, file, CHUNK_BYTES)
        file.flush()
        os.fsync(file.fileno())


def _record_elsewhere(made: Path, state: Path, config: Path) -> Path | None:
    """The record's folder, if there is a record and it is not in the state folder. Raises ConfigProblems."""
    if not (made / "state" / "record").is_dir():
        return None
    written = [path for path in (made / "config").glob("callgate.*") if path.name != LOCK]
    file = read_config_text(config, written[0].read_text("utf-8-sig")) if written else ConfigFile()
    record = record_path(file, os.environ)
    return record if record is not None and record.resolve() != (state / "record").resolve() else None


def _put_in_place(made: Path, state: Path, config: Path, record: Path | None) -> list[Path]:
    moved: list[Path] = []
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")

    def make_room(path: Path) -> None:
        if path.is_symlink() or path.exists():
            before = path.with_name(f"{path.name}.before-{stamp}")
            path.rename(before)
            moved.append(before)

    if state.exists() and not any(state.iterdir()):
        state.rmdir()
    make_room(state)
    (made / "state").rename(state)
    if record is not None:
        if _has_entries(record):
            before = record / f"before-{stamp}"
            entries = list(record.iterdir())
            before.mkdir(mode=0o700)
            for entry in entries:
                entry.rename(before / entry.name)
            moved.append(before)
        record.mkdir(mode=0o700, parents=True, exist_ok=True)  # in the state folder it is gone again
        shutil.move(state / "record" / "days", record / "days")
        (state / "record").rmdir()
    for file in sorted((made / "config").iterdir()) if (made / "config").is_dir() else ():
        target = config.with_name(LOCK) if file.name == LOCK else config
        config.parent.mkdir(parents=True, exist_ok=True)
        make_room(target)
        with whole_file(target) as whole, file.open("rb") as data:
            shutil.copyfileobj(data, whole)
    return moved


def _check_place(state: Path, config: Path | None, *, overwrites: bool) -> None:
    if state.is_symlink() or (state.exists() and not state.is_dir()):
        raise SetupError(
            SETUP_STATE_FOLDER, f"{state} is not a folder", hint="Choose another with --state-dir"
        )
    if state.is_dir() and (running := find_running(state)) is not None:
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"A gateway runs on {state} (pid {running.pid})",
            hint="Stop it first, or choose another folder with --state-dir",
        )
    taken = [state] if _has_entries(state) else []
    taken += [config] if config is not None and (config.exists() or config.is_symlink()) else []
    _check_taken(taken, overwrites=overwrites)


def _check_record(record: Path, state: Path, *, overwrites: bool) -> None:
    """Before anything is moved: a folder that cannot be used would leave half of it in place."""
    if record.resolve().is_relative_to(state.resolve()) and record.resolve() != state.resolve():
        return  # comes and goes with the state folder
    problem = None
    try:
        record.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot be used as a folder ({error.strerror})"
    else:
        if not os.access(record, os.W_OK | os.X_OK):
            problem = "cannot be written"
        elif state.resolve().is_relative_to(record.resolve()):
            problem = f"has the state folder {state} in it"
    if problem is not None:
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"[record] path of the restored configuration, {record}, {problem}",
            hint="Set CALLGATE_RECORD_PATH to another folder, and restore again",
        )
    _check_taken([record] if _has_entries(record) else [], overwrites=overwrites)


def _has_entries(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _check_taken(taken: list[Path], *, overwrites: bool) -> None:
    if taken and not overwrites:
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"{' and '.join(map(str, taken))} would be replaced",
            hint="Choose other places with --state-dir and --config, or add --overwrite (renames them)",
        )


class _PlainHead(tarfile.TarInfo):
    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        head = super().frombuf(buf, encoding, errors)
        if head.type in _HEADERS_OF_HEADERS:
            raise tarfile.ReadError
        return head


@contextmanager
def _members(archive: Path) -> Generator[Generator[tuple[tarfile.TarInfo, IO[bytes]]]]:
    """Regular files only, with the names above. Raises CallerError for what cannot be read."""

    def each(tar: tarfile.TarFile) -> Generator[tuple[tarfile.TarInfo, IO[bytes]]]:
        for member in tar:
            data = tar.extractfile(member) if member.isreg() else None
            if data is None:
                raise _unfit(archive, f"{member.name[:100]!r} is not a regular file")
            if member.name != MANIFEST and not _NAMES.fullmatch(member.name):
                raise _unfit(archive, f"{member.name[:100]!r} does not belong into a backup")
            yield member, data

    try:
        with tarfile.open(archive, mode="r|gz", tarinfo=_PlainHead) as tar:
            yield each(tar)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, UnicodeError) as problem:
        raise _unfit(archive, "it is cut or damaged") from problem
    except OSError as problem:
        raise _unfit(archive, f"it cannot be read ({problem.strerror or 'damaged'})") from problem


def _read_manifest(archive: Path, data: IO[bytes], size_bytes: int) -> BackupManifest:
    if size_bytes > _MAX_MANIFEST_BYTES:
        raise _unfit(archive, "its manifest is too large")
    try:
        manifest = msgspec.json.decode(data.read(), type=BackupManifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise _unfit(archive, "its manifest cannot be read") from problem
    if manifest.format > FORMAT:
        raise SetupError(
            SETUP_STATE_NEWER,
            f"{archive} was written by a newer Callgate ({manifest.callgate[:50]})",
            hint="Restore it with that version",
        )
    return manifest


def _unfit(archive: Path, why: str) -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, f"{archive} is no whole backup: {why}", hint="Use another backup")
