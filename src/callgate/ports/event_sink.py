"""Anyone emits: fire and forget."""

from typing import Protocol

from callgate.model.events import Event


class EventSink(Protocol):
    def emit(self, event: Event) -> None:
        """Called on the event loop: never blocks, never raises, does no I/O."""
        ...
