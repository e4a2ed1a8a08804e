"""A private SSH server of OpenSSH's: own configuration, own host keys, a port of its own on loopback."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from databases.server import POLL_S, READY_TIMEOUT_S, free_port, program

_CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PubkeyAuthentication yes
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
AllowStreamLocalForwarding yes
"""


@dataclass
class Sshd:
    port: int
    folder: Path
    user: str
    key: Path  # a user's private key that it lets in
    process: subprocess.Popen[bytes]

    @property
    def host_key(self) -> str:
        """Its public key, without the comment."""
        return " ".join((self.folder / "host_key.pub").read_text().split()[:2])

    @property
    def known_hosts_line(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.host_key}\n"

    def sessions(self) -> list[int]:
        """The processes of its connections."""
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True)
        return [int(pid) for pid in found.stdout.split()]

    def end_sessions(self) -> None:
        for pid in self.sessions():
            os.kill(pid, signal.SIGKILL)


def make_key(path: Path, *options: str) -> Path:
    """A new key pair; the public half is beside it, as .pub"""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-f", str(path), *(options or ("-N", ""))]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path


@contextmanager
def sshd_server(*settings: str) -> Iterator[Sshd]:
    """`settings` come first, and the first one counts."""
    server = program("sshd", "openssh-server", "/usr/sbin")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where it locks itself in, as root
    folder = Path(tempfile.mkdtemp(prefix="callgate-sshd-"))
    try:
        make_key(folder / "host_key")
        key = make_key(folder / "user_key")
        (folder / "authorized_keys").write_text(key.with_suffix(".pub").read_text())
        port = free_port()
        config = folder / "sshd_config"
        config.write_text("\n".join(settings) + _CONFIG.format(port=port, folder=folder))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig=TERM", "--", server, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            _wait_for(process, port, folder / "log")
            yield Sshd(port, folder, getpass.getuser(), key, process)
        finally:
            process.terminate()
            process.wait()
    finally:
        shutil.rmtree(folder)


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as line:
                if line.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(POLL_S)
    raise AssertionError(f"sshd did not start: {log.read_text(errors='replace')}")
