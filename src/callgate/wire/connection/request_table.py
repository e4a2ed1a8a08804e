"""The pending requests of one connection: ids, entries, timers, and the tombstones of what ended unanswered.

Owns that a request leaves exactly once and takes its timers with it. Must not know frames, states or why a
request ends: that is `connection`. Every operation is O(1), amortised where tombstones are swept.

Ids are integers that only grow: one is never used again, so a reply can be matched with its own request only.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec

from callgate.wire.connection.deadlines import Deadlines

DEFAULT_TIMEOUT_S = 30.0
NO_TIMEOUT = math.inf  # for `subscriptions/listen`, whose answer is the end of the subscription
# A cold `npx -y` downloads its server first: 9 to 70 s were seen. One that is killed meanwhile leaves a
# broken cache behind.
START_TIMEOUT_S = 120.0
BACKOFF_CEILING_S = 30.0
# A reply can be this late and still be told from one to a request that never was: by then the upstream has
# mostly been restarted and greeted again (added to the longest time-out of a request in use).
TOMBSTONE_EXTRA_S = BACKOFF_CEILING_S + 15.0

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
    client_token: bytes | None = None  # raw JSON of the progress token that the client chose
    limit_key: str = "timeout_s"  # where the operator sets `timeout_s`, unless it is a handshake
    handshake: bool = False
    sends: int = 0
    unsent: bytes | None = None  # the frame, while the transport has not taken it
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


class RequestTable:
    def __init__(self, longest_timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self._pending: dict[int, Pending] = {}
        self._timers = Deadlines()
        self._retries = Deadlines()
        self._tombstones: dict[int, Tombstone] = {}
        self._tombstone_expiries = Deadlines()
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
        if timeout_s < NO_TIMEOUT:
            if timeout_s > self._longest_timeout_s and not pending.handshake:
                self._longest_timeout_s = timeout_s
            self._timers.add(pending.rpc_id, timeout_s, now)
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
        self._timers.remove(rpc_id)
        return pending

    def end(self, pending: Pending, now: float) -> None:
        """It leaves without a response."""
        rpc_id = pending.rpc_id
        del self._pending[rpc_id]
        self._timers.remove(rpc_id)
        self._retries.remove(rpc_id)
        pending.unsent = None
        self.sweep(now)  # here too: what is never ticked must not grow either
        self._tombstones[rpc_id] = Tombstone(pending.method, now)
        self._tombstone_expiries.add(rpc_id, self._longest_timeout_s + TOMBSTONE_EXTRA_S, now)

    def end_all(self, now: float) -> list[Pending]:
        ended = list(self._pending.values())
        for pending in ended:
            self.end(pending, now)
        return ended

    def tombstone(self, rpc_id: int, now: float) -> Tombstone | None:
        expiry = self._tombstone_expiries.at(rpc_id)
        if expiry is not None:
            return self._tombstones[rpc_id] if now < expiry else None
        # A handshake that a later one overtook: its timer will end it, but for the upstream it is over.
        overtaken = self._pending.get(rpc_id)
        if overtaken is not None and overtaken.unsent is None and overtaken.epoch != self.epoch:
            return Tombstone(overtaken.method, now)
        return None

    def sweep(self, now: float) -> None:
        for rpc_id in self._tombstone_expiries.due(now):
            del self._tombstones[rpc_id]

    def deadline(self, rpc_id: int) -> float | None:
        """None while it is paused, or when it has no time-out."""
        return self._timers.at(rpc_id)

    def extend(self, pending: Pending, now: float) -> None:
        """Progress: the time-out starts again, up to the end that no progress moves."""
        if pending.pauses:
            pending.remaining_s = pending.timeout_s
        else:
            self._timers.remove(pending.rpc_id)
            self._arm(pending, pending.timeout_s, now)

    def pause(self, pending: Pending, now: float) -> None:
        """Counted: two questions to the client may be open at once, and the timer waits for both."""
        pending.pauses += 1
        if pending.pauses == 1:
            deadline = self._timers.at(pending.rpc_id)
            pending.remaining_s = NO_TIMEOUT if deadline is None else max(0.0, deadline - now)
            pending.paused_at = now
            self._timers.remove(pending.rpc_id)

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
        duration_s = min(duration_s, max(0.0, pending.gives_up_at - now))
        if duration_s < NO_TIMEOUT:
            self._timers.add(pending.rpc_id, duration_s, now)

    def wait_to_retry(self, pending: Pending, frame: bytes, delay_s: float, now: float) -> float:
        pending.unsent = frame
        return self._retries.add(pending.rpc_id, delay_s, now)

    def timed_out(self, now: float) -> list[Pending]:
        """They have left the timers, not the table: `end` each of them."""
        return [self._pending[rpc_id] for rpc_id in self._timers.due(now)]

    def to_retry(self, now: float) -> list[Pending]:
        return [self._pending[rpc_id] for rpc_id in self._retries.due(now)]

    def next_at(self) -> float | None:
        timer, retry = self._timers.next_at(), self._retries.next_at()
        if retry is None or (timer is not None and timer < retry):
            return timer
        return retry
