"""Way: how the servers of one source are reached. Owns what all its connections share: a password that a
program makes, and the SSH tunnel. Knows no engine."""

from typing import Protocol

from callgate.sql.drivers.network.password_command import Passwords
from callgate.sql.drivers.network.stream import ByteStream, open_stream
from callgate.sql.drivers.network.unreachable import unwilling
from callgate.sql.settings import ServerAddress, Ssh


class _Tunnel(Protocol):
    async def make_ready(self, address: ServerAddress) -> None: ...

    async def open(self, address: ServerAddress) -> ByteStream: ...

    async def close(self) -> None: ...


class Way:
    def __init__(self, address: ServerAddress) -> None:
        self._passwords = Passwords(address)
        self._tunnel = _tunnel_of(address.ssh) if address.ssh is not None else None

    async def prepared(self, address: ServerAddress) -> ServerAddress:
        """With a password that is good now, and with a tunnel that is open. Raises `OpenFailed`."""
        address = await self._passwords.filled_in(address)
        if address.ssh is None:
            return address
        if self._tunnel is None:
            what = "[sources.ssh] needs a package that is not installed here."
            raise unwilling(address, what, "pip install 'callgate[ssh]'")
        await self._tunnel.make_ready(address)
        return address

    async def open(self, address: ServerAddress) -> ByteStream:
        """Connected, not yet encrypted. Raises OSError, `OpenFailed`."""
        return await open_stream(address) if self._tunnel is None else await self._tunnel.open(address)

    def forget_password(self) -> None:
        """The server refused it."""
        self._passwords.forget()

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
