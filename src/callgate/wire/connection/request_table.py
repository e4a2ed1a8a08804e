"""The pending requests of one connection: ids, entries, timers, and the tombstones of what ended unanswered.

Owns that a request leaves exactly once and takes its timers with it. Must not know frames, states or why a
request ends: that is `connection`.

1. Ids are integers that only grow: one is never used again, so a reply can be matched with its own request
   only.
2. A request carries its own deadline. Only the moment before which none is due is kept beside (`next_at`),
   and all requests are looked through when it comes. Nearly all are answered milliseconds after they were
   sent and have 30 s: an ordered set of deadlines cost each more than its entry here. The rest is O(1).
"""

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec

from callgate.wire.connection.backoff import CEILING_S

DEFAULT_TIMEOUT_S = 30.0
NO_TIMEOUT = math.inf  # for `subscriptions/listen`, whose answer is the end of the subscription
# A cold `npx -y` downloads its server first: 9 to 70 s were seen. One that is killed meanwhile leaves a
# broken cache behind.
START_TIMEOUT_S = 120.0
# A reply can be this late and still be told from one to a request that never was: by then the upstream has
# mostly been restarted and greeted again (added to the longest time-out of a request in use).
TOMBSTONE_EXTRA_S = CEILING_S + 15.0

# Progress extends a time-out, but the specification wants an end to it whatever the progress (2026-07-28,
# basic/patterns/cancellation and 2025-11-25, basic/lifecycle, "Timeouts").
_MAX_EXTENSIONS = 10
_LEAST_TOTAL_S = 300.0


class Pending(msgspec.Struct, eq=False):
    """One request that has no outcome yet."""

    rpc_id: int
    method: str
    call: Any  # the caller's own object, given back with every event; never looked at here
    epoch: int
    started: float
    timeout_s: float
    due_at: float = NO_TIMEOUT  # while its timer runs
    client_token: bytes | None = None  # raw JSON of the progress token that the client chose
    limit_key: str = "timeout_s"  # where the operator sets `timeout_s`, unless it is a handshake
    handshake: bool = False
    sends: int = 0
    unsent: bytes | None = None  # the frame, while the transport has not taken it
    retry_at: float = NO_TIMEOUT  # when it is to be offered again
    pauses: int = 0
    paused_at: float = 0.0
    paused_s: float = 0.0  # in all, so far
    remaining_s: float = 0.0  # of the time-out, while paused

    @property
    def gives_up_at(self) -> float:
        """The end of it, however much progress is reported; a person's thinking time does not count."""
        return self.started + max(_MAX_EXTENSIONS * self.timeout_s, _LEAST_TOTAL_S) + self.paused_s


@dataclass(frozen=True, slots=True)
class Tombstone:
    method: str
    ended: float
    expires: float


