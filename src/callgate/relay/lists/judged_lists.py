"""Lists whose words are pinned (`ports.Faces`): shown again when the operator's word on them changes.

Nobody is asked for that: what the server told is kept, and read once more. A list that a server says it
changed is asked for: the operator hears of it although no client lists.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from callgate.ports.faces import Faces
from callgate.relay.lists.ask_listing import Listing
from callgate.relay.lists.known_lists import KnownLists
from callgate.relay.lists.listing_attempts import Key
from callgate.relay.lists.read_listing import ListReading, read_part

# A server that announces changes all day is asked at most so often because of it.
_ANNOUNCED_S = 1.0


@dataclass(slots=True)
class JudgedLists:
    faces: Faces | None
    known: KnownLists
    reading: Callable[[Key], ListReading]  # how a list is read
    take: Callable[[Key, Listing], None]  # who keeps it, as one that was asked for
    ask: Callable[[Key], None]  # has the list asked for again
    _task: asyncio.Task[None] | None = None
    _announced: dict[Key, asyncio.TimerHandle] = field(default_factory=dict[Key, asyncio.TimerHandle])

    def announced(self, key: Key) -> None:
        """The server says that this list changed."""
        if key not in self._announced and self.reading(key).faces is not None:
            loop = asyncio.get_running_loop()
            self._announced[key] = loop.call_later(_ANNOUNCED_S, self._ask_announced, key)

    def _ask_announced(self, key: Key) -> None:
        del self._announced[key]
        self.ask(key)

    def taken(self, listing: Listing) -> None:
        if self.faces is None or not listing.pages or listing.faces_version == self.faces.version:
            return
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self.judge_again())

    async def judge_again(self) -> None:
        """Until each is by the newest word: it may change meanwhile, and lists may come by an older one."""
        faces = self.faces
        while faces is not None and (judged_before := self._judged_before(faces)):
            for key, listing, reading in judged_before:
                judged = await judged_again(listing, reading)
                if self.known.get(key) is listing:
                    self.take(key, judged)

    def _judged_before(self, faces: Faces) -> list[tuple[Key, Listing, ListReading]]:
        """What is not pinned any more is nobody's to judge."""
        found = self.known.judged_before(faces.version)
        read = [(key, listing, self.reading(key)) for key, listing in found]
        return [one for one in read if one[2].faces is not None]

    async def close(self) -> None:
        for timer in self._announced.values():
            timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


async def judged_again(listing: Listing, reading: ListReading) -> Listing:
    """The same list, by what the operator says now. Nobody is asked."""
    faces = reading.faces
    assert faces is not None
    version = faces.version
    part = await read_part(replace(reading, era=listing.era), listing.pages)
    return replace(listing, part=listing.part if part == listing.part else part, faces_version=version)
