"""What the event loop hands over: a queue bounded by bytes, and what becomes of the rest when it is full.

1. `put` never blocks. Past the first limit an exchange goes without its bodies, past the second it is only
   counted: the record itself says what it does not hold.
2. What was put is taken in its order.
"""

import threading
import time
from collections import deque

import msgspec

from callgate.model.events import Aside, ExchangeOpened, ExchangeSettled, SessionClosed, SessionOpened
from callgate.model.exchange import Exchange
from callgate.recorder.losses import Losses

# Ten seconds of 1,000 calls each with a full disk; more would endanger the gateway itself.
BODIES_UNTIL_BYTES = 32 * 1024 * 1024
ROWS_UNTIL_BYTES = 48 * 1024 * 1024
# What an exchange weighs beside its bodies, roughly: its objects.
OBJECT_BYTES = 3000


class Bodiless(msgspec.Struct, frozen=True):
    """A settled exchange whose bodies were dropped; how long they were is still known."""

    exchange: Exchange
    request_bytes: int
    response_bytes: int


Kept = SessionOpened | SessionClosed | ExchangeOpened | ExchangeSettled | Aside
Taken = Kept | Bodiless


class Intake:
    """`put` from the loop's thread, `take` from the recorder's."""

    def __init__(
        self, bodies_until_bytes: int = BODIES_UNTIL_BYTES, rows_until_bytes: int = ROWS_UNTIL_BYTES
    ) -> None:
        self._bodies_until = bodies_until_bytes
        self._rows_until = rows_until_bytes
        self._queue: deque[tuple[Taken, int]] = deque()
        # Each is written by one thread only; their difference is what waits.
        self._put_bytes = 0
        self._taken_bytes = 0
        self._losses = Losses()
        self._losses_lock = threading.Lock()
        self._has_losses = False
        self.reason = "events came faster than they could be written"

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def size_bytes(self) -> int:
        return self._put_bytes - self._taken_bytes

    def is_short(self, max_events: int, max_body_bytes: int) -> bool:
        """Nothing was lost, and what waits is no more than that, roughly: bodies are weighed twice."""
        count = len(self._queue)
        size = self._put_bytes - self._taken_bytes - OBJECT_BYTES * count
        return count <= max_events and size <= 2 * max_body_bytes and not self._has_losses

    def put(self, event: Kept) -> None:
        size = OBJECT_BYTES
        if isinstance(event, ExchangeSettled):
            exchange = event.exchange
            settlement = exchange.settlement
            # Twice: what an upstream was sent and what it sent may differ from what the client saw.
            reply = b"" if settlement is None else settlement.reply or b""
            size += 2 * (len(exchange.arrival.params) + len(reply))
        elif isinstance(event, Aside):
            size += len(event.params) + len(event.settlement.reply or b"")
        if self._put_bytes - self._taken_bytes + size > self._bodies_until:
            self._squeeze_in(event)
            return
        self._put_bytes += size
        self._queue.append((event, size))

    def take_short(self, max_events: int) -> list[Taken]:
        """What `is_short`, on the thread that puts."""
        if len(self._queue) > max_events:
            return self.take(max_events, self._rows_until)
        taken = [event for event, _ in self._queue]
        self._queue.clear()
        self._taken_bytes = self._put_bytes
        return taken

    def take(self, max_events: int, max_bytes: int) -> list[Taken]:
        taken: list[Taken] = []
        total = 0
        queue = self._queue
        for _ in range(min(len(queue), max_events)):
            event, size = queue.popleft()
            taken.append(event)
            total += size
            if total >= max_bytes:
                break
        self._taken_bytes += total
        return taken

    def take_losses(self) -> Losses:
        with self._losses_lock:
            taken, self._losses, self._has_losses = self._losses, Losses(), False
        return taken

    def _squeeze_in(self, event: Kept) -> None:
        if isinstance(event, ExchangeOpened):
            return  # its end will tell
        is_exchange = isinstance(event, ExchangeSettled)
        at_s = event.exchange.opened_at if is_exchange else time.time()
        if self.size_bytes + OBJECT_BYTES > self._rows_until:
            with self._losses_lock:
                self._losses.missing.add(at_s, self.reason)
                self._has_losses = True
            return
        if is_exchange or isinstance(event, Aside):
            with self._losses_lock:
                self._losses.bodiless.add(at_s, self.reason)
                self._has_losses = True
        self._put_bytes += OBJECT_BYTES
        self._queue.append((_without_bodies(event), OBJECT_BYTES))


def _without_bodies(event: Kept) -> Taken:
    if isinstance(event, ExchangeSettled):
        return _bodiless(event.exchange)
    if isinstance(event, Aside):
        bare = msgspec.structs.replace(event.settlement, reply=None)
        return msgspec.structs.replace(event, params=b"", settlement=bare)
    return event


def _bodiless(exchange: Exchange) -> Bodiless:
    """The statement stays, it is what an audit asks for."""
    arrival, settlement = exchange.arrival, exchange.settlement
    reply = settlement.reply if settlement is not None else None
    bare = msgspec.structs.replace(
        exchange,
        arrival=msgspec.structs.replace(arrival, params=b"", headers=None),
        settlement=settlement and msgspec.structs.replace(settlement, reply=None),
        hops=[msgspec.structs.replace(hop, params=b"", result=None) for hop in exchange.hops],
        annotations=None,
    )
    return Bodiless(bare, len(arrival.params), len(reply or b""))
