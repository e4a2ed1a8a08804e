"""How many bytes all connections of a listener may hold together. Counts only; who holds them drops them."""

from collections.abc import Callable


class ByteBudget:
    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0

    @property
    def left_bytes(self) -> int:
        return self.limit_bytes - self.used_bytes

    def take(self, size_bytes: int) -> bool:
        """False: there is no room, and nothing was taken."""
        if size_bytes > self.left_bytes:
            return False
        self.used_bytes += size_bytes
        return True

    def give_back(self, size_bytes: int) -> None:
        self.used_bytes -= size_bytes


class UnreadAnswers:
    """What clients were sent and have not read. Past the limit, who has not read for longest is cut off."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._held: dict[Callable[[], None], int] = {}  # by what cuts the reader off, the longest stuck first
        self.used_bytes = 0

    def hold(self, abort: Callable[[], None], size_bytes: int) -> None:
        """The reader's connection takes no more, and keeps this much. `abort`: cuts it off."""
        self.forget(abort)
        self._held[abort] = size_bytes
        self.used_bytes += size_bytes
        while self.used_bytes > self.limit_bytes:
            longest = next(iter(self._held))
            self.forget(longest)
            longest()

    def forget(self, abort: Callable[[], None]) -> None:
        self.used_bytes -= self._held.pop(abort, 0)
