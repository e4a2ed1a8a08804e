"""Relay asks the record, before a call is made and before its reply leaves."""

from collections.abc import Awaitable
from typing import Protocol


class RecordGate(Protocol):
    def admit(self) -> None:
        """Raises RefusedError when a call must not be made because it could not be recorded."""
        ...

    def written(self) -> Awaitable[None] | None:
        """What a reply waits for: that everything emitted so far survives us. None: it need not wait."""
        ...
