"""Way: how the servers of one source are reached. Owns what all its connections share: a password that a
program makes, and the SSH tunnel. Knows no engine."""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from callgate.model.wording import install_extra
from callgate.program_output import ProgramFailedError, printed_line
from callgate.sql.drivers.network.server import DatabaseFault, OpenFailed, ServerError
from callgate.sql.drivers.network.stream import ByteStream, open_stream
from callgate.sql.drivers.network.unreachable import NOT_REACHED, unreachable, unwilling
from callgate.sql.settings import ServerAddress, Ssh

# A login that begins with a password must end while it is good.
_USED_SHARE = 0.9


class _Tunnel(Protocol):
    async def make_ready(self, address: ServerAddress) -> None: ...

    async def open(self, address: ServerAddress) -> ByteStream: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LoginFailures:
    """How an engine words that a login failed."""

    wrong_password: tuple[str, ...]  # codes of the server's error
    explain: Callable[[DatabaseFault, ServerAddress], OpenFailed]
    unwilling: tuple[type[Exception], ...]  # what keeps us from logging in, or the server from letting us
    explain_unwilling: Callable[[Exception, ServerAddress], OpenFailed]


class Way:
    def __init__(self, address: ServerAddress) -> None:
        self._passwords = _Passwords(address)
        self._tunnel = _tunnel_of(address.ssh) if address.ssh is not None else None

    async def prepared(self, address: ServerAddress) -> ServerAddress:
        """With a password that is good now, and with a tunnel that is open. Raises `OpenFailed`."""
        address = await self._passwords.filled_in(address)
        if address.ssh is None:
            return address
        if self._tunnel is None:
            what = "[sources.ssh] needs a package that is not installed here."
            raise unwilling(address, what, install_extra("ssh"))
        await self._tunnel.make_ready(address)
        return address

    async def open(self, address: ServerAddress) -> ByteStream:
        """Connected, not yet encrypted. Raises OSError, `OpenFailed`."""
        return await open_stream(address) if self._tunnel is None else await self._tunnel.open(address)

    @contextmanager
    def logging_in(self, address: ServerAddress, failures: LoginFailures) -> Generator[None]:
        """Whatever goes wrong within is raised as `OpenFailed`."""
        try:
            yield
        except ServerError as error:
            if error.fault.code in failures.wrong_password:  # a full server says nothing of the password
                self._passwords.forget()
            raise failures.explain(error.fault, address) from None
        except failures.unwilling as error:
            raise failures.explain_unwilling(error, address) from None
        except NOT_REACHED as error:
            raise unreachable(error, address) from None

    async def close(self) -> None:
        if self._tunnel is not None:
            await self._tunnel.close()


def _tunnel_of(ssh: Ssh) -> _Tunnel | None:
    """None: the extra is not installed. Imported at the start: with no descriptor left nothing could be."""
    try:
        from callgate.sql.drivers.network.ssh_tunnel import SshTunnel
    except ImportError:
        return None
    return SshTunnel(ssh)


class _Passwords:
    """Those that a program makes (`aws rds generate-db-auth-token`, `vault` and their like), of one source.

    Each is kept in memory until shortly before it ends, and used for new connections. It is in no log and no
    error. Only one program runs at a time: who comes meanwhile waits for it.
    """

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
                password = await self._asked(address.password_command)
                if address.learn_password is not None:
                    await address.learn_password(password)
                self._password = password
                self._good_until = asked_mono + address.password_ttl_s * _USED_SHARE
        return replace(address, password=self._password)

    def forget(self) -> None:
        """The server refused it."""
        self._password = None

    async def _asked(self, command: tuple[str, ...]) -> str:
        try:
            return await asyncio.to_thread(printed_line, command)
        except ProgramFailedError as error:
            raise self._failed(error.what) from None

    def _failed(self, what: str) -> OpenFailed:
        return unwilling(
            self._address,
            f"password_command {what}.",
            "Run it in a terminal, as the user that Callgate runs as, to see what it says.",
        )
