"""A receiver that remembers, and can be waited for."""

import asyncio
from collections.abc import Callable

from callgate.model.errors import UpstreamError

# Far more than anything here takes: it turns a hang into a failure and measures nothing.
DEADLINE_S = 30.0


class Heard:
    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.losses: list[UpstreamError] = []
        self.frames_at_loss = 0
        self.when_received: Callable[[bytes], None] = lambda frame: None
        self._changed = asyncio.Event()

    def answered(self, rpc_id: int, result: bytes) -> bool:
        return False  # `received` hears it

    def received(self, frame: bytes, about: int | None) -> None:
        assert about is None
        self.frames.append(frame)
        self._changed.set()
        self.when_received(frame)

    def stream_failed(self, about: int, error: UpstreamError) -> None:
        raise AssertionError("a pipe has no streams of requests")

    def stream_paused(self, about: int, retry_ms: int | None) -> None:
        raise AssertionError("a pipe has no streams of requests")

    def lost(self, error: UpstreamError) -> None:
        self.losses.append(error)
        self.frames_at_loss = len(self.frames)
        self._changed.set()

    async def frame(self, number: int = 0) -> bytes:
        await self._until(lambda: len(self.frames) > number)
        return self.frames[number]

    async def loss(self) -> UpstreamError:
        await self._until(lambda: bool(self.losses))
        return self.losses[0]

    async def _until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()
