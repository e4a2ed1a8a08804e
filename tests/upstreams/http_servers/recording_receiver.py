"""A receiver that keeps what it is told, in order, and lets a test wait for it."""

import asyncio
import json
from typing import Any

from callgate.model.errors import UpstreamError

Told = tuple[Any, ...]


class RecordingReceiver:
    def __init__(self) -> None:
        self.told: asyncio.Queue[Told] = asyncio.Queue()
        self.frames: list[bytes] = []

    def answered(self, rpc_id: int, result: bytes) -> bool:
        return False  # `received` hears it

    def received(self, frame: bytes, about: int | None) -> None:
        self.frames.append(frame)
        self.told.put_nowait(("received", json.loads(frame), about))

    def stream_failed(self, about: int, error: UpstreamError) -> None:
        self.told.put_nowait(("failed", about, error))

    def stream_paused(self, about: int, retry_ms: int | None) -> None:
        self.told.put_nowait(("paused", about, retry_ms))

    def lost(self, error: UpstreamError) -> None:
        self.told.put_nowait(("lost", error))

    async def next(self) -> Told:
        async with asyncio.timeout(20):
            return await self.told.get()

    async def failure(self, about: int) -> UpstreamError:
        what, who, error = await self.next()
        assert (what, who) == ("failed", about)
        return error
