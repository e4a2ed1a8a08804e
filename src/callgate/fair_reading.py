"""Reading one pipe or socket so that a flood on it does not delay the others. Also pauses it for its owner.

Rules
1. What is read goes to the owner in pieces, for a few milliseconds at a time. The rest of it waits for the
   next turn of the loop: 256 KB of small messages are thousands, and each is work.
2. A stream that brings much at once is read on in the next turn. uvloop reads one up to 32 times before it
   looks at another: 8 MB of a flood.
3. A stream that brings work for milliseconds is read on after a pause (`model.turns`).
4. While the owner has paused it nothing is handed over, the rest included.
5. What was read before the end is handed over before the end is told (`flush`), unless the owner ended it.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter

from callgate.model.turns import PAUSE_S, TURN_S

_PIECE_BYTES = 8 * 1024
_BULK_BYTES = 64 * 1024


class FairReading:
    def __init__(self, deliver: Callable[[bytes], None]) -> None:
        self._deliver = deliver
        self._transport: asyncio.ReadTransport | None = None
        self.rest = b""  # what was read and not handed over
        self._at = 0  # in the rest: what is before it was handed over
        self.is_paused = False
        self._is_yielding = False
        self._is_stopped = False

    def use(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport
        self._is_stopped = False
        self._stop_or_go()

    def received(self, data: bytes) -> None:
        """From the transport. What it brings after it was told to stop waits behind the rest."""
        begun = perf_counter()
        if self.rest or self.is_paused or len(data) > _PIECE_BYTES:
            self.rest = self.rest[self._at :] + data if self.rest else data
            self._at = 0
            if not self._is_yielding:
                self._hand_over(begun + TURN_S)
        else:
            self._deliver(data)
        is_long = perf_counter() - begun >= TURN_S
        if is_long or self.rest or len(data) >= _BULK_BYTES:
            self._yield(PAUSE_S if is_long else 0)

    def pause(self) -> None:
        if not self.is_paused:
            self.is_paused = True
            self._stop_or_go()

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            if self.rest:
                self._yield(0)  # not at once: who resumes may be the one that was just handed something
            else:
                self._stop_or_go()

    def flush(self) -> None:
        """It ended: hands over the rest, paused or not."""
        while self.rest:
            self._deliver(self._next_piece())

    def end(self) -> None:
        """Nothing more is handed over."""
        self._transport = None
        self.rest, self._at = b"", 0

    def _yield(self, pause_s: float) -> None:
        """Goes on in the next turn of the loop, or after a pause."""
        if not self._is_yielding:
            self._is_yielding = True
            self._stop_or_go()
            loop = asyncio.get_running_loop()
            if pause_s:
                loop.call_later(pause_s, self._go_on)
            else:
                loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_yielding = False
        self._hand_over(perf_counter() + TURN_S)
        if self.rest and not self.is_paused:
            self._yield(PAUSE_S)
        else:
            self._stop_or_go()

    def _hand_over(self, until: float) -> None:
        """Pieces until the time is up, or the owner pauses."""
        while self.rest and not self.is_paused:
            self._deliver(self._next_piece())
            if perf_counter() >= until:
                break

    def _next_piece(self) -> bytes:
        piece = self.rest[self._at : self._at + _PIECE_BYTES]
        self._at += len(piece)
        if self._at == len(self.rest):
            self.rest, self._at = b"", 0
        return piece

    def _stop_or_go(self) -> None:
        transport = self._transport
        stops = self.is_paused or self._is_yielding or bool(self.rest)
        if transport is None or stops == self._is_stopped or transport.is_closing():
            return
        self._is_stopped = stops
        if stops:
            transport.pause_reading()
        else:
            transport.resume_reading()
