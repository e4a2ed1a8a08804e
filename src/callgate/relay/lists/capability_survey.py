"""Whether a server lists other tools to clients that declare more: asked once, before such a client comes.

After a server came up, its tools are listed once more by a connection that declares every capability by
which a server may ask its client something. If the list is the same, the server does not look at them, and
all clients are shown the common one. If it is another one, each set of capabilities has a list of its own,
which is asked when a client declares it; the plainest full set is asked in advance.

That costs a stdio server one more process, which ends after some seconds; one server after the other. It is
repeated only when a server comes up with another list.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from callgate.model.offers import OfferKind
from callgate.model.view import View
from callgate.ports.faces import Faces
from callgate.relay.lists.ask_listing import Listing
from callgate.relay.lists.listing_attempts import Key
from callgate.wire.eras.capabilities import EVERY_QUESTION, PLAIN_QUESTIONS

CAPABLE = View(EVERY_QUESTION)


@dataclass(slots=True)
class CapabilitySurvey:
    ask: Callable[[Key], Awaitable[Listing | None]]
    show_alike: Callable[[str, bool], None]  # takes the result, whether a server shows the same to all
    faces: Faces | None  # hears that a server was asked, also in vain
    _came_up: set[str] = field(default_factory=set[str])
    _digests: dict[str, bytes] = field(default_factory=dict[str, bytes])  # of the list that a result is about
    _due: dict[str, None] = field(default_factory=dict[str, None])  # in order
    _task: asyncio.Task[None] | None = None

    def came_up(self, name: str) -> None:
        self._came_up.add(name)

    def listed(self, name: str, digest: bytes) -> None:
        """The common list of this server's tools, each time it was told."""
        if name not in self._came_up:
            return
        self._came_up.discard(name)
        if self._digests.get(name) == digest:
            return
        self._digests[name] = digest
        self.show_alike(name, False)
        self._due[name] = None
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    def forget(self, name: str) -> None:
        """It is gone, or another one has its place."""
        self._came_up.discard(name)
        self._digests.pop(name, None)
        self._due.pop(name, None)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while self._due:
            name = next(iter(self._due))
            del self._due[name]
            listing = await self.ask((name, OfferKind.TOOL, CAPABLE))
            if listing is None:  # it is asked when a client needs it
                self._digests.pop(name, None)
            elif listing.digest == self._digests.get(name):
                self.show_alike(name, True)
            else:
                await self.ask((name, OfferKind.TOOL, View(PLAIN_QUESTIONS)))
            if self.faces is not None:
                self.faces.end_first_sight(name)
        self._task = None
