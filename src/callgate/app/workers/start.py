"""`callgate serve --workers N`: what is checked and opened once, before the supervisor starts the workers."""

import fcntl
import os
import shutil
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from callgate.app.loop import run_loop
from callgate.app.running import find_running
from callgate.app.serve import Serving, explained, moved_from_port, ports_to_try
from callgate.app.serving.http_socket import HttpSocket, open_http_socket
from callgate.app.setup.setup_problems import setup_problems
from callgate.app.state_folder import make_state_folder, state_key
from callgate.app.worker_parts import WorkerPlace
from callgate.app.workers.supervisor import Supervisor
from callgate.app.workers.worker_sockets import WorkerSockets
from callgate.config.load import Loaded
from callgate.config.problem import ConfigProblems
from callgate.config.specs.listen_address import ListenAddress
from callgate.model.error_codes import SETUP_STATE_FOLDER
from callgate.model.errors import SetupError
from callgate.replicas.file_directory import prepare
from callgate.this_process import keep_memory_private

_FOLDER = "workers"
_PREFIX = "callgate-"
# Workers of a supervisor that was killed end by themselves, and hold its lock until then.
_ENDING_S = 5.0
_LOOK_S = 0.05


def run_workers(loaded: Loaded, on_ready: Callable[[Serving], None]) -> int:
    """Returns the signal that asked us to stop, SIGINT or SIGTERM. Raises SetupError."""
    config = loaded.config
    if problems := list(setup_problems(config)):
        raise ConfigProblems(problems, loaded.origin, loaded.notes)
    keep_memory_private()
    state = make_state_folder(config)
    if (other := find_running(state)) is not None:
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"A gateway (pid {other.pid}, {other.url}) already runs on the state folder {state}",
            hint="Several workers need a state folder of their own: stop that one, or use --state-dir",
        )
    state_key(config.server.state_key, state)
    files = state / _FOLDER
    try:
        prepare(files)
        lock = _only_one(files)
    except (OSError, sqlite3.Error) as problem:
        raise SetupError(
            SETUP_STATE_FOLDER,
            f"The folder of the workers, {files}, cannot be used: {problem}",
            hint="Choose another with CALLGATE_STATE_DIR or [server] state_dir",
        ) from problem
    try:
        return _serve(loaded, state, files, on_ready)
    finally:
        os.close(lock)


def _serve(loaded: Loaded, state: Path, files: Path, on_ready: Callable[[Serving], None]) -> int:
    asked = loaded.config.server.listen
    http_socket = open_http_socket(loaded.config)
    listening = _open_sockets(loaded, state, http_socket)
    url = replace(asked, port=listening.port).url
    sockets = _sockets_folder(files)
    moved = moved_from_port(loaded.config, listening.port)
    lead = WorkerPlace(0, loaded.config.server.workers, url, (), state, files, sockets, os.getpid())
    try:
        supervisor = Supervisor(
            loaded, listening, lead, lambda health: on_ready(Serving(loaded, url, moved, None, health))
        )
        stopped_by = supervisor.run()
    finally:
        if http_socket is not None:
            http_socket.remove()
        shutil.rmtree(sockets, ignore_errors=True)
        _note_of(files).unlink(missing_ok=True)
    if supervisor.killed_by is not None:  # as if nobody had a handler
        signal.signal(supervisor.killed_by, signal.SIG_DFL)
        os.kill(os.getpid(), supervisor.killed_by)
    return stopped_by


def _only_one(files: Path) -> int:
    """Raises SetupError when another supervisor is at work here, and goes on to be."""
    fd = os.open(files / "supervisor.lock", os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + _ENDING_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            if time.monotonic() < until:
                time.sleep(_LOOK_S)
                continue
            os.close(fd)
            raise SetupError(
                SETUP_STATE_FOLDER,
                f"Another gateway starts or stops on the state folder {files.parent}",
                hint="Wait until it has ended, or use --state-dir",
            ) from problem
        return fd


def _open_sockets(loaded: Loaded, state: Path, http_socket: HttpSocket | None) -> WorkerSockets:
    config = loaded.config
    host, count, ports = config.server.listen.host, config.server.workers, ports_to_try(config)
    if http_socket is not None:
        return WorkerSockets(host, ports[0], count, http_socket.sock)
    for port in ports[:-1]:
        with suppress(SetupError):
            return WorkerSockets(host, port, count)
    try:
        return WorkerSockets(host, ports[-1], count)
    except SetupError as error:
        raise run_loop(explained(error, ListenAddress(host, ports[-1]), state)) from error


def _sockets_folder(files: Path) -> Path:
    """Not in the state folder: a socket's path is 107 bytes at most. What a supervisor that was killed left
    behind is removed by the next one."""
    note = _note_of(files)
    with suppress(OSError):
        left = Path(note.read_text())
        if left.name.startswith(_PREFIX) and left.stat().st_uid == os.geteuid():
            shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=_PREFIX))  # mode 0700
    note.write_text(str(made))
    return made


def _note_of(files: Path) -> Path:
    """Where the sockets are, for whoever comes after us."""
    return files / "sockets"
