"""SshTunnel: one SSH connection for all database connections of a source (extra `callgate[ssh]`).

Rules
1. A host key is always checked: against known_hosts, or against the one that the operator pinned.
2. Nothing listens on our side. Each database connection is a channel of its own, joined to it by a pair of
   sockets, so that TLS and everything else work as on any socket.
3. A tunnel that is gone takes its connections with it. The next one that is wanted makes it anew.
4. The operator's SSH configuration file is not read: what counts stands in [sources.ssh].

Imports asyncssh, so it is itself imported only where a source has a tunnel. Counterpart: `way`.
"""

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncssh
from asyncssh.constants import OPEN_ADMINISTRATIVELY_PROHIBITED

from callgate.model import error_codes as codes
from callgate.model.errors import SourceError
from callgate.sql.drivers.network.server import OpenFailed
from callgate.sql.drivers.network.stream import ByteStream
from callgate.sql.drivers.network.unreachable import RETRIED, reason_of, unwilling
from callgate.sql.settings import ServerAddress, Ssh, SshHop

# A dead peer is noticed after a minute, before a statement's usual limit of 30 s comes twice.
_KEEP_ALIVE_S = 15
_KEEP_ALIVE_MISSED = 3
_CLOSING_LIMIT_S = 1.0

# It tells every step of a login, with the account. What matters is in our errors.
asyncssh.set_log_level("WARNING")


class SshTunnel:
    def __init__(self, ssh: Ssh) -> None:
        self._ssh = ssh
        self._lock = asyncio.Lock()
        self._hops: list[asyncssh.SSHClientConnection] = []

    async def make_ready(self, address: ServerAddress) -> None:
        """Raises `OpenFailed`."""
        await self._last_hop(address)

    async def _last_hop(self, address: ServerAddress) -> asyncssh.SSHClientConnection:
        async with self._lock:
            if self._hops and not any(hop.is_closed() for hop in self._hops):
                return self._hops[-1]
            self._drop()
            try:
                for hop in self._ssh.hops:
                    await self._pass(hop, address)
            except BaseException:
                self._drop()  # half of the way leads somewhere else
                raise
            return self._hops[-1]

    async def _pass(self, hop: SshHop, address: ServerAddress) -> None:
        checker = _Checker(self._ssh.host_key if hop is self._ssh.hops[-1] else None)
        with _explained(self._ssh, hop, checker, address):
            async with asyncio.timeout(address.connect_timeout_s):
                self._hops.append(await self._connect(hop, checker))

    async def open(self, address: ServerAddress) -> ByteStream:
        """A channel to the server as a stream. Raises OSError, `OpenFailed`."""
        last = await self._last_hop(address)
        near, far = socket.socketpair()
        loop = asyncio.get_running_loop()
        transport, stream = await loop.create_connection(ByteStream, sock=near)
        try:
            # Joined before the channel is there: MySQL's server speaks first.
            _, inner = await loop.create_connection(_OurEnd, sock=far)
            await self._open_channel(last, inner, address)
        except BaseException:
            transport.abort()  # the other end sees it, and closes
            raise
        return stream

    async def close(self) -> None:
        hops = self._hops
        self._drop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_LIMIT_S):
                await asyncio.gather(*(hop.wait_closed() for hop in hops), return_exceptions=True)

    def _drop(self) -> None:
        for hop in reversed(self._hops):
            hop.abort()
        self._hops = []

    async def _open_channel(
        self, last: asyncssh.SSHClientConnection, inner: "_OurEnd", address: ServerAddress
    ) -> None:
        def joined() -> asyncssh.SSHForwarder:
            return asyncssh.SSHForwarder(inner)

        try:
            if address.socket is not None:
                await last.create_unix_connection(joined, str(address.socket))  # pyright: ignore[reportArgumentType]
            else:
                await last.create_connection(joined, address.host, address.port)  # pyright: ignore[reportArgumentType]
        except (asyncssh.Error, OSError) as error:
            hop = self._ssh.hops[-1]
            if isinstance(error, asyncssh.ChannelOpenError) and not last.is_closed():
                raise _no_channel(error, hop, address) from None
            raise _failed(address, hop, "the connection was lost", "") from None

    async def _connect(self, hop: SshHop, checker: "_Checker") -> asyncssh.SSHClientConnection:
        ssh = self._ssh
        keys = () if ssh.key_file is None else [await asyncio.to_thread(_read_key, ssh)]
        # Never an empty value: asyncssh would take the user's own file in its place.
        known = await asyncio.to_thread(_known_hosts, ssh.known_hosts_file)
        return await asyncssh.connect(
            hop.host,
            hop.port,
            tunnel=self._hops[-1] if self._hops else (),
            config=None,
            username=hop.user,
            client_keys=keys,
            agent_path=() if ssh.key_file is None else None,
            preferred_auth="publickey",
            gss_host=None,
            x509_trusted_certs=None,
            known_hosts=known if checker.pin is None else _pinned(checker.pin),
            client_factory=lambda: checker,
            keepalive_interval=_KEEP_ALIVE_S,
            keepalive_count_max=_KEEP_ALIVE_MISSED,
        )


class _OurEnd(asyncssh.SSHForwarder):
    """The driver's side of a channel. When the driver closes it, nothing more is wanted from the other."""

    def eof_received(self) -> bool:
        self.close()
        return False


class _Checker(asyncssh.SSHClient):
    """Is asked about host keys that known_hosts does not have."""

    def __init__(self, pin: str | None) -> None:
        self.pin = pin
        self.untrusted: asyncssh.SSHKey | None = None

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        if self.pin is not None and self.pin == key.get_fingerprint():
            return True
        self.untrusted = key
        return False


