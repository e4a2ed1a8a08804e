"""Pausing the reading of one pipe or socket: for its owner, and so that one flood does not delay the others.

uvloop reads one stream up to 32 times before it looks at another: 8 MB of a flood. Whoever brings as much as
`BULK_BYTES` at once is read on in the next turn of the loop: a flood costs the others a read, not a second.
"""

import asyncio

BULK_BYTES = 64 * 1024


class FairReading:
    def __init__(self) -> None:
        self._transport: asyncio.ReadTransport | None = None
        self.is_paused = False
        self._is_yielding = False

    def use(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport
        if self.is_paused:
            transport.pause_reading()

    def end(self) -> None:
        self._transport = None

    def pause(self) -> None:
        if not self.is_paused:
            self.is_paused = True
            if self._transport is not None and not self._is_yielding:
                self._transport.pause_reading()

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            if self._transport is not None and not self._is_yielding:
                self._transport.resume_reading()

    def let_others_go_first(self) -> None:
        """Reads on in the next turn of the loop."""
        if self._transport is not None and not self._is_yielding:
            self._is_yielding = True
            if not self.is_paused:
                self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_yielding = False
        if self._transport is not None and not self.is_paused and not self._transport.is_closing():
            self._transport.resume_reading()
