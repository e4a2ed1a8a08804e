"""The state folder, and the key in it that seals what travels through clients."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from callgate.app.running import check_state_folder
from callgate.config.paths import state_folder
from callgate.config.secret import Secret
from callgate.config.specs.config import Config
from callgate.model.error_codes import SETUP_STATE_FOLDER
from callgate.model.errors import SetupError

_KEY_FILE = "state.key"
_KEY_BYTES = 32


def make_state_folder(config: Config) -> Path:
    folder = state_folder(config)
    make_folder(folder)
    return folder


def make_folder(folder: Path) -> None:
    """Raises SetupError when it cannot be made, or is not ours alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_state_folder(folder)
    except OSError as problem:
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"The state folder {folder} cannot be made: {problem.strerror}",
            hint="Choose another with CALLGATE_STATE_DIR or [server] state_dir",
        ) from problem


def state_key(configured: Secret | None, state: Path) -> bytes:
    """Raises SetupError when it can be neither read nor made."""
    if configured is not None:
        return configured.get_secret_value().encode()
    path = state / _KEY_FILE
    try:
        if not path.exists():
            _make(path)
        key = path.read_bytes()
        if len(key) == _KEY_BYTES:
            return key
        path.unlink()  # cut short by a full disk: states sealed with it were never given out
        _make(path)
        return path.read_bytes()
    except OSError as problem:
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"The key {path} cannot be read or made: {problem.strerror}",
            hint="Make the folder writable, or set [server] state_key",
        ) from problem


def _make(path: Path) -> None:
    """Whole or not at all, and the first of several processes wins: all of them then read the same key."""
    draft = path.with_name(f"{_KEY_FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:  # which writes all of it, or raises
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(descriptor)
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
