"""Who wants to know how the parts are doing."""

from typing import Protocol

from callgate.model.health import Health


class Status(Protocol):
    def health(self) -> list[Health]:
        """One entry per configured source and server, in the operator's order."""
        ...
