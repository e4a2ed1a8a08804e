"""Lines that only list: each declares what all clients of one view declare, and ends soon after.

A server that shows more to clients it may ask something does so on a connection that declares it. No tool is
called on these connections, and nobody is behind them: what the server asks on one is refused.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from callgate.model.error_codes import UPSTREAM_BUSY
from callgate.model.errors import UpstreamError
from callgate.model.reply import Answer, Asking, Notice, Undelivered, Unsolicited
from callgate.task_set import TaskSet
from callgate.upstreams.child.slots import Expendable, Need
from callgate.upstreams.link.line import Line
from callgate.upstreams.link.link import OnUnsolicited
from callgate.wire.eras.subscription import LIST_CHANGED

# A client lists tools, prompts and resources within a moment of each other, and a server that adds tools when
# it has been introduced says so by then.
_IDLE_S = 3.0
# Each may be a process. There are as many as clients declare different things at the same time.
_MAX_LINES = 4


_NOBODY = Answer(error=b'{"code":-32601,"message":"This connection only lists: nobody can be asked"}')


class ListingLines:
    def __init__(
        self,
        name: str,
        open_line: Callable[[str, OnUnsolicited], Line],
        changed: Callable[[str, str], None],
    ) -> None:
        """`open_line`: takes what the line declares. `changed`: is told that, and which list changed."""
        self._name = name
        self._open_line = open_line
        self._changed = changed
        self._lines: dict[str, Line] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._ending = TaskSet()

    def all(self) -> list[Line]:
        return list(self._lines.values())

    def get(self, declared: str) -> Line:
        """Opened if need be. Raises UpstreamError when there are too many."""
        loop = asyncio.get_running_loop()
        line = self._lines.get(declared)
        if line is None:
            if len(self._lines) >= _MAX_LINES:
                self._make_room()
            line = self._lines[declared] = self._open_line(declared, partial(self._hear, declared))
        line.link.used_at = loop.time()
        if self._sweep is None:
            self._sweep = loop.call_later(_IDLE_S, self._end_idle)
        return line

    def expendable(self) -> list[Expendable]:
        """For whoever needs the slots of their processes. Also lines that are being asked: what they list can
        be asked for again, what a client's own process remembers cannot."""
        return [
            Expendable(Need.SPARE, line.link.used_at, lambda line=line: self.end(line))
            for line in self.all()
            if line.link.is_ready  # else it may hold no slot
        ]

    def end(self, line: Line) -> None:
        """It is of no use; a link would try again for ever."""
        for declared in [declared for declared, one in self._lines.items() if one is line]:
            del self._lines[declared]
            self._ending.start(line.close())

    async def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        for line in self.all():
            self.end(line)
        await self._ending.wait()

    def _hear(self, declared: str, item: Unsolicited | Undelivered) -> None:
        if isinstance(item, Asking):
            item.respond(_NOBODY)
        elif isinstance(item, Notice) and item.method in LIST_CHANGED.values():
            self._changed(declared, item.method)

    def _make_room(self) -> None:
        idle = [line for line in self.all() if line.is_idle]
        if not idle:
            text = f"{self._name} is asked for its lists by too many kinds of clients at once"
            raise UpstreamError(UPSTREAM_BUSY, text, hint="Ask again in a moment")
        self.end(min(idle, key=lambda line: line.link.used_at))

    def _end_idle(self) -> None:
        loop = asyncio.get_running_loop()
        for line in self.all():
            if line.is_idle and line.link.used_at <= loop.time() - _IDLE_S:
                self.end(line)
        self._sweep = loop.call_later(_IDLE_S / 3, self._end_idle) if self._lines else None
