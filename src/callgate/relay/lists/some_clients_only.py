"""Tools that a server shows only to clients that can be asked something, and what those had declared.

A tool that is missing from a client's list may be there for another client. Whoever calls it is told which
capability is missing, not that there is no such tool.
"""

from collections.abc import Collection

from callgate.relay.lists.catalog import Part
from callgate.wire.eras.capabilities import questions_declared

# Known for as long as we run; a server that makes up new names all day must not fill the memory.
_MAX_KNOWN = 10_000


class SomeClientsOnly:
    def __init__(self) -> None:
        # By upstream and name, public or native: what all clients had declared that were shown it.
        self._needed: dict[tuple[str, str], frozenset[str]] = {}

    def note(self, part: Part, shown_to_all: Collection[str], capabilities: bytes) -> None:
        """This part was shown to a client that declared these capabilities."""
        had = questions_declared(capabilities)
        hidden = part.offers.keys() - shown_to_all
        if len(self._needed) + 2 * len(hidden) > _MAX_KNOWN:
            self._needed.clear()
        for name in list(hidden)[: _MAX_KNOWN // 2]:
            offer = part.offers[name]
            for key in ((part.upstream, name), (part.upstream, offer.route.native_name)):
                self._needed[key] = self._needed.get(key, had) & had

    def lacking(self, upstream: str, tool: str, capabilities: bytes) -> list[str]:
        """What a client that declared these would have to declare in addition; nothing: it is not that."""
        needed = self._needed.get((upstream, tool), frozenset())
        return sorted(needed - questions_declared(capabilities))
