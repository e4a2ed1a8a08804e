"""How long to wait before something that failed is tried again. Pure."""

from collections.abc import Callable

CEILING_S = 30.0
_FIRST_DELAY_S = 1.0
_JITTER = 0.2  # so that the upstreams of one broken host do not come back in step


class Backoff:
    """1 s doubling to 30 s, ± 20 % inside that cap."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._delay_s = _FIRST_DELAY_S

    def next_delay_s(self) -> float:
        delay_s = self._delay_s
        self._delay_s = min(delay_s * 2, CEILING_S)
        return min(delay_s * (1 - _JITTER + 2 * _JITTER * self._random()), CEILING_S)

    def reset(self) -> None:
        self._delay_s = _FIRST_DELAY_S