class _UnreadableHosts(Exception):  # noqa: N818 - it never leaves this module
    pass


def _known_hosts(path: Path) -> asyncssh.SSHKnownHosts:
    try:
        return asyncssh.import_known_hosts(path.read_text("utf-8") if path.exists() else "")
    except ValueError:
        raise _UnreadableHosts from None


def _pinned(pin: str) -> tuple[list[asyncssh.SSHKey], list[asyncssh.SSHKey], list[asyncssh.SSHKey]]:
    """Trusted keys, authorities, revoked ones. A fingerprint is compared when a key is seen (`_Checker`)."""
    return [] if pin.startswith("SHA256:") else [asyncssh.import_public_key(pin)], [], []


def _read_key(ssh: Ssh) -> asyncssh.SSHKey:
    assert ssh.key_file is not None
    return asyncssh.read_private_key(ssh.key_file, ssh.key_password)


@contextmanager
def _explained(ssh: Ssh, hop: SshHop, checker: _Checker, address: ServerAddress) -> Generator[None]:
    """What SSH says against us, in words for the operator."""
    try:
        yield
    except _UnreadableHosts:
        what = "the known_hosts of [sources.ssh] has a line that cannot be read."
        raise unwilling(address, what, f"Check {ssh.known_hosts_file}.") from None
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        what = "the key or host_key of [sources.ssh] cannot be read: it is none, or it needs a key_password."
        raise unwilling(address, what, "Check both; ssh-keygen -yf reads the key.") from None
    except asyncssh.HostKeyNotVerifiable as error:
        if checker.untrusted is not None:
            raise _host_key(ssh, hop, checker.untrusted, address) from None
        raise unwilling(address, f"the SSH server {hop.shown}: {error.reason}.", _CHANGED) from None
    except asyncssh.PermissionDenied:
        what = f"the SSH server {hop.shown} refused the login as {hop.user}."
        hint = (
            "Check user and key of [sources.ssh]; the public key belongs into its authorized_keys."
            if ssh.key_file is not None
            else "No key is named in [sources.ssh], so those of the agent and of ~/.ssh were offered."
        )
        raise unwilling(address, what, hint) from None
    except asyncssh.KeyExchangeFailed:
        what = f"the SSH server {hop.shown} has no host key of the kind that is known."
        raise unwilling(address, what, _CHANGED) from None
    except (asyncssh.Error, asyncssh.ChannelOpenError):
        raise _failed(address, hop, "it closed the connection during the login", "") from None
    except (OSError, TimeoutError) as error:
        if isinstance(error, (FileNotFoundError, PermissionError)):
            what = f"a file that [sources.ssh] names cannot be opened ({error.strerror})."
            raise unwilling(address, what, f"Check {error.filename}.") from None
        raise _failed(address, hop, *reason_of(error, address)) from None


_CHANGED = (
    "If its administrator made a new host key, put that into known_hosts in place of the old one. "
    "If not, somebody may intercept the connection."
)


def _host_key(ssh: Ssh, hop: SshHop, key: asyncssh.SSHKey, address: ServerAddress) -> OpenFailed:
    name = hop.host if hop.port == 22 else f"[{hop.host}]:{hop.port}"
    fingerprint = key.get_fingerprint()
    line = f"{name} {key.export_public_key().decode().strip()}"
    if ssh.host_key is not None and hop is ssh.hops[-1]:
        what = f"the SSH server {hop.shown} has another host key ({fingerprint}) than host_key says."
        return unwilling(address, what, _CHANGED.replace("known_hosts", "host_key"))
    if _has_other_key(ssh.known_hosts_file, hop):
        what = f"the SSH server {hop.shown} has another host key ({fingerprint}) than {ssh.known_hosts_file}."
        return unwilling(address, what, _CHANGED)
    what = f"the SSH server {hop.shown} is not known; its host key is {fingerprint}."
    hint = (
        f"If that is right (its administrator can tell by ssh-keygen -lf), add this line to "
        f"{ssh.known_hosts_file}: {line}"
    )
    return unwilling(address, what, hint)


def _has_other_key(path: Path, hop: SshHop) -> bool:
    with suppress(OSError, _UnreadableHosts):
        port = None if hop.port == 22 else hop.port
        return bool(asyncssh.match_known_hosts(_known_hosts(path), hop.host, "", port)[0])
    return False


def _no_channel(error: asyncssh.ChannelOpenError, hop: SshHop, address: ServerAddress) -> OpenFailed:
    if error.code == OPEN_ADMINISTRATIVELY_PROHIBITED:
        what = f"the SSH server {hop.shown} refuses to forward to it."
        hint = "Allow it there: AllowTcpForwarding and PermitOpen in sshd_config, no restrict for the key."
        return unwilling(address, what, hint)
    what = f"the SSH server {hop.shown} cannot reach it"
    return _down(f"{address.shown}: {what}. Check host and port of the DSN, as that server sees them.")


def _failed(address: ServerAddress, hop: SshHop, reason: str, hint: str) -> OpenFailed:
    return _down(f"{address.shown}: the SSH server {hop.shown} cannot be reached: {reason}. {hint}".strip())


def _down(for_operator: str) -> OpenFailed:
    told = SourceError(
        codes.SOURCE_UNAVAILABLE, "the database cannot be reached through its SSH tunnel.", hint=RETRIED
    )
    return OpenFailed(told, for_operator)
