"""Api looks after one source or server: how it is configured, to try it again, and what is wrong with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """One configured source or server as its users may know it."""

    address: str  # without passwords, keys and tokens
    limits: Mapping[str, float] = field(default_factory=dict[str, float])  # by the setting's own name


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    severity: str  # "note" | "warning" | "problem"
    text: str
    advice: str = ""


class ServerCare(Protocol):
    def facts(self, name: str) -> ServerFacts | None:
        """None: it is not in the configuration, as the demo and the record are not."""
        ...

    async def retry(self, name: str) -> None:
        """Connect again now, if it is down. Returns when the attempt is over, or after some seconds."""
        ...

    async def examine(self, name: str) -> Sequence[DoctorFinding]:
        """What `callgate doctor` would say of it; over the connections that it has here."""
        ...
