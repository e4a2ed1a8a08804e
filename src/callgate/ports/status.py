"""How the parts are doing, and what they offer: for the page, the API and the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from callgate.model.health import Health
from callgate.model.offers import Offer


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """One configured database as its users may know it: no password, no parameter of its address."""

    source_id: str
    engine: str  # as the operator wrote it: `mariadb` is not `mysql` here
    host: str | None = None
    port: int | None = None
    database: str | None = None
    user: str | None = None
    is_read_only: bool = True
    max_rows: int | None = None


class Status(Protocol):
    def health(self) -> list[Health]:
        """One entry per configured source and server, in the operator's order."""
        ...

    async def tools(self) -> Sequence[Offer]:
        """All tools, in the order of `tools/list`; what a server that is down said before counts."""
        ...

    def lacking(self, server: str, tool: str) -> list[str]:
        """Of a tool that is not among them: the capabilities that clients declare who are offered it.

        `tool`: its public or native name. Nothing: it is not offered to anybody, as far as we know.
        """
        ...

    async def find_tools(self, query: str, limit: int) -> Sequence[Offer]:
        """Those that fit the words best, the best first."""
        ...

    @property
    def catalog_version(self) -> int:
        """Increases whenever what is offered may have changed."""
        ...
