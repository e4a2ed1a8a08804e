"""One request under way on a link, as its asker sees it: what the server says, and its answer.

An asker awaits the answer (`go_on`), or listens: then it is called with the answer, and nothing was waited
for. When something else comes first, the listener is called with it, once, and the rest can be awaited.
"""

import asyncio
from collections import deque
from typing import Protocol

import msgspec

from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.reply import Notice, Reply, Said, Tell
from callgate.ports.upstream import CallListener

# What a slow asker may have waiting here; past it the transport stops reading, below half it goes on.
_HIGH_BYTES = 1024 * 1024


class CallKeeper(Protocol):
    """What carries the call: see `traffic`."""

    drops: bool  # notices that the asker cannot take, where holding back would hit others too

    def begin(self, call: "Call") -> None: ...

    def let_go(self, call: "Call") -> None: ...

    def hold(self, rpc_id: int, is_full: bool) -> None:
        """`is_full`: more than the asker can take came. False: go on."""
        ...


class Call(msgspec.Struct, eq=False):
    """Filled by the link on the event loop, read by one asker."""

    name: str | None = None
    param_headers: tuple[tuple[str, str], ...] = ()
    hop: Hop | None = None
    rpc_id: int = -1  # ours, once it was sent
    method: str = ""
    params: bytes = b""
    timeout_s: float | None = None
    limit_key: str = "timeout_s"  # of its time limit in the server's entry
    may_be_asked: bool = False  # whether its asker can take a question of the server's
    log_floor: int = 0  # messages of the server's log below this rank are not for its asker
    # What a modern asker declared: a question beyond it ends the call. None: that is the server's to bear.
    declared: bytes | None = None
    is_over: bool = False  # the last item was put
    is_full: bool = False
    listener: CallListener | None = None
    keeper: CallKeeper | None = None
    held_bytes: int = 0
    waiting: deque[Reply | Said | CallgateError] | None = None  # what was not read yet
    reader: asyncio.Future[None] | None = None  # set while a reader waits for the next item

    def put(self, item: Reply | Said | CallgateError) -> None:
        listener, self.listener = self.listener, None
        if isinstance(item, (Reply, CallgateError)):
            self.is_over = True
            if self.is_full:
                self.set_full(False)  # nothing more will come for it
            if listener is not None:
                listener(item)
                return
        elif isinstance(item, Notice):
            if self.is_full and self.keeper is not None and self.keeper.drops:
                return
            self.held_bytes += len(item.params)
            if self.held_bytes > _HIGH_BYTES:
                self.set_full(True)
        if self.waiting is None:
            self.waiting = deque()
        self.waiting.append(item)
        if listener is not None:
            listener(item)
        elif self.reader is not None and not self.reader.done():
            self.reader.set_result(None)

    # ---- ports.upstream.BegunCall

    async def go_on(self, tell: Tell) -> Reply:
        """Sends it, if that was not done yet. Raises the error that ended it. A cancellation of this cancels
        the call at the server."""
        if self.rpc_id < 0 and self.keeper is not None:
            self.keeper.begin(self)
        try:
            while True:
                while not self.waiting:
                    self.reader = asyncio.get_running_loop().create_future()
                    await self.reader
                item = self.waiting.popleft()
                if isinstance(item, Reply):
                    return item
                if isinstance(item, CallgateError):
                    raise item
                if isinstance(item, Notice):
                    self.held_bytes -= len(item.params)
                    if self.held_bytes < _HIGH_BYTES // 2:
                        self.set_full(False)
                await tell(item)
        finally:
            if (self.is_full or not self.is_over) and self.keeper is not None:
                self.keeper.let_go(self)

    def cancel(self) -> None:
        assert self.keeper is not None, "it was begun"
        self.listener = None
        self.keeper.let_go(self)

    def set_full(self, is_full: bool) -> None:
        if self.is_full != is_full and self.keeper is not None:
            self.is_full = is_full
            self.keeper.hold(self.rpc_id, is_full)
