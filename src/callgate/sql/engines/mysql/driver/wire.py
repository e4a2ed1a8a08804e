"""MySqlWire: packets over one stream, from the greeting to the login. Knows the protocol, no policy.

Counterpart: `packets` (pure), `connection` (what is said once we are in).
"""

import asyncio
import struct
from collections import deque

from callgate.sql.drivers.network.server import ServerError
from callgate.sql.drivers.network.stream import ByteStream, ConnectionLost, OpenStream, open_stream
from callgate.sql.engines.mysql.driver import login, packets
from callgate.sql.engines.mysql.driver.packets import Greeting, Login
from callgate.sql.engines.mysql.driver.status import has_changed_session, read_status
from callgate.sql.settings import ServerAddress, TlsMode

_OK = 0x00
_MORE = 0x01
_EOF = 0xFE
_ERR = 0xFF
EOF_BYTES = 9  # an EOF packet is shorter; a row that begins with 0xFE never is


class NotMySql(Exception):  # noqa: N818 - the opener words the error
    """What answers there does not greet as a MySQL server of this century does."""


class NoTls(Exception):  # noqa: N818 - the opener words the error
    """TLS was asked for and the server has none."""


class MySqlWire:
    def __init__(self, stream: ByteStream, greeting: Greeting, capabilities: int) -> None:
        self.stream = stream
        self.greeting = greeting
        self.ends_with_ok = bool(capabilities & packets.DEPRECATE_EOF)
        self.is_mysql_8 = greeting.is_mysql_8
        self.is_extended = bool(greeting.mariadb_capabilities & packets.EXTENDED_METADATA)
        self.pipelines = True
        self._queue: deque[bytes] = deque()
        self._end = b""
        self._sequence = 0

    def send(self, *commands: bytes) -> None:
        """Commands go out together; to a server that cannot take that, each when its turn has come."""
        if self.pipelines:
            self.stream.write(commands[0] if len(commands) == 1 else b"".join(commands))
        else:
            self._queue.extend(filter(None, commands))

    def turn(self) -> None:
        """Before an answer is awaited: the command it belongs to must have been sent."""
        if self._queue:
            self.stream.write(self._queue.popleft())

    async def header(self) -> int:
        """The length of the next packet; its payload is not taken yet."""
        stream = self.stream
        if stream.available < 4:
            await stream.fill(4)
        at = stream.at
        buffer = stream.buffer
        stream.at = at + 4
        self._sequence = buffer[at + 3]
        return buffer[at] | buffer[at + 1] << 8 | buffer[at + 2] << 16

    def ready(self) -> bytes | None:
        """The next packet if it has arrived whole, without a wait: most have."""
        stream = self.stream
        buffer, at = stream.buffer, stream.at
        start = at + 4
        if len(buffer) < start:
            return None
        end = start + (buffer[at] | buffer[at + 1] << 8 | buffer[at + 2] << 16)
        if len(buffer) < end or end == start:
            return None
        stream.at = end
        return bytes(buffer[start:end])

    def ready_block(self, count: int) -> bytes | None:
        """The next packets with their headers, if all of them have arrived whole."""
        stream = self.stream
        buffer, end = stream.buffer, stream.at
        last = len(buffer) - 4
        for _ in range(count):
            if end > last:
                return None
            end += 4 + (buffer[end] | buffer[end + 1] << 8 | buffer[end + 2] << 16)
        if end > len(buffer):
            return None
        block = bytes(buffer[stream.at : end])
        stream.at = end
        return block

    def at_end(self) -> bool:
        """Whether the packet that ends a result has arrived; it is taken then. False: look closer."""
        stream = self.stream
        at = stream.at
        if len(stream.buffer) <= at + 4 or stream.buffer[at + 4] != _EOF or stream.buffer[at + 2]:
            return False
        size = stream.buffer[at] | stream.buffer[at + 1] << 8
        end = at + 4 + size
        if (size >= EOF_BYTES and not self.ends_with_ok) or len(stream.buffer) < end:
            return False
        self.note_end(bytes(stream.buffer[at + 4 : end]))
        stream.at = end
        return True

    def note_end(self, data: bytes) -> None:
        """The packet that ended a statement: it says how the session stands."""
        self._end = data

    def status(self) -> int:
        """Of the session, as the server said at the end of the last statement."""
        return read_status(self._end, is_eof=not self.ends_with_ok)

    def has_changed_session(self) -> bool:
        """Whether the last statement did, as the server said at its end."""
        return has_changed_session(self._end, is_eof=not self.ends_with_ok)

    async def packet(self) -> bytes:
        """For small ones; rows are read where they lie."""
        size = await self.header()
        data = await self.stream.take(size)
        if not data:
            raise ConnectionLost
        return data

    def takes(self, known: bytes) -> bool:
        """Whether these very packets have arrived next; they are taken then. False: look closer."""
        stream = self.stream
        if not known or self._queue or not stream.buffer.startswith(known, stream.at):
            return False
        stream.at += len(known)
        return True

    async def expect_ok(self) -> bytes:
        self.turn()
        data = self.ready() or await self.packet()
        if data[0] == _ERR:
            raise ServerError(packets.read_fault(data))
        if data[0] not in (_OK, _EOF):
            raise ConnectionLost  # not what a server says here: out of step
        return data

    async def log_in(self, address: ServerAddress, who: Login) -> None:
        """From our login packet to the server's OK, through what it asks in between."""
        password = address.password or ""
        plugin, seed = who.auth_plugin, self.greeting.seed
        is_private = address.is_private(is_encrypted=self._is_encrypted)
        while True:
            data = await self.packet()
            if data[0] == _OK:
                return
            if data[0] == _ERR:
                raise ServerError(packets.read_fault(data))
            if data[0] == _EOF and len(data) > 1:
                name, _, rest = data[1:].partition(b"\0")
                plugin = name.decode("ascii", "replace")
                seed = login.seed_of(plugin, rest)
                if plugin == login.SHA256:
                    await self._tell_password(address, plugin, seed)
                else:
                    self._reply(login.respond(plugin, password, seed, is_private=is_private))
            else:
                await self._go_on(address, plugin, seed, data[1:] if data[0] == _MORE else data)

    async def _go_on(self, address: ServerAddress, plugin: str, seed: bytes, data: bytes) -> None:
        """What a method says after its first step."""
        if plugin == login.PARSEC:
            password = address.password or ""
            self._reply(await asyncio.to_thread(login.parsec_proof, password, seed, data))
        elif plugin in login.KEY_WANTED and self._has_asked_for_key:
            self._has_asked_for_key = False
            self._reply(login.with_rsa(address.password or "", seed, data))
        elif plugin == login.CACHING_SHA2 and data == bytes([login.FULL_WANTED]):
            await self._tell_password(address, plugin, seed)
        elif plugin != login.CACHING_SHA2 or data != bytes([login.FAST_OK]):
            raise login.UnknownPlugin(plugin)

    async def _tell_password(self, address: ServerAddress, plugin: str, seed: bytes) -> None:
        """In the clear on a private line, and encrypted with the server's key on one without TLS: servers
        know no other way. `sha256_password` does not take a Unix socket for private, we do."""
        password = address.password or ""
        is_socket = address.socket is not None
        trusts_any = address.fetches_server_key or is_socket
        if not password and plugin == login.SHA256:
            self._reply(b"\0")
        elif self._is_encrypted or (is_socket and plugin == login.CACHING_SHA2):
            is_private = trusts_any or address.is_private(is_encrypted=self._is_encrypted)
            self._reply(login.in_clear(password, is_private=is_private))
        elif address.server_key_file is not None:
            pem = await asyncio.to_thread(address.server_key_file.read_bytes)
            self._reply(login.with_rsa(password, seed, pem))
        elif trusts_any:
            self._has_asked_for_key = True
            self._reply(login.KEY_WANTED[plugin])
        else:
            raise login.NeedsPrivacy

    _has_asked_for_key = False
    _is_encrypted = False

    async def secure(self, address: ServerAddress, capabilities: int) -> None:
        self._reply(packets.login_head(capabilities, self.greeting))
        await self.stream.secure(address)
        self._is_encrypted = True

    def _reply(self, payload: bytes) -> None:
        """Within the handshake packets are numbered through."""
        self.stream.write(packets.framed(payload, self._sequence + 1))
        self._sequence += 1

    async def introduce(self, address: ServerAddress, capabilities: int) -> None:
        plugin = self.greeting.auth_plugin
        if plugin not in (login.NATIVE, login.CACHING_SHA2):
            plugin = login.NATIVE  # a guess; the server names the one it wants in its reply
        response = login.respond(plugin, address.password or "", self.greeting.seed, is_private=False)
        who = Login(
            address.user,
            address.database,
            plugin,
            response,
            (("program_name", address.application_name), ("_client_name", "callgate")),
        )
        self._reply(packets.login(who, capabilities, self.greeting))
        await self.log_in(address, who)


