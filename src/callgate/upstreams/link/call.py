"""One request under way on a link, as its asker sees it: items as they come, one of them the last."""

import asyncio
from collections import deque
from collections.abc import Callable

from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.reply import Item, Notice, Reply
from callgate.upstreams.transport import Outgoing

# What a slow asker may have waiting here; past it the transport stops reading, below half it goes on.
_HIGH_BYTES = 1024 * 1024


class Call:
    """Filled by the link on the event loop, read by one asker."""

    __slots__ = (
        "_held_bytes",
        "_hop",
        "_items",
        "_on_full",
        "_waiter",
        "declared",
        "drops",
        "is_full",
        "is_over",
        "log_floor",
        "may_be_asked",
        "method",
        "name",
        "param_headers",
        "params",
        "rpc_id",
    )

    def __init__(
        self,
        name: str | None = None,
        param_headers: tuple[tuple[str, str], ...] = (),
        hop: Hop | None = None,
    ) -> None:
        self.rpc_id = 0
        self._hop = hop
        self.method = ""
        self.params = b""
        self.name = name
        self.param_headers = param_headers
        self.may_be_asked = False  # whether its asker can take a question of the server's
        self.log_floor = 0  # messages of the server's log below this rank are not for its asker
        # What a modern asker declared: a question beyond it ends the call. None: that is the server's to
        # bear.
        self.declared: bytes | None = None
        self.is_over = False  # the last item was put
        self.is_full = False
        # Whether notices that the asker cannot take are dropped: where holding back would hit others too.
        self.drops = False
        self._held_bytes = 0
        self._on_full: Callable[[bool], None] | None = None
        self._items: deque[Item | CallgateError] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def keep(self, rpc_id: int, method: str, params: bytes, on_full: Callable[[bool], None]) -> None:
        """It is on its way. `on_full(True)`: more than the asker can take came; `on_full(False)`: go on."""
        self.rpc_id, self.method, self.params = rpc_id, method, params
        self._on_full = on_full
        self.is_full = False
        if self._hop is not None:
            self._hop.rpc_id = rpc_id

    def put(self, item: Item | CallgateError) -> None:
        if isinstance(item, (Reply, CallgateError)):
            self.is_over = True
            self._set_full(False)  # nothing more will come for it
        elif isinstance(item, Notice):
            if self.is_full and self.drops:
                return
            self._held_bytes += len(item.params)
            if self._held_bytes > _HIGH_BYTES:
                self._set_full(True)
        self._items.append(item)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self) -> Item:
        """Raises the error that ended the call."""
        while not self._items:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        item = self._items.popleft()
        if isinstance(item, CallgateError):
            raise item
        if isinstance(item, Notice):
            self._held_bytes -= len(item.params)
            if self._held_bytes < _HIGH_BYTES // 2:
                self._set_full(False)
        return item

    def let_go(self) -> None:
        """Nobody reads any more: what was held back for this call is not."""
        self._set_full(False)

    def _set_full(self, is_full: bool) -> None:
        if self.is_full != is_full and self._on_full is not None:
            self.is_full = is_full
            self._on_full(is_full)

    def outgoing(self, frame: bytes) -> Outgoing:
        return Outgoing(frame, self.rpc_id, self.method, self.name, self.param_headers)
