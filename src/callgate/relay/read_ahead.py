"""An answer's items, with a look whether the next one is already there; it is not lost when it is not."""

import asyncio
from collections.abc import AsyncGenerator

from callgate.model.reply import Item


class ReadAhead:
    """One reader at a time, though not always the same task."""

    def __init__(self, items: AsyncGenerator[Item]) -> None:
        self._items = items
        self._coming: asyncio.Task[Item] | None = None

    async def next(self, patience_s: float | None) -> Item | None:
        """None when nothing came within the patience; it is still awaited, for the next reader."""
        if self._coming is None:
            self._coming = asyncio.create_task(self._read())
        try:
            done, _ = await asyncio.wait([self._coming], timeout=patience_s)
        except asyncio.CancelledError:
            await self.close()
            raise
        if not done:
            return None
        coming, self._coming = self._coming, None
        return coming.result()

    async def _read(self) -> Item:
        return await anext(self._items)

    async def close(self) -> None:
        coming, self._coming = self._coming, None
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await self._items.aclose()
