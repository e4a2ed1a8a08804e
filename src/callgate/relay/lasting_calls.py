"""Calls that are open, told to the record once they have lasted for a moment: most are over before that.

A call that is over sooner is one event. One that a crash cuts off this young leaves none.
"""

import asyncio
import time

from callgate.model.events import ExchangeOpened
from callgate.model.exchange import Exchange
from callgate.ports.event_sink import EventSink

_LASTING_S = 0.025
# At most this often. Otherwise each call has a timer to itself, and since the clock of a loop may be no finer
# than a millisecond, a timer for less runs again and again.
_EVERY_S = 0.005


class LastingCalls:
    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self.young: dict[str, Exchange] = {}  # not told yet, oldest first
        self._timer: asyncio.TimerHandle | None = None

    def opened(self, exchange: Exchange) -> None:
        self.young[exchange.exchange_id] = exchange
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LASTING_S, self._tell_lasting)

    def _tell_lasting(self) -> None:
        self._timer = None
        young, before = self.young, time.monotonic() - _LASTING_S
        while young:
            exchange = next(iter(young.values()))
            if exchange.opened_mono > before:
                again_s = max(exchange.opened_mono - before, _EVERY_S)
                self._timer = asyncio.get_running_loop().call_later(again_s, self._tell_lasting)
                return
            del young[exchange.exchange_id]
            self._sink.emit(ExchangeOpened(exchange))
