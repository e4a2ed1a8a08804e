"""The storing process as its gateway sees it: started, spoken to, ended. Knows nothing of what it stores."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress

import msgspec

from callgate.recorder.storing.messages import MessagePipe, Report, StoringSetup

# What Python, the C library and OpenSSL need to start, and where a driver looks for files of its user. The
# gateway's own secrets are in the environment too.
_PASSED_ON = (
    "PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "HOME", "USER",
    "LOGNAME", "TMPDIR", "OPENSSL_CONF", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_ENDING_S = 1.0
_reports = msgspec.msgpack.Decoder[Report](Report)


class StoringProcess:
    """It ends with the thread that starts it."""

    def __init__(self, setup: StoringSetup) -> None:
        """Raises OSError when the system has no process for us."""
        # Inherited: what reaches our whole group is ours to heed. This thread needs no signal.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "callgate.recorder.storing.child"],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                    process_group=0,  # in our session: Linux may divide a core among sessions first
                )
        except BaseException:
            ours.close()
            raise
        self._pipe = MessagePipe(ours, _reports)
        self.send(setup)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: msgspec.Struct) -> None:
        """Never waits. One that does not read is killed; that it is gone is noticed by who receives."""
        with suppress(OSError):
            if not self._pipe.send_at_once(message):
                self.kill()

    def receive(self, timeout_s: float) -> list[Report] | None:
        """None: it is gone."""
        try:
            return self._pipe.receive(timeout_s)
        except msgspec.DecodeError:  # of another version, installed while we run
            return None

    def kill(self) -> None:
        self._process.kill()

    def ended(self) -> int:
        """How it ended, or was ended now: its exit status, or the signal's number below 0."""
        status = self._process.poll()
        if status is None:
            # It closes its end in the moment in which it ends; whoever only seems to is helped.
            try:
                status = self._process.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                self.kill()
                status = self._process.wait()
        self._pipe.close()
        return status
