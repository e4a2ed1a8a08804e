"""The words of trust in servers: what was accepted of them, and what they say now."""

from dataclasses import dataclass
from typing import Literal

TrustMode = Literal["watch", "hold", "free"]
PinnedKind = Literal["instructions", "tool", "prompt"]
Change = Literal["new", "changed", "gone", "blocked"]


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that the scan found in a definition."""

    kind: str
    words: str  # "file of secrets"
    holds: bool  # not only shown
    where: str  # "inputSchema.properties.path.description"
    excerpt: str


@dataclass(frozen=True, slots=True)
class TrustItem:
    """A tool, a prompt or the instructions of a server that are not as they were accepted."""

    kind: PinnedKind
    name: str  # "" for instructions
    change: Change
    is_held: bool  # callers do not get what the server says now
    digest: str  # of what it says now; what it was accepted with, where it says nothing
    accepted: bytes | None = None  # the definition that was accepted; None: there is none, or not here
    now: bytes | None = None  # None: the server does not list it
    flaws: tuple[Flaw, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerTrust:
    server: str
    mode: TrustMode
    pinned: int  # how many tools and prompts are accepted
    items: tuple[TrustItem, ...] = ()
    problem: str | None = None  # why what it says cannot be compared

    @property
    def held(self) -> int:
        return sum(item.is_held for item in self.items)

    @property
    def changed(self) -> int:
        """Beside what is held."""
        return sum(item.change in ("new", "changed") and not item.is_held for item in self.items)
