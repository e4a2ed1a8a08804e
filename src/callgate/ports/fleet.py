"""Api asks who the replicas of this gateway are, how each is doing, and what was passed on between them.

One process without replicas has none of this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from callgate.model.health import Health

# What a replica has otherwise than the others. `tokens`: which bearer token is which principal.
Difference = Literal["configuration", "version", "tokens"]
# What became of a request that was passed on. `refused`: its home's gate did not let it in; `gone`: its home
# is no more, and nothing was sent; `lost`: its home was lost while it had the request.
HOP_OUTCOMES = ("answered", "refused", "gone", "unreachable", "lost")
ADOPTED_KINDS = ("handshake", "modern")  # sessions


@dataclass(frozen=True, slots=True)
class ReplicaFacts:
    """One that lives, as it says itself."""

    gateway: str  # its name, new with every start
    is_this: bool  # the one that is asked
    state: str  # "serving" | "leaving"
    address: str  # for other replicas; empty: they cannot reach it
    version: str
    started_at: float  # unix seconds by the directory's clock
    silent_s: float  # since its last heartbeat
    clock_offset_s: float | None  # how far its clock is ahead of the directory's; None: not known
    differs: tuple[Difference, ...]
    servers: tuple[Health, ...]  # without what was too much to tell
    flush_lag_s: float | None  # how long what is not stored has waited; None: not told
    journal_bytes: int | None  # what is journalled there and not stored


@dataclass(frozen=True, slots=True)
class FleetCounts:
    """Of this process, since its start."""

    hops: Mapping[str, int] = field(default_factory=dict[str, int])  # by what became of them
    adopted: Mapping[str, int] = field(default_factory=dict[str, int])  # sessions, by kind
    living: int = 1
    clock_offset_s: float | None = None
    is_directory_away: bool = False


class Fleet(Protocol):
    async def look(self) -> None:
        """Learn what is new: at most once a second, and waiting for a moment at most."""
        ...

    def replicas(self) -> Sequence[ReplicaFacts]:
        """Those that live, the oldest first; this one is among them."""
        ...

    def problems(self) -> Sequence[str]:
        """What differs among them or cannot be reached, and what to do."""
        ...

    def counts(self) -> FleetCounts: ...
