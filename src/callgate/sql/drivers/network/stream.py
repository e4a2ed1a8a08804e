"""ByteStream: one socket as a buffer to read from. Knows no protocol; engines parse what it holds.

Rules
1. Reading stops when more than HIGH_BYTES lie unread: the server waits then, our memory does not grow.
2. Parsers look at `buffer` from `at` on and move `at`; only `fill` and `skip` wait. Who has no task is
   called (`when_heard`).
3. After milliseconds of parsing without a wait there is a pause before the next one (`model.turns`).
4. Once the socket is gone every wait raises `ConnectionLost`, and goes on raising it.

One task or callback reads at a time.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from time import perf_counter
from typing import cast

from callgate.model.turns import PAUSE_S, TURN_S
from callgate.sql.settings import ServerAddress, Tls, TlsMode

# Enough for a hundred ordinary rows at once; with a pool of 8, 2 MB in the worst case.
HIGH_BYTES = 256 * 1024
# Rows are cut from a copy of so much. Cutting stops at a row that is unlike the others and begins again
# behind it with a new copy, so a server that sends nothing but odd rows has one copy made for each.
AHEAD_BYTES = 32 * 1024
# Idle connections through firewalls: probe after a minute, before most of them forget it (5 min and more).
_KEEP_ALIVE_IDLE_S = 60


class ConnectionLost(Exception):  # noqa: N818 - the engine words the error
    """The socket is closed, by either side."""


class ClientKeyUnusable(Exception):  # noqa: N818 - `unreachable` words the error
    """Our own certificate and its key do not fit together, or the key's password is wrong."""


# What reading raises when the peer does not keep to the protocol: it is not to be spoken to any longer.
OUT_OF_STEP = (LookupError, ValueError, struct.error)


class ByteStream(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer: bytearray = bytearray()
        self.at = 0
        self.pieces = 0  # so many times the peer has been heard
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._wanted = 0
        self._heard: Callable[[], None] | None = None
        self._busy_since = perf_counter()
        self._paused = False
        self.is_lost = False

    @property
    def available(self) -> int:
        return len(self.buffer) - self.at

    def ahead(self) -> bytes:
        """A copy of what comes next, in part when it is long: bytes are sliced twice as quickly."""
        return bytes(memoryview(self.buffer)[self.at : self.at + AHEAD_BYTES])

    def write(self, data: bytes | bytearray) -> None:
        if self.is_lost or self._transport is None:
            raise ConnectionLost
        self._busy_since = perf_counter()
        self._transport.write(data)

    async def fill(self, count: int) -> None:
        """Wait until `count` bytes can be read."""
        while self.available < count:
            if self.is_lost:
                raise ConnectionLost
            self._make_room()
            if perf_counter() - self._busy_since >= TURN_S:
                self._busy_since = perf_counter() + PAUSE_S
                await asyncio.sleep(PAUSE_S)
                continue
            self._wanted = count
            if self._paused and self._transport is not None:
                self._paused = False
                self._transport.resume_reading()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
                self._wanted = 0
                self._busy_since = perf_counter()

    def when_heard(self, heard: Callable[[], None]) -> None:
        """Calls it once, when something has come or the socket is gone."""
        self._heard = heard

    async def skip(self, count: int) -> None:
        """Pass over bytes without keeping them."""
        while count > 0:
            if not self.available:
                await self.fill(1)
            step = min(count, self.available)
            self.at += step
            count -= step

    async def take(self, count: int) -> bytes:
        if self.available < count:
            await self.fill(count)
        start = self.at
        self.at = start + count
        return bytes(self.buffer[start : self.at])

    async def secure(self, address: ServerAddress) -> None:
        """From here on encrypted. What came in the clear before is not looked at again."""
        if self.available:
            raise ConnectionLost  # bytes sent ahead of the handshake: somebody in between speaks
        assert self._transport is not None
        transport = await asyncio.get_running_loop().start_tls(
            self._transport, self, context_of(address.tls), server_hostname=address.host
        )
        if transport is None:
            raise ConnectionLost
        self._transport = transport

    def server_certificate(self) -> bytes | None:
        """As DER; None: not encrypted."""
        tls: ssl.SSLObject | None = self._transport.get_extra_info("ssl_object") if self._transport else None
        return None if tls is None else tls.getpeercert(binary_form=True)

    def close(self) -> None:
        self.is_lost = True
        if self._transport is not None:
            self._transport.abort()  # nothing of ours is worth waiting for
        self._wake()

    def _make_room(self) -> None:
        if self.at:
            del self.buffer[: self.at]
            self.at = 0

    def _wake(self) -> None:
        if self._heard is not None:
            heard, self._heard = self._heard, None
            heard()
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # asyncio.Protocol
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def data_received(self, data: bytes) -> None:
        if self.at == len(self.buffer):
            self.buffer.clear()
            self.at = 0
        self.buffer += data
        self.pieces += 1
        available = len(self.buffer) - self.at
        if available > HIGH_BYTES and available >= self._wanted and not self._paused:
            assert self._transport is not None
            self._paused = True
            self._transport.pause_reading()
        if available >= self._wanted:
            self._wake()

    def eof_received(self) -> bool:
        return False  # close; connection_lost follows

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self._wake()


OpenStream = Callable[[ServerAddress], Awaitable[ByteStream]]


async def open_stream(address: ServerAddress) -> ByteStream:
    """Connected, not yet encrypted. Raises OSError."""
    loop = asyncio.get_running_loop()
    if address.socket is not None:
        _, stream = await loop.create_unix_connection(ByteStream, str(address.socket))
        return stream
    transport, stream = await loop.create_connection(ByteStream, address.host, address.port)
    _keep_alive(transport)
    return stream


def _keep_alive(transport: asyncio.Transport) -> None:
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None:
        return
    with suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_IDLE_S)


@lru_cache(maxsize=32)  # loading the system's authorities takes 10 ms, a pool asks for the same each time
def context_of(tls: Tls) -> ssl.SSLContext:
    """Verified unless the operator says otherwise.

    Raises OSError, ssl.SSLError or `ClientKeyUnusable` when a file cannot be used.
    """
    context = ssl.create_default_context(cafile=str(tls.ca_file) if tls.ca_file is not None else None)
    if tls.ca_file is not None:
        # From Python 3.13 on, certificates of private authorities that lack an extension would be refused.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if tls.mode is not TlsMode.VERIFY:
        context.check_hostname = False
    if tls.mode in (TlsMode.PREFER, TlsMode.UNVERIFIED):
        context.verify_mode = ssl.CERT_NONE
    if tls.cert_file is not None:
        try:
            context.load_cert_chain(tls.cert_file, tls.key_file, tls.key_password or "")
        except ssl.SSLError:
            raise ClientKeyUnusable from None
    return context
