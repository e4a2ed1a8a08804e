"""How many child processes the gateway has at most, over all stdio servers: `[server] max_children`.

Rules
1. A process has a slot from before it is started until it is gone. The shared process of each server has one
   for good (`reserve`), all others take theirs when they start.
2. Past the limit the process that is needed least is ended: first a spare, then one whose client has left,
   then the one that was idle longest. Nothing is ended that is being used.
3. A caller waits a moment for a slot, in the order of asking, and then gets the error that all are in use.
   A spare does not wait, and nothing is ended for it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from callgate.model.error_codes import UPSTREAM_BUSY
from callgate.model.errors import UpstreamError

# Node or Python, each has 50 to 100 MB.
DEFAULT_MAX_CHILDREN = 100
# A process that is asked to end mostly does so in milliseconds, and has two seconds before it is killed.
_PATIENCE_S = 5.0
# How often it is looked whether a process became idle while somebody waits.
_LOOK_S = 0.1


class Need(IntEnum):
    """Of a process that is not used at the moment, the least first."""

    SPARE = 0
    CLIENT_LEFT = 1
    IDLE = 2


@dataclass(frozen=True, slots=True)
class Expendable:
    """A process that may be ended."""

    need: Need
    used_at: float  # of the loop's clock
    end: Callable[[], None]  # begins it; the slot comes back when the process is gone


# What one holder of processes could do without at the moment.
Offer = Callable[[], list[Expendable]]


class ChildSlots:
    """One per gateway; everything happens on the event loop's thread."""

    def __init__(self, limit: int = DEFAULT_MAX_CHILDREN, patience_s: float = _PATIENCE_S) -> None:
        self.limit = limit
        self._patience_s = patience_s
        self._free = limit
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ending = 0  # processes that were told to end for somebody who waits
        self._offers: list[Offer] = []
        self._look: asyncio.TimerHandle | None = None

    @property
    def used(self) -> int:
        return self.limit - self._free

    def reserve(self) -> None:
        """For a process that is there from the start, and is never ended for another."""
        self._free -= 1

    def ask_first(self, offer: Offer) -> None:
        """Holders of slots that may be able to give one up."""
        self._offers.append(offer)

    def ask_no_more(self, offer: Offer) -> None:
        self._offers.remove(offer)

    def use_limit(self, limit: int) -> None:
        """Nothing that runs is ended: with fewer slots than processes nobody gets one until some are back."""
        more, self.limit = limit - self.limit, limit
        self._free += more
        while self._free > 0 and self._waiting:
            self._free -= 1
            self.give_back()

    async def take(self) -> None:
        """Raises UpstreamError when all are in use."""
        if self.take_free():
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._make_room()
        try:
            async with asyncio.timeout(self._patience_s):
                await turn
        except TimeoutError as problem:
            if turn.done() and not turn.cancelled():
                return  # it came in the last moment
            raise self._all_in_use() from problem
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)

    def take_free(self) -> bool:
        """One that nobody waits for, if there is any."""
        if self._free <= 0 or self._waiting:
            return False
        self._free -= 1
        return True

    def give_back(self) -> None:
        """The process is gone."""
        self._ending = max(0, self._ending - 1)
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _make_room(self) -> None:
        wanted = len(self._waiting) - self._ending
        if wanted > 0:
            expendable = [one for offer in self._offers for one in offer()]
            expendable.sort(key=lambda one: (one.need, one.used_at))
            for one in expendable[:wanted]:
                self._ending += 1
                one.end()
        if self._look is None:
            self._look = asyncio.get_running_loop().call_later(_LOOK_S, self._look_again)

    def _look_again(self) -> None:
        self._look = None
        if self._waiting:
            self._make_room()

    def _all_in_use(self) -> UpstreamError:
        text = f"All {self.limit} processes that may run for stdio servers are in use"
        hint = (
            "Try again in a moment; the operator can raise [server] max_children, or set "
            'isolation = "shared" for servers that keep no state for a client'
        )
        return UpstreamError(UPSTREAM_BUSY, text, hint=hint)
