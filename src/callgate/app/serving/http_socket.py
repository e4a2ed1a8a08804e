"""The Unix socket of `[server] listen = "unix:…"`: opened before anyone serves on it, and removed at the end.

Rules
1. A file that a gateway left behind is replaced only when nobody listens there. Anything that is no socket
   stays, and we do not start.
2. Rights are set between bind and listen: until then nobody can connect.
3. Two gateways that start at once do not replace each other's: the folder is locked meanwhile.
4. At the end the file is removed if it is still ours.
"""

import errno
import fcntl
import os
import shutil
import socket
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from callgate.config.specs.config import Config
from callgate.edge.listener import BACKLOG
from callgate.model.error_codes import SETUP_PORT
from callgate.model.errors import SetupError

_OWNER_ONLY = 0o600
_AND_GROUP = 0o660


def open_http_socket(config: Config) -> "HttpSocket | None":
    """None: it listens on a port. Raises SetupError."""
    path = config.server.listen.socket_path
    return None if path is None else HttpSocket(path, config.server.socket_group)


class HttpSocket:
    def __init__(self, path: Path, group: str | None) -> None:
        """Listens. `group`: whose members may connect, besides this user. Raises SetupError."""
        self._path = path
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.setblocking(False)
            with _locked(path.parent):
                _make_way(path)
                self.sock.bind(str(path))
                if group is not None:
                    shutil.chown(path, group=group)
                path.chmod(_OWNER_ONLY if group is None else _AND_GROUP)
                self._identity = _identity(path)
                self.sock.listen(BACKLOG)
        except (OSError, LookupError) as problem:
            self.sock.close()
            reason = os.strerror(problem.errno or 0) if isinstance(problem, OSError) else str(problem)
            raise _cannot_listen(path, reason.lower()) from problem
        except BaseException:
            self.sock.close()
            raise

    def remove(self) -> None:
        """The process that opened it calls this, once nobody serves on it any more."""
        self.sock.close()
        with suppress(OSError):
            if _identity(self._path) == self._identity:
                self._path.unlink()


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(fd)


def _make_way(path: Path) -> None:
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise _cannot_listen(path, "there is a file that is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
        visitor.setblocking(False)  # a full queue is somebody's too
        found = visitor.connect_ex(str(path))
    if found != errno.ECONNREFUSED:
        raise _cannot_listen(path, os.strerror(found or errno.EADDRINUSE).lower())
    path.unlink()


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _cannot_listen(path: Path, reason: str) -> SetupError:
    return SetupError(
        SETUP_PORT,
        f"Cannot listen on unix:{path}: {reason}",
        hint="Stop what listens there, or write another path in [server] listen",
    )
