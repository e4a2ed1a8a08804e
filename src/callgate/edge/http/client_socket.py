"""The socket of one client: bytes out, pauses both ways, and hanging up. `http1` is what is said on it.

Rules
1. Answers that nobody reads have a limit over all connections (`byte_budget.UnreadAnswers`).
2. A client that is still sending while it is hung up is heard out for a while (`linger`).
"""

import asyncio
from collections.abc import Callable
from typing import cast

from callgate.edge.http.byte_budget import UnreadAnswers

# Bytes that nobody read would reset the connection, and the answer would be lost with it.
_LINGER_S = 2.0


class ClientSocket(asyncio.Protocol):
    def __init__(self, unread: UnreadAnswers, now: Callable[[], float]) -> None:
        self._unread = unread
        self._now = now
        self._transport: asyncio.Transport | None = None
        self._drain: asyncio.Future[None] | None = None  # done when the client has read enough
        self._stuck_since: float | None = None  # the client does not read what we wrote
        self._wrote_at = now()
        self._is_reading_paused = False
        self._closing = False
        self._lingering: asyncio.TimerHandle | None = None

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        self.resume_writing()

    def pause_writing(self) -> None:
        self._drain = asyncio.get_running_loop().create_future()
        self._stuck_since = self._now()
        if self._transport is not None:
            self._unread.hold(self.abort, self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._stuck_since = None
        self._unread.forget(self.abort)
        if self._drain is not None and not self._drain.done():
            self._drain.set_result(None)
        self._drain = None

    # ---- writing

    @property
    def is_closed(self) -> bool:
        return self._transport is None

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._wrote_at = self._now()
            self._transport.write(data)

    async def drained(self) -> None:
        if self._drain is not None:
            await self._drain

    # ---- reading

    def pause_reading(self) -> None:
        if self._transport is not None:
            self._is_reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and self._is_reading_paused:
            self._is_reading_paused = False
            self._transport.resume_reading()

    # ---- hanging up

    def close(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def linger(self) -> None:
        """Hang up, and take what the client still sends for a moment, unread."""
        self._closing = True
        self.resume_reading()
        if self._transport is not None:
            self._transport.write_eof()
            self._lingering = asyncio.get_running_loop().call_later(_LINGER_S, self.abort)

    def drop_if_stuck(self, before: float) -> None:
        """A client that reads nothing keeps our answer in memory, also after `close`: cut it off."""
        if self._stuck_since is not None and self._stuck_since < before:
            self.abort()

    def abort(self) -> None:
        """Hang up without waiting for what is still unsent."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()
