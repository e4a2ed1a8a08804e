"""Turns: how many may do something at once, and how long the others wait for it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from callgate.model.errors import CallgateError


class Turns:
    def __init__(self, at_once: int) -> None:
        self._free = asyncio.Semaphore(at_once)

    @property
    def are_taken(self) -> bool:
        return self._free.locked()

    @asynccontextmanager
    async def taken(self, patience_s: float, busy: CallgateError) -> AsyncGenerator[None]:
        """Raises `busy` when none was free for so long."""
        try:
            async with asyncio.timeout(patience_s):
                await self._free.acquire()
        except TimeoutError:
            raise busy from None
        try:
            yield
        finally:
            self._free.release()
