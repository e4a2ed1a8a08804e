"""Whether a folder is safe to keep the record and the gateway's address in: ours, and no other's to write to.

Who may write there decides which gateway our commands talk to, and send their token; with which key states
are sealed; and what the record says. Looks; makes nothing.
"""

import os
import stat
from pathlib import Path

from callgate.model.error_codes import SETUP_STATE_FOLDER
from callgate.model.errors import SetupError


def check_private_folder(folder: Path, what: str, elsewhere: str) -> None:
    """Of a folder that is there. Raises SetupError and OSError.

    `what`: the folder, as an error names it; `elsewhere`: how the operator chooses another.
    """
    real = folder.resolve(strict=True)
    found = real.stat()
    if found.st_uid != os.geteuid():
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"{what} {folder} belongs to another user (uid {found.st_uid}; we run as {os.geteuid()})",
            hint=f"Give it to us with: chown {os.geteuid()} {folder}; or choose another with {elsewhere}",
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"{what} {folder} may be written to by other users",
            hint=f"Close it with: chmod go-w {folder}; or choose another with {elsewhere}",
        )
    # Whoever may write above it can put another in its place; not so where the sticky bit is set (/tmp).
    for above in {*folder.absolute().parents, *real.parents}:
        mode = above.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise SetupError(
                SETUP_STATE_FOLDER,
                f"{what} {folder} is inside {above}, which everybody may write to",
                hint=f"Close that with: chmod o-w {above}; or choose another with {elsewhere}",
            )