class RequestTable:
    def __init__(self, longest_timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self._pending: dict[int, Pending] = {}
        self._soonest = NO_TIMEOUT  # nothing is due before this
        # The first expires first. Not a dict: its first entry lies behind the holes of all that were removed.
        self._tombstones: OrderedDict[int, Tombstone] = OrderedDict()
        self.new_ids = count(1)
        self.epoch = 0
        # Only grows, so that tombstones expire in the order in which they were made.
        self._longest_timeout_s = longest_timeout_s

    def __len__(self) -> int:
        return len(self._pending)

    def __iter__(self) -> Iterator[Pending]:
        """In the order of asking; one that was sent and resumed is the last."""
        return iter(list(self._pending.values()))

    @property
    def tombstones(self) -> int:
        return len(self._tombstones)

    def add(self, pending: Pending, now: float) -> None:
        """Stores the entry and arms its timer: to be done before the frame is handed out."""
        timeout_s = pending.timeout_s
        assert timeout_s > 0, timeout_s
        if self._longest_timeout_s < timeout_s < NO_TIMEOUT and not pending.handshake:
            self._longest_timeout_s = timeout_s
        pending.due_at = due_at = now + timeout_s
        if due_at < self._soonest:
            self._soonest = due_at
        self._pending[pending.rpc_id] = pending

    def find(self, rpc_id: int) -> Pending | None:
        return self._pending.get(rpc_id)

    def awaited(self, rpc_id: int) -> Pending | None:
        """Only one that the upstream can know of: its frame has left, and in this epoch."""
        pending = self._pending.get(rpc_id)
        if pending is None or pending.unsent is not None or pending.epoch != self.epoch:
            return None
        return pending

    def answer(self, rpc_id: int) -> Pending | None:
        """If it is `awaited`, it leaves with a response: no tombstone, a second one is to nothing we know."""
        pending = self._pending.get(rpc_id)
        if pending is None or pending.unsent is not None or pending.epoch != self.epoch:
            return None
        del self._pending[rpc_id]
        return pending

    def end(self, pending: Pending, now: float) -> None:
        """It leaves without a response."""
        del self._pending[pending.rpc_id]
        pending.unsent = None
        self.sweep(now)  # here too: what is never ticked must not grow either
        expires = now + (self._longest_timeout_s + TOMBSTONE_EXTRA_S)
        self._tombstones[pending.rpc_id] = Tombstone(pending.method, now, expires)

    def tombstone(self, rpc_id: int, now: float) -> Tombstone | None:
        if (tombstone := self._tombstones.get(rpc_id)) is not None:
            return tombstone if now < tombstone.expires else None
        # A handshake that a later one overtook: its timer will end it, but for the upstream it is over.
        overtaken = self._pending.get(rpc_id)
        if overtaken is not None and overtaken.unsent is None and overtaken.epoch != self.epoch:
            return Tombstone(overtaken.method, now, now)
        return None

    def sweep(self, now: float) -> None:
        while self._tombstones:
            rpc_id, tombstone = next(iter(self._tombstones.items()))
            if tombstone.expires > now:
                return
            del self._tombstones[rpc_id]

    def extend(self, pending: Pending, now: float) -> None:
        """Progress: the time-out starts again, up to the end that no progress moves."""
        if pending.pauses:
            pending.remaining_s = pending.timeout_s
        else:
            self._arm(pending, pending.timeout_s, now)

    def pause(self, pending: Pending, now: float) -> None:
        """Counted: two questions to the client may be open at once, and the timer waits for both."""
        pending.pauses += 1
        if pending.pauses == 1:
            pending.remaining_s = max(0.0, pending.due_at - now)
            pending.paused_at = now
            pending.due_at = NO_TIMEOUT

    def resume(self, pending: Pending, now: float) -> None:
        if pending.pauses == 0:
            return
        if pending.unsent is None:
            self._pending[pending.rpc_id] = self._pending.pop(pending.rpc_id)
        pending.pauses -= 1
        if pending.pauses == 0:
            pending.paused_s += max(0.0, now - pending.paused_at)
            self._arm(pending, pending.remaining_s, now)

    def _arm(self, pending: Pending, duration_s: float, now: float) -> None:
        pending.due_at = now + min(duration_s, max(0.0, pending.gives_up_at - now))
        self._soonest = min(self._soonest, pending.due_at)

    def wait_to_retry(self, pending: Pending, frame: bytes, delay_s: float, now: float) -> None:
        pending.unsent, pending.retry_at = frame, now + delay_s
        self._soonest = min(self._soonest, pending.retry_at)

    def timed_out(self, now: float) -> list[Pending]:
        """The earliest first. They are still in the table: `end` each of them."""
        if now < self._soonest:
            return []
        due = [pending for pending in self._pending.values() if pending.due_at <= now]
        return sorted(due, key=lambda pending: pending.due_at)

    def to_retry(self, now: float) -> list[Pending]:
        """After what `timed_out` has ended: then it is known when the next is due."""
        if now < self._soonest:
            return []
        due = sorted(
            [one for one in self._pending.values() if one.retry_at <= now], key=lambda one: one.retry_at
        )
        for pending in due:
            pending.retry_at = NO_TIMEOUT
        moments = [min(pending.due_at, pending.retry_at) for pending in self._pending.values()]
        self._soonest = min(moments, default=NO_TIMEOUT)
        return due

    def next_at(self) -> float | None:
        """When to look whether something is due: what was to be due then may have been answered meanwhile."""
        if not self._pending:
            self._soonest = NO_TIMEOUT
        return None if self._soonest == NO_TIMEOUT else self._soonest
