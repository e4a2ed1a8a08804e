"""Wrong bearer tokens: how long each is left without its answer, and what is logged of them.

A right token is never slowed down, whatever came from its address before: one guesser behind a shared address
(a company's gateway, a reverse proxy) must not lock the others out. So this makes guessing slow and visible;
what makes it hopeless is the length of the tokens (config/specs/server.py).

Rules
1. Wrong tokens of one address, with no quiet minute between them, are one burst. The first few are answered
   at once (somebody mistyped), each later one after twice the time, up to a limit.
2. No more than a few of one address wait at a time: a client that sends
   more in parallel is refused.
3. A burst is one line of the log, and one more for each minute that it lasts; the token is never in it.
4. What is known of addresses has a limit: of many addresses the one heard longest ago is forgotten.
"""

import ipaddress
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

_log = logging.getLogger(__name__)

_QUIET_S = 60.0
_AT_ONCE = 3
_FIRST_DELAY_S = 0.1
_MAX_DELAY_S = 2.0
_MAX_WAITING = 16
_MAX_ADDRESSES = 1024
# All addresses together: a log that can be flooded hides what else is in it.
_MAX_LINES_A_MINUTE = 10


@dataclass(slots=True)
class _Burst:
    latest_s: float
    logged_s: float
    count: int = 0
    waiting: int = 0


class TokenGuesses:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._bursts: OrderedDict[str, _Burst] = OrderedDict()
        self._minute = 0
        self._lines = 0

    @property
    def known_addresses(self) -> int:
        return len(self._bursts)

    def guessed(self, peer: str | None) -> float | None:
        """One more wrong token: how long its answer waits; None for too many at a time. Who waits says
        `waited` afterwards."""
        now = self._now()
        address = _address_of(peer)
        burst = self._bursts.get(address)
        if burst is None or (now - burst.latest_s > _QUIET_S and not burst.waiting):
            burst = self._bursts[address] = _Burst(now, now)
            self._report(now, "a wrong bearer token came from %s", address)
        elif now - burst.logged_s > _QUIET_S:
            burst.logged_s = now
            self._report(now, "wrong bearer tokens still come from %s: %d so far", address, burst.count + 1)
        self._bursts.move_to_end(address)
        burst.latest_s = now
        burst.count += 1
        while len(self._bursts) > _MAX_ADDRESSES:
            self._bursts.popitem(last=False)
        if burst.count <= _AT_ONCE:
            return 0.0
        if burst.waiting >= _MAX_WAITING:
            return None
        burst.waiting += 1
        doublings = min(burst.count - _AT_ONCE - 1, 10)
        return min(_FIRST_DELAY_S * 2**doublings, _MAX_DELAY_S)

    def waited(self, peer: str | None) -> None:
        burst = self._bursts.get(_address_of(peer))
        if burst is not None and burst.waiting:
            burst.waiting -= 1

    def _report(self, now: float, text: str, *values: object) -> None:
        minute = int(now // 60)
        if minute != self._minute:
            self._minute, self._lines = minute, 0
        self._lines += 1
        if self._lines <= _MAX_LINES_A_MINUTE:
            _log.warning(text, *values)


def _address_of(peer: str | None) -> str:
    """Of IPv6 the network: one host has all the addresses of a /64."""
    if peer is None or ":" not in peer:
        return peer or "unknown"
    try:
        return str(ipaddress.ip_network((peer.partition("%")[0], 64), strict=False))
    except ValueError:
        return peer
