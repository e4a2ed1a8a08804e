"""One server process: started, awaited until it answers, and ended with the test run however that ends."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from databases.database import Database
from databases.folders import Account

READY_TIMEOUT_S = 60.0  # a start takes about one second; a busy CI machine may need many
POLL_S = 0.05
STOP_TIMEOUT_S = 20.0  # then it is killed
PORT_ATTEMPTS = 5  # a port that was free a moment ago may have been taken
LOG_TAIL_LINES = 30


@dataclass(frozen=True)
class Launch:
    """How to start one server; the port is chosen last."""

    account: Account
    command: Callable[[int], list[str]]
    database: Callable[[int], Database]
    log: Path
    stop_signal: signal.Signals  # the quickest that leaves no child behind: the data is thrown away


def program(name: str, package: str, *folders: str | Path) -> str:
    """The path of a server's program; `folders` are where Debian puts it outside of most users' PATH."""
    path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])
    found = shutil.which(name, path=path)
    assert found is not None, f"{name} is missing: install {package}, or let scripts/test do it"
    return found


@contextmanager
def running(launch: Launch) -> Iterator[Database]:
    """Yield the server once it answers a query."""
    log = ""
    for _ in range(PORT_ATTEMPTS):
        port = free_port()
        with _process(launch, port) as process:
            if _answers(process, launch.database(port)):
                yield launch.database(port)
                return
            log = launch.log.read_text(errors="replace")
        if "already in use" not in log:
            break
    raise AssertionError("\n".join(["The server did not start:", *log.splitlines()[-LOG_TAIL_LINES:]]))


@contextmanager
def _process(launch: Launch, port: int) -> Iterator[subprocess.Popen[bytes]]:
    signal_name = launch.stop_signal.name.removeprefix("SIG")
    with launch.log.open("wb") as log:
        process = subprocess.Popen(
            launch.account.command(*launch.command(port), dies_with_us_by=signal_name),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for pytest, whose fixtures then stop the server
        )
    try:
        yield process
    finally:
        process.send_signal(launch.stop_signal)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(process: subprocess.Popen[bytes], database: Database) -> bool:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            # The bare connection is cheap, and tells when starting a client is worth it.
            socket.create_connection((database.host, database.port), timeout=1).close()
            return database.run("SELECT 1") == "1"
        except (OSError, AssertionError):
            time.sleep(POLL_S)
    return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
