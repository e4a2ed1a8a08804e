"""One request under way on a link, as its asker sees it: items as they come, one of them the last.

An asker waits for the next item, or listens: then it is called with the answer, and nothing was waited for.
When something else comes first, the listener is called with it, once, and everything can be read as usual.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.reply import Item, Notice, Reply
from callgate.upstreams.transport import Outgoing

# What a slow asker may have waiting here; past it the transport stops reading, below half it goes on.
_HIGH_BYTES = 1024 * 1024


CallListener = Callable[[Item | CallgateError], None]


class CallKeeper(Protocol):
    """What carries the call: see `traffic`."""

    def items(self, call: "Call") -> AsyncGenerator[Item]: ...

    def let_go(self, call: "Call") -> None: ...

    def hold(self, rpc_id: int, is_full: bool) -> None:
        """`is_full`: more than the asker can take came. False: go on."""
        ...


class Call:
    """Filled by the link on the event loop, read by one asker."""

    __slots__ = (
        "_held_bytes",
        "_hop",
        "_items",
        "_keeper",
        "_listener",
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
        self._keeper: CallKeeper | None = None
        self._items: deque[Item | CallgateError] = deque()
        self._listener: CallListener | None = None
        self._waiter: asyncio.Future[None] | None = None

    def keep(self, rpc_id: int, method: str, params: bytes, keeper: CallKeeper) -> None:
        """It is on its way."""
        self.rpc_id, self.method, self.params = rpc_id, method, params
        self._keeper = keeper
        self.is_full = False
        if self._hop is not None:
            self._hop.rpc_id = rpc_id

    def listen(self, listener: CallListener) -> None:
        self._listener = listener

    def put(self, item: Item | CallgateError) -> None:
        listener, self._listener = self._listener, None
        if isinstance(item, (Reply, CallgateError)):
            self.is_over = True
            if self.is_full:
                self._set_full(False)  # nothing more will come for it
            if listener is not None:
                listener(item)
                return
        elif isinstance(item, Notice):
            if self.is_full and self.drops:
                return
            self._held_bytes += len(item.params)
            if self._held_bytes > _HIGH_BYTES:
                self._set_full(True)
        self._items.append(item)
        if listener is not None:
            listener(item)
        elif self._waiter is not None and not self._waiter.done():
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

    # ---- ports.upstream.BegunCall

    def items(self) -> AsyncGenerator[Item]:
        assert self._keeper is not None, "it was begun"
        return self._keeper.items(self)

    def cancel(self) -> None:
        assert self._keeper is not None, "it was begun"
        self._listener = None
        self._keeper.let_go(self)

    def let_go(self) -> None:
        """Nobody reads any more: what was held back for this call is not."""
        self._set_full(False)

    def _set_full(self, is_full: bool) -> None:
        if self.is_full != is_full and self._keeper is not None:
            self.is_full = is_full
            self._keeper.hold(self.rpc_id, is_full)

    def outgoing(self, frame: bytes) -> Outgoing:
        return Outgoing(frame, self.rpc_id, self.method, self.name, self.param_headers)
