"""Who holds a pipe back: it is read again when the last of them lets go."""

from collections.abc import Callable


class PipeHolders:
    """On a pipe all calls share one stream, so one reader who is behind holds up all of them (rule 9)."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._holders: set[int | None] = set()

    def add(self, about: int | None) -> None:
        if not self._holders:
            self._pause()
        self._holders.add(about)

    def discard(self, about: int | None) -> None:
        if about in self._holders:
            self._holders.discard(about)
            if not self._holders:
                self._resume()
