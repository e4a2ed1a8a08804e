"""What we offer to clients, and where each offer leads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Route:
    upstream: str
    native_name: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as a client sees it. Everything but the name is the upstream's own bytes."""

    public_name: str
    route: Route
    definition: bytes  # raw JSON object with the public name
    annotations: bytes | None  # raw JSON object, None when the upstream declared none
