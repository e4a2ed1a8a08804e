"""One request under way on a link, as its asker sees it: items as they come, one of them the last."""

import asyncio
from collections import deque

from callgate.model.errors import UpstreamError
from callgate.model.reply import Item, Reply
from callgate.upstreams.transport import Outgoing


class Call:
    """Filled by the link on the event loop, read by one asker."""

    __slots__ = ("_items", "_waiter", "is_over", "method", "name", "param_headers", "rpc_id")

    def __init__(self, name: str | None = None, param_headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.rpc_id = 0
        self.method = ""
        self.name = name
        self.param_headers = param_headers
        self.is_over = False  # the last item was put
        self._items: deque[Item | UpstreamError] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, item: Item | UpstreamError) -> None:
        if isinstance(item, (Reply, UpstreamError)):
            self.is_over = True
        self._items.append(item)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self) -> Item:
        """Raises the UpstreamError that ended the call."""
        while not self._items:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        item = self._items.popleft()
        if isinstance(item, UpstreamError):
            raise item
        return item

    def outgoing(self, frame: bytes, method: str) -> Outgoing:
        return Outgoing(frame, self.rpc_id, method, self.name, self.param_headers)
