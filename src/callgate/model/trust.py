"""The words of trust in servers: what was accepted of them, and what they say now."""

from dataclasses import dataclass
from typing import Literal

TrustMode = Literal["watch", "hold", "free"]
PinnedKind = Literal["instructions", "server", "tool", "prompt", "template"]
# What there is one of for each server. Their items have no name.
SINGLE_KINDS: tuple[PinnedKind, ...] = ("instructions", "server")
LISTED_KINDS: tuple[PinnedKind, ...] = ("tool", "prompt", "template")
Change = Literal["new", "changed", "gone", "blocked"]
# What a list is of a server: all that it lists to everybody, all that it lists to clients that declare every
# capability, or something else: a page, or what it lists to other clients.
Extent = Literal["common", "capable", "part"]


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
    """A tool, a prompt, a resource template, the instructions or the name of a server that is not as it was
    accepted."""

    kind: PinnedKind
    name: str  # of a template its address; "" for a single one
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
    pinned: int  # how many tools, prompts and templates are accepted
    items: tuple[TrustItem, ...] = ()
    problem: str | None = None  # why what it says cannot be compared
    names: tuple[tuple[PinnedKind, str], ...] = ()  # all that can be blocked and unblocked

    @property
    def held(self) -> int:
        return sum(item.is_held for item in self.items)

    @property
    def changed(self) -> int:
        """Beside what is held."""
        return sum(item.change in ("new", "changed") and not item.is_held for item in self.items)
