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
        self._page = ""
        self._at = 0

    def take(self, digits: int) -> str:
        """Hexadecimal ones, four bits each."""
        begin, end = self._at, self._at + digits
        if end > len(self._page):
            self._page, begin, end = os.urandom(4096).hex(), 0, digits
        self._at = end
        return self._page[begin:end]


_entropy = _Entropy()


def new_trace_id() -> str:
    """For the thread of the event loop only, as `new_exchange_id`."""
    return _entropy.take(32)


def new_span_id() -> str:
    """For the thread of the event loop only."""
    return _entropy.take(16)


def new_exchange_id(now_s: float, entropy: bytes | None = None) -> str:
    """A UUIDv7 (RFC 9562, 5.7): sorts by time, so the newest rows of the record sit together.

    `entropy` (10 bytes) is an argument for tests; by default it comes from the system's CSPRNG. For the
    thread of the event loop only.
    """
    text = entropy.hex() if entropy is not None else _entropy.take(20)
    millis = f"{int(now_s * 1000) & 0xFFFF_FFFF_FFFF:012x}"
    return f"{millis[:8]}-{millis[8:]}-7{text[1:4]}-{_VARIANT[text[4]]}{text[5:8]}-{text[8:]}"
