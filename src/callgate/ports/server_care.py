"""Api looks after one source or server: how it is configured, to try it again, and what is wrong with it.
It also has one tried that is not in the configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from callgate.model.offers import Offer


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


@dataclass(frozen=True, slots=True)
class Probed:
    """What one says of itself. No value of a secret."""

    name: str  # a proposal: nothing else has it
    kind: str  # "sql" | "mcp"
    address: str  # how it is reached
    place: str  # its key path in the file
    reachable: bool = False
    needs_login: bool = False
    era: str | None = None
    protocol: str | None = None
    version: str | None = None
    account: str | None = None  # of a database
    role: str | None = None
    mode: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    tools: Sequence[Offer] = ()
    findings: Sequence[DoctorFinding] = ()
    secrets: Sequence[str] = ()  # where in the entry there are some
    is_local: bool = False  # a program of this machine is started, or a file of it is read


class Prober(Protocol):
    async def probe(self, text: str, name: str | None, *, is_local: bool) -> Probed:
        """`text`: whatever somebody pasted. `name`: instead of the one that we would choose. `is_local`:
        whether programs may be started and files be read for it. Raises CallgateError."""
        ...
