"""PostgresWire: messages over one stream, from the first byte to the login. Knows the protocol, no policy.

Counterpart: `messages` and `scram` (pure), `connection` (what is said once we are in).
"""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress

from callgate.sql.drivers.network.server import ServerError
from callgate.sql.drivers.network.stream import ByteStream, ConnectionLost, OpenStream, open_stream
from callgate.sql.engines.postgres.driver import messages, scram
from callgate.sql.settings import ServerAddress, TlsMode

_HEADER_BYTES = 5
# 1,600 columns with long names are 200 KB, an error with a long statement in it not much more.
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
# Kinds of messages, as the bytes they begin with.
AUTHENTICATION, KEY, READY, ERROR = ord("R"), ord("K"), ord("Z"), ord("E")
# May come at any time and are nobody's answer: notices, changed settings, notifications.
_ASIDES = frozenset(b"NSA")
_AUTH_OK, _AUTH_CLEAR, _AUTH_MD5, _AUTH_SASL, _AUTH_SASL_CONTINUE, _AUTH_SASL_FINAL = 0, 3, 5, 10, 11, 12


class NoTls(Exception):  # noqa: N818 - the opener words the error
    """TLS was asked for and the server has none."""


class UnknownMethod(Exception):  # noqa: N818 - the opener words the error
    """The server wants to see a proof that we cannot make."""


class NotBound(Exception):  # noqa: N818 - the opener words the error
    """The operator wants a login that is bound to the line, and the server or the line cannot."""


class NeedsPrivacy(Exception):  # noqa: N818 - the opener words the error
    """The server wants the password itself, and nobody knows who that server is."""


class PostgresWire:
    def __init__(self, stream: ByteStream, *, is_private: bool) -> None:
        self.stream = stream
        self.process_id = 0
        self.secret = b""
        self._is_private = is_private

    def send(self, data: bytes) -> None:
        self.stream.write(data)

    def ready(self) -> tuple[int, bytes] | None:
        """The next message if it has arrived whole, without a wait: most have."""
        stream = self.stream
        while True:
            buffer, at = stream.buffer, stream.at
            if len(buffer) < at + _HEADER_BYTES:
                return None
            end = at + 1 + int.from_bytes(buffer[at + 1 : at + _HEADER_BYTES], "big")
            if len(buffer) < end:
                return None
            stream.at = end
            if buffer[at] not in _ASIDES:
                return buffer[at], bytes(buffer[at + _HEADER_BYTES : end])

    def has_heard_nothing(self) -> bool:
        """But what may come at any time, which is passed over."""
        stream = self.stream
        buffer = stream.buffer
        while stream.at < len(buffer):
            if buffer[stream.at] not in _ASIDES:
                return False
            end = stream.at + 1 + int.from_bytes(buffer[stream.at + 1 : stream.at + _HEADER_BYTES], "big")
            if len(buffer) < max(end, stream.at + _HEADER_BYTES):
                return True  # the rest of it is under way
            stream.at = end
        return True

    async def header(self) -> tuple[int, int]:
        """Kind and length of the next message; its body is not taken yet."""
        while True:
            head = await self.stream.take(_HEADER_BYTES)
            size = int.from_bytes(head[1:], "big") - 4
            # Rows and COPY data are read piece by piece; nothing else is long.
            if size < 0 or (size > _MAX_MESSAGE_BYTES and head[0] not in b"Dd"):
                raise ConnectionLost
            if head[0] not in _ASIDES:
                return head[0], size
            await self.stream.skip(size)

    async def message(self) -> tuple[int, bytes]:
        """For small ones; rows are read where they lie."""
        found = self.ready()
        if found is not None:
            return found
        kind, size = await self.header()
        return kind, await self.stream.take(size)

    async def log_in(self, address: ServerAddress, parameters: Mapping[str, str]) -> None:
        """To the first ReadyForQuery."""
        self.send(messages.startup(parameters))
        while True:
            kind, body = await self.message()
            if kind == ERROR:
                raise ServerError(messages.read_fault(body))
            if kind == AUTHENTICATION:
                await self._authenticate(address, int.from_bytes(body[:4], "big"), body[4:])
            elif kind == KEY:
                self.process_id, self.secret = int.from_bytes(body[:4], "big"), body[4:]
            elif kind == READY:
                return
            else:
                raise ConnectionLost

    async def _authenticate(self, address: ServerAddress, method: int, data: bytes) -> None:
        password = address.password or ""
        if method == _AUTH_OK:
            return
        if method == _AUTH_SASL and scram.MECHANISM.encode() in data.split(b"\0"):
            await self._scram(password, *self._binding(address, data.split(b"\0")))
        elif address.channel_binding == "require":
            raise NotBound
        elif method == _AUTH_MD5:
            self.send(messages.password(scram.md5_response(address.user, password, data[:4])))
        elif method == _AUTH_CLEAR:
            if not self._is_private:
                raise NeedsPrivacy
            self.send(messages.password(password.encode() + b"\0"))
        else:
            raise UnknownMethod(str(method))

    def _binding(self, address: ServerAddress, offered: list[bytes]) -> tuple[str, scram.Binding]:
        """The mechanism, and what it is bound to: as libpq chooses them."""
        certificate = self.stream.server_certificate()
        binding = None
        if certificate is not None and address.channel_binding != "disable":
            binding = scram.certificate_binding(certificate)
        if binding is not None and scram.BOUND_MECHANISM.encode() in offered:
            return scram.BOUND_MECHANISM, binding
        if address.channel_binding == "require":
            raise NotBound
        # y: should somebody have taken the offer out of the list, the server notices.
        return scram.MECHANISM, scram.Binding("y,," if binding is not None else "n,,")

    async def _scram(self, password: str, mechanism: str, binding: scram.Binding) -> None:
        nonce = secrets.token_urlsafe(18)
        self.send(messages.sasl_start(mechanism, scram.first_message(nonce, binding)))
        challenge = await self._sasl(_AUTH_SASL_CONTINUE)
        # Thousands of hashes: not on the loop.
        proof = await asyncio.to_thread(scram.prove, password, nonce, challenge, binding)
        self.send(messages.password(proof.message))
        scram.check_server(proof, await self._sasl(_AUTH_SASL_FINAL))

    async def _sasl(self, step: int) -> bytes:
        kind, body = await self.message()
        if kind == ERROR:
            raise ServerError(messages.read_fault(body))
        if kind != AUTHENTICATION or int.from_bytes(body[:4], "big") != step:
            raise scram.ScramFailed
        return body[4:]


