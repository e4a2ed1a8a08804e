"""Relay asks where in a trace an exchange stands."""

from typing import Protocol

from callgate.model.exchange import Arrival, Trace


class Tracer(Protocol):
    def begin(self, arrival: Arrival) -> Trace:
        """A span for what arrived: a child of the caller's own where it named one. Never raises."""
        ...
