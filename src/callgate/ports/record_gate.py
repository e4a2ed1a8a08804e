"""Relay asks the record, before a call is made and before its reply leaves."""

from asyncio import Future
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class RecordGate(Protocol):
    def admit(self) -> None:
        """Raises RefusedError when a call must not be made because it could not be recorded."""
        ...

    refuses: bool  # whether it ever does

    @property
    def is_refusing(self) -> bool:
        """Whether `admit` would raise now."""
        ...

    def written(self) -> Future[None] | None:
        """What a reply waits for: that everything emitted so far survives us. None: it need not wait."""
        ...

    def when_written(self, reply: Callable[[T], object], argument: T) -> bool:
        """The same for a caller without a task: the callback runs then. False: it need not wait, and nothing
        will run."""
        ...
