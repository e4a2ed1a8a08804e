"""Passwords that a program makes: `aws rds generate-db-auth-token`, `gcloud`, `az`, `vault` and their like.

The program is started without a shell and has ten seconds. What it prints is the password. It is kept in
memory until shortly before it ends, and used for new connections. It is in no log and no error; neither is
what the program writes to stderr, which may hold a secret too.
"""

import asyncio
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import replace

from callgate.sql.drivers.network.server import OpenFailed
from callgate.sql.drivers.network.unreachable import unwilling
from callgate.sql.settings import ServerAddress

_LIMIT_S = 10.0
# A login that begins with a password must end while it is good.
_USED_SHARE = 0.9
_MAX_PASSWORD_BYTES = 64 * 1024  # tokens of identity providers have some kilobytes


class Passwords:
    """Of one source. Only one program runs at a time: who comes meanwhile waits for it."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._lock = asyncio.Lock()
        self._password: str | None = None
        self._good_until = 0.0

    async def filled_in(self, address: ServerAddress) -> ServerAddress:
        """The address with a password that is good now. Raises `OpenFailed`."""
        if not address.password_command:
            return address
        async with self._lock:
            if self._password is None or time.monotonic() >= self._good_until:
                asked_mono = time.monotonic()
                self._password = await self._asked(address.password_command)
                self._good_until = asked_mono + address.password_ttl_s * _USED_SHARE
        return replace(address, password=self._password)

    def forget(self) -> None:
        """The server refused it."""
        self._password = None

    async def _asked(self, command: tuple[str, ...]) -> str:
        try:
            said, code, is_late = await asyncio.to_thread(_run, command)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not a command"
            raise self._failed(f"could not be started: {why}") from None
        if is_late:
            raise self._failed(f"did not end within {_LIMIT_S:g} s")
        password = said.decode("utf-8", "replace").strip("\r\n")
        if len(said) > _MAX_PASSWORD_BYTES or not password or "\n" in password:
            raise self._failed("did not print one line with the password")
        if code != 0:
            raise self._failed(f"ended with exit code {code}")
        return password

    def _failed(self, what: str) -> OpenFailed:
        return unwilling(
            self._address,
            f"password_command {what}.",
            "Run it in a terminal, as the user that Callgate runs as, to see what it says.",
        )


def _run(command: tuple[str, ...]) -> tuple[bytes, int, bool]:
    """What it printed, its exit code, and whether its time was over. All that it started ends with it."""
    is_over = threading.Event()
    with subprocess.Popen(  # noqa: S603 - the operator's own command
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as program:

        def kill() -> None:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)

        def end() -> None:
            is_over.set()
            kill()

        timer = threading.Timer(_LIMIT_S, end)
        timer.start()
        try:
            assert program.stdout is not None
            said = program.stdout.read(_MAX_PASSWORD_BYTES + 1)
            if len(said) > _MAX_PASSWORD_BYTES:
                kill()
            return said, program.wait(), is_over.is_set()
        finally:
            timer.cancel()
