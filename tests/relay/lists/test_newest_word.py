"""Lists are judged again until each of them is by the operator's newest word."""

import asyncio
import time
from collections.abc import Sequence

import msgspec

from callgate.model.offers import OfferKind
from callgate.model.trust import Extent, TrustMode
from callgate.model.view import COMMON, View
from callgate.ports.faces import ShownEntries
from callgate.relay.lists.ask_listing import Listing
from callgate.relay.lists.catalog import Part
from callgate.relay.lists.judged_lists import JudgedLists
from callgate.relay.lists.known_lists import KnownLists
from callgate.relay.lists.listing_attempts import Key
from callgate.relay.lists.read_listing import ListPage, ListReading
from callgate.relay.lists.territory import Territory

SHARED: Key = ("one", OfferKind.TOOL, COMMON)
OWN: Key = ("one", OfferKind.TOOL, View("{}", "session"))
PAGE = ListPage(msgspec.Raw(b'[{"name":"add"}]'), None, None, False)


class Words:
    """Implements `ports.Faces`. The operator blocks `add` while a list is judged for the first time, and
    another list comes that was judged before."""

    def __init__(self, known: KnownLists) -> None:
        self.version = 1
        self._known = known

    def mode_of(self, server: str) -> TrustMode:
        return "watch"

    def show(self, server: str, kind: OfferKind, entries: Sequence[bytes], extent: Extent) -> ShownEntries:
        if self.version == 1:
            self.version = 2
            self._known.take(OWN, listing(0))
            return ShownEntries(entries)
        return ShownEntries([], frozenset({"add"}))

    def end_first_sight(self, server: str) -> None:
        raise NotImplementedError

    def instructions(self, server: str, told: str | None) -> str | None:
        raise NotImplementedError

    def server_info(self, server: str, told: bytes) -> bytes | None:
        raise NotImplementedError

    def hides(self, server: str, kind: OfferKind, native_name: str) -> bool:
        raise NotImplementedError

    def guards(self, server: str) -> bool:
        raise NotImplementedError

    def notes(self, server: str) -> list[str]:
        raise NotImplementedError


def listing(faces_version: int) -> Listing:
    now = time.monotonic()
    return Listing(Part("one"), b"", False, now, now + 60, 0, False, (PAGE,), None, faces_version)


async def test_a_word_that_comes_while_lists_are_judged_counts_for_all_of_them() -> None:
    known = KnownLists()
    faces = Words(known)
    territory = Territory(["one"])

    def reading(key: Key) -> ListReading:
        return ListReading(key[1], key[0], territory, 100, faces=faces, is_kept=True)

    def take(key: Key, taken: Listing) -> None:
        known.take(key, taken)
        lists.taken(taken)

    lists = JudgedLists(faces, known, reading, take, lambda key: None)
    known.take(SHARED, listing(0))
    lists.taken(listing(0))
    await asyncio.wait_for(lists.judge_again(), 10)
    for key in (SHARED, OWN):
        shown = known.get(key)
        assert shown is not None
        assert (shown.faces_version, shown.part.hidden) == (2, {"add"})
    await lists.close()
