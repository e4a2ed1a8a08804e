"""The record's folder, for our eyes only."""

import logging
import os
import uuid
from contextlib import suppress
from pathlib import Path

from callgate.config.private_folder import check_private_folder

_log = logging.getLogger(__name__)


def journals_in(folder: Path) -> Path:
    return folder / "journal"


def make_record_folder(folder: Path) -> Path:
    """Made if need be, closed to others; returns the journals' folder in it. Raises OSError, and SetupError
    when others own it or may write to it."""
    journal = journals_in(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_mode & 0o077:
        # `[record] path` may name a folder that others use too (/tmp, a home): that one is not ours to close.
        is_ours = found.st_uid == os.geteuid() and (journal.is_dir() or not any(folder.iterdir()))
        if is_ours:
            folder.chmod(0o700)
        else:
            _log.warning(
                "other users may enter %s, which holds the record: give it a folder of its own", folder
            )
    check_private_folder(folder, "The record's folder", "[record] path")
    journal.mkdir(exist_ok=True, mode=0o700)
    return journal


def files_in(folder: Path, ending: str) -> list[Path]:
    """By name; none where there is no such folder. Raises OSError.

    From Python 3.13 on `Path.glob` says of a folder that cannot be read that nothing is in it: without a free
    descriptor there would be no journal to store, and no day to show.
    """
    try:
        with os.scandir(folder) as found:
            names = sorted(one.name for one in found if one.name.endswith(ending))
    except FileNotFoundError:
        return []
    return [folder / name for name in names]


def folder_id(folder: Path) -> str:
    """What a shared store knows the record's folder by, wherever it is moved to. Made at first use."""
    path = folder / "store.id"
    if not path.exists():
        made = folder / f"store.id.{uuid.uuid4().hex}"
        made.touch(mode=0o600)
        made.write_text(uuid.uuid4().hex)
        with suppress(FileExistsError):  # another process was first
            path.hardlink_to(made)
        made.unlink()
    return path.read_text()
