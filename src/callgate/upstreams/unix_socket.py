"""A local stream socket as a transport: one frame a line, like stdio. How our own commands join a gateway."""

import asyncio
import socket
from pathlib import Path

from callgate.model.error_codes import UPSTREAM_TOO_LARGE, UPSTREAM_UNAVAILABLE
from callgate.model.errors import CallerError, UpstreamError
from callgate.upstreams.transport import OneStream, Receiver
from callgate.wire.framing.lines import LineSplitter, flat


class UnixSocketTransport(OneStream, asyncio.Protocol):
    """Over a path, or over a socket that is connected already."""

    def __init__(self, place: Path | socket.socket, receiver: Receiver) -> None:
        super().__init__(self._pause_reading, self._resume_reading)
        self._place = place
        self._receiver = receiver
        self._lines = LineSplitter()
        self._transport: asyncio.Transport | None = None
        self._is_full = False
        self._is_over = False

    # ---- Transport

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        where = (
            {"sock": self._place} if isinstance(self._place, socket.socket) else {"path": str(self._place)}
        )
        try:
            self._transport, _ = await loop.create_unix_connection(lambda: self, **where)  # pyright: ignore[reportArgumentType]
        except OSError as problem:
            raise UpstreamError(
                UPSTREAM_UNAVAILABLE, f"Nothing listens on {self._place}: {problem.strerror}"
            ) from problem

    def send(self, frame: bytes, *_: object) -> bool:
        if self._transport is None or self._is_full or self._is_over:
            return False
        self._transport.write(flat(frame) + b"\n")
        return True

    def _pause_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    async def close(self) -> None:
        self._is_over = True
        if self._transport is not None:
            self._transport.close()

    # ---- asyncio.Protocol

    def data_received(self, data: bytes) -> None:
        try:
            frames = self._lines.feed(data)
        except CallerError as error:
            self._say_lost(UpstreamError(UPSTREAM_TOO_LARGE, error.message))
            return
        for frame in frames:
            if not self._is_over:
                self._receiver.received(frame, None)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False

    def connection_lost(self, exc: Exception | None) -> None:
        self._say_lost(UpstreamError(UPSTREAM_UNAVAILABLE, "The other side closed the connection"))

    def _say_lost(self, error: UpstreamError) -> None:
        if not self._is_over:
            self._is_over = True
            if self._transport is not None:
                self._transport.close()
            self._receiver.lost(error)
