"""Those who listen to a feed. A slow one misses rows and is told how many; the others do not notice.

Used on the event loop.
"""

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncGenerator

from callgate.ports.row_feed import FeedRow, Missed

# Of one listener; rows are shared among them. Who is this far behind reads the record.
_MAX_WAITING = 2_000


class _Listener:
    def __init__(self) -> None:
        self._waiting: deque[FeedRow] = deque()
        self._missed = 0
        self._is_behind = False
        self._is_told = asyncio.Event()

    def tell(self, rows: list[FeedRow], missed: int = 0, *, is_behind: bool = False) -> None:
        # Once behind, nothing more until that was told: who comes back with the id of a row it was given must
        # not have passed the gap.
        room = 0 if self._is_behind else max(0, _MAX_WAITING - len(self._waiting))
        self._waiting.extend(rows[:room])
        missed += len(rows) - min(room, len(rows))
        self._missed += missed
        self._is_behind |= is_behind or missed > 0
        if rows or self._is_behind:
            self._is_told.set()

    async def next(self) -> FeedRow | Missed:
        while not self._waiting and not self._is_behind:
            self._is_told.clear()
            await self._is_told.wait()
        if self._waiting:
            return self._waiting.popleft()
        missed, self._missed, self._is_behind = self._missed, 0, False
        return Missed(missed)


class Listeners:
    def __init__(self) -> None:
        # Weakly: a stream that was given up before its first row has nobody to take it off the list.
        self._listeners: weakref.WeakSet[_Listener] = weakref.WeakSet()

    def __bool__(self) -> bool:
        """May be asked from any thread."""
        return bool(self._listeners)

    def listen(self) -> AsyncGenerator[FeedRow | Missed]:
        listener = _Listener()
        self._listeners.add(listener)  # now, not with the first row that is asked for: none falls in between
        return self._rows_for(listener)

    def tell(self, rows: list[FeedRow], missed: int = 0, *, is_behind: bool = False) -> None:
        """`is_behind`: rows may be missing, nobody knows how many."""
        for listener in self._listeners:
            listener.tell(rows, missed, is_behind=is_behind)

    async def _rows_for(self, listener: _Listener) -> AsyncGenerator[FeedRow | Missed]:
        try:
            while True:
                yield await listener.next()
        finally:
            self._listeners.discard(listener)