async def connect(
    address: ServerAddress, parameters: Mapping[str, str], opened: OpenStream = open_stream
) -> PostgresWire:
    """Logged in. Raises OSError, `ConnectionLost` and the exceptions of this module and `scram`."""
    async with asyncio.timeout(address.connect_timeout_s):
        stream, is_private = await _open(address, opened)
        try:
            wire = PostgresWire(stream, is_private=is_private)
            await wire.log_in(address, parameters)
        except BaseException:
            stream.close()
            raise
        return wire


async def request_cancel(
    address: ServerAddress, process_id: int, secret: bytes, opened: OpenStream = open_stream
) -> None:
    """Returns when the server has passed it on: it closes the connection then."""
    async with asyncio.timeout(address.connect_timeout_s):
        stream, _ = await _open(address, opened)
        try:
            stream.write(messages.cancel(process_id, secret))
            with suppress(ConnectionLost):
                await stream.fill(1)
        finally:
            stream.close()


async def _open(address: ServerAddress, opened: OpenStream) -> tuple[ByteStream, bool]:
    stream = await opened(address)
    try:
        mode = TlsMode.OFF if address.socket is not None else address.tls.mode
        is_encrypted = mode is not TlsMode.OFF and await _secure(stream, address)
        return stream, address.is_private(is_encrypted=is_encrypted)
    except BaseException:
        stream.close()
        raise


async def _secure(stream: ByteStream, address: ServerAddress) -> bool:
    """Whether it is encrypted now."""
    stream.write(messages.SSL_REQUEST)
    answer = await stream.take(1)
    if answer == b"S":
        await stream.secure(address)
        return True
    if answer != b"N":
        raise ConnectionLost  # not a PostgreSQL server, or one from before TLS
    if address.tls.mode is not TlsMode.PREFER:
        raise NoTls
    return False
