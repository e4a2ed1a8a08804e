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

from callgate.model.offers import OfferKind
from callgate.model.view import View
from callgate.ports.faces import Faces
from callgate.relay.lists.ask_listing import Listing
from callgate.relay.lists.listing_attempts import Key
from callgate.wire.eras.capabilities import EVERY_QUESTION, PLAIN_QUESTIONS

CAPABLE = View(EVERY_QUESTION)


class CapabilitySurvey:
    def __init__(
        self,
        ask: Callable[[Key], Awaitable[Listing | None]],
        show_alike: Callable[[str, bool], None],
        faces: Faces | None,
    ) -> None:
        """`show_alike`: takes the result, whether a server shows the same to all. `faces`: hears that a
        server was asked, also in vain."""
        self._ask = ask
        self._show_alike = show_alike
        self._faces = faces
        self._came_up: set[str] = set()
        self._digests: dict[str, bytes] = {}  # of the common list that a result is about
        self._due: dict[str, None] = {}  # in order
        self._task: asyncio.Task[None] | None = None

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
        self._show_alike(name, False)
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
            await self._look(name)
            if self._faces is not None:
                self._faces.end_first_sight(name)
        self._task = None

    async def _look(self, name: str) -> None:
        listing = await self._ask((name, OfferKind.TOOL, CAPABLE))
        if listing is None:  # it is asked when a client needs it
            self._digests.pop(name, None)
        elif listing.digest == self._digests.get(name):
            self._show_alike(name, True)
        else:
            await self._ask((name, OfferKind.TOOL, View(PLAIN_QUESTIONS)))