async def connect(address: ServerAddress, opened: OpenStream = open_stream) -> MySqlWire:
    """Logged in. Raises OSError, `ConnectionLost`, and the exceptions of this module and `login`."""
    async with asyncio.timeout(address.connect_timeout_s):
        stream = await opened(address)
        try:
            return await _handshake(stream, address)
        except BaseException:
            stream.close()
            raise


async def _handshake(stream: ByteStream, address: ServerAddress) -> MySqlWire:
    head = await stream.take(4)
    data = await stream.take(int.from_bytes(head[:3], "little"))
    if data[:1] == b"\xff":  # "Too many connections", "Host is blocked": said instead of a greeting
        raise ServerError(packets.read_fault(data))
    try:
        greeting = packets.read_greeting(data)
    except (ValueError, IndexError, struct.error):
        raise NotMySql from None
    offers_tls = bool(greeting.capabilities & packets.SSL)
    mode = TlsMode.OFF if address.socket is not None else address.tls.mode
    wants_tls = mode is not TlsMode.OFF and (offers_tls or mode is not TlsMode.PREFER)
    if wants_tls and not offers_tls:
        raise NoTls
    capabilities = packets.capabilities_of(
        greeting, with_database=address.database is not None, with_tls=wants_tls
    )
    wire = MySqlWire(stream, greeting, capabilities)
    if wants_tls:
        await wire.secure(address, capabilities)
    await wire.introduce(address, capabilities)
    return wire
