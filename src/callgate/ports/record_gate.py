"""Relay asks the record, before a call is made and before its reply leaves."""

from asyncio import Future
from typing import Protocol


class RecordGate(Protocol):
    def admit(self) -> None:
        """Raises RefusedError when a call must not be made because it could not be recorded."""
        ...

    @property
    def is_refusing(self) -> bool:
        """Whether `admit` would raise now."""
        ...

    def written(self) -> Future[None] | None:
        """What a reply waits for: that everything emitted so far survives us. None: it need not wait."""
        ...
