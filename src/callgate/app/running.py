"""How the processes of one state folder find each other: the address file of the gateway that runs there."""

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

import callgate
from callgate.config.load import Loaded
from callgate.config.private_folder import check_private_folder
from callgate.config.show import fingerprint
from callgate.config.specs.config import Config

_FILE = "gateway.json"


class Running(msgspec.Struct, frozen=True):
    pid: int
    url: str  # of the HTTP listener, without a path
    socket_path: str  # of the local socket
    fingerprint: str  # of its configuration
    version: str
    # That it reads, or would read if one came to be; none: its command line says everything.
    files: tuple[str, ...] = ()

    def connect(self) -> socket.socket | None:
        """A connection to its local socket; None when nobody is there any more."""
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            stream.connect(self.socket_path)
        except OSError:
            stream.close()
            return None
        return stream

    @property
    def is_alive(self) -> bool:
        stream = self.connect()
        if stream is not None:
            stream.close()
        return stream is not None

    def with_config(self, config: Config, files: Iterable[Path]) -> "Running":
        """The same process, which serves this now."""
        return msgspec.structs.replace(self, fingerprint=fingerprint(config), files=_resolved(files))

    def runs(self, config: Config) -> bool:
        return self.fingerprint == fingerprint(config)


def describe_self(loaded: Loaded, url: str, socket_path: Path) -> Running:
    files = _resolved(loaded.files)
    return Running(
        os.getpid(), url, str(socket_path), fingerprint(loaded.config), callgate.__version__, files
    )


def _resolved(files: Iterable[Path]) -> tuple[str, ...]:
    return tuple(str(file.resolve()) for file in files)


def check_state_folder(folder: Path) -> None:
    """Raises SetupError and OSError."""
    check_private_folder(folder, "The state folder", "CALLGATE_STATE_DIR or [server] state_dir")


def find_running(state_folder: Path) -> Running | None:
    """The gateway of this state folder, if one is running. Raises SetupError when others could have written
    its address: our token would be theirs."""
    try:
        check_state_folder(state_folder)
        running = msgspec.json.decode((state_folder / _FILE).read_bytes(), type=Running)
    except (OSError, msgspec.DecodeError):
        return None
    return running if running.is_alive else None


def announce(state_folder: Path, running: Running) -> None:
    path = state_folder / _FILE
    draft = path.with_suffix(f".{running.pid}")
    draft.touch(mode=0o600)
    draft.write_bytes(msgspec.json.encode(running))
    draft.replace(path)


def forget_running(state_folder: Path, pid: int) -> None:
    """What a process of ours announced and could not take back."""
    with suppress(OSError, msgspec.DecodeError):
        running = msgspec.json.decode((state_folder / _FILE).read_bytes(), type=Running)
        if running.pid == pid:
            withdraw(state_folder, running)


def withdraw(state_folder: Path, running: Running) -> None:
    """Take our own announcement back, and nobody else's."""
    path = state_folder / _FILE
    with suppress(OSError, msgspec.DecodeError):
        found = msgspec.json.decode(path.read_bytes(), type=Running)
        if (found.pid, found.socket_path) == (running.pid, running.socket_path):
            path.unlink()


def own_token() -> str | None:
    """By which this process is somebody else than the person at this machine."""
    return os.environ.get("CALLGATE_TOKEN") or None
