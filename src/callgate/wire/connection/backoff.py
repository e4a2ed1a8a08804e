"""How long to wait before an upstream is tried again: 1 s doubling to 30 s, ± 20 % inside that cap."""

from collections.abc import Callable

from callgate.wire.connection.request_table import BACKOFF_CEILING_S

_FIRST_S = 1.0
_JITTER = 0.2  # so that the upstreams of one broken host do not come back in step


class Backoff:
    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._delay_s = _FIRST_S

    def next_delay_s(self) -> float:
        delay_s = self._delay_s
        self._delay_s = min(delay_s * 2, BACKOFF_CEILING_S)
        return min(delay_s * (1 - _JITTER + 2 * _JITTER * self._random()), BACKOFF_CEILING_S)

    def reset(self) -> None:
        self._delay_s = _FIRST_S
