"""Who is calling, and the ids under which we remember what they did."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    """Who the gate decided the caller is. A session and a parked call belong to exactly one principal."""

    name: str


# The person at this machine: loopback without tokens, and every local pipe or socket.
LOCAL = Principal("local")


# The first digit of the variant field: its upper two bits are 10.
_VARIANT = {digit: f"{0x8 | (int(digit, 16) & 0x3):x}" for digit in "0123456789abcdef"}


class _Entropy:
    """The system's CSPRNG by the page: asking it for each id took a fortieth of a request."""

    def __init__(self) -> None:
        self._page = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._page):
            self._page, self._at = os.urandom(4096), 0
        taken = self._page[self._at : self._at + count]
        self._at += count
        return taken


_entropy = _Entropy()


def new_trace_id() -> str:
    """For the thread of the event loop only, as `new_exchange_id`."""
    return _entropy.take(16).hex()


def new_span_id() -> str:
    """For the thread of the event loop only."""
    return _entropy.take(8).hex()


def new_exchange_id(now_s: float, entropy: bytes | None = None) -> str:
    """A UUIDv7 (RFC 9562, 5.7): sorts by time, so the newest rows of the record sit together.

    `entropy` (10 bytes) is an argument for tests; by default it comes from the system's CSPRNG. For the
    thread of the event loop only.
    """
    random = entropy if entropy is not None else _entropy.take(10)
    text = random.hex()
    millis = f"{int(now_s * 1000) & 0xFFFF_FFFF_FFFF:012x}"
    return f"{millis[:8]}-{millis[8:]}-7{text[1:4]}-{_VARIANT[text[4]]}{text[5:8]}-{text[8:]}"
