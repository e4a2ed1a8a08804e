"""The lists that upstreams told, by upstream, kind and view, and the catalogs made of them. Asks nobody."""

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from callgate.model.offers import OfferKind
from callgate.model.view import COMMON, View
from callgate.relay.lists.ask_listing import DEFAULT_TTL_S, Listing
from callgate.relay.lists.catalog import Catalog, Part, build_catalog
from callgate.relay.lists.listing_attempts import Key
from callgate.relay.lists.tool_choice import ToolChoice
from callgate.wire.eras.capabilities import questions_declared

# Of one upstream, beside the common one and those of single sessions; the oldest go.
_MAX_VIEWS = 16
# Sessions that end forget theirs; what a connection says while it ends must not pile up.
_MAX_CHANGED_AT_OWN = 10_000
# Catalogs of one kind that are kept made; they share their offers.
_MAX_CATALOGS = 64
# Tools of some clients only, known for as long as we run: a server may make up new names all day.
_MAX_KNOWN_TOOLS = 10_000


class SomeClientsOnly:
    """Tools that a server shows only to clients that can be asked something, and what those had declared.

    A client that calls such a tool without it is told which capability is missing, not "unknown tool".
    """

    def __init__(self) -> None:
        # By upstream and name, public or native: what all clients had declared that were shown it.
        self._needed: dict[tuple[str, str], frozenset[str]] = {}

    def note(self, part: Part, shown_to_all: Collection[str], capabilities: bytes) -> None:
        """This part was shown to a client that declared these capabilities."""
        had = questions_declared(capabilities)
        hidden = part.offers.keys() - shown_to_all
        if len(self._needed) + 2 * len(hidden) > _MAX_KNOWN_TOOLS:
            self._needed.clear()
        for name in list(hidden)[: _MAX_KNOWN_TOOLS // 2]:
            offer = part.offers[name]
            for key in ((part.upstream, name), (part.upstream, offer.route.native_name)):
                self._needed[key] = self._needed.get(key, had) & had

    def note_common(self, part: Part) -> None:
        """All clients are shown this part by now."""
        for name, offer in part.offers.items() if self._needed else ():
            self._needed.pop((part.upstream, name), None)
            self._needed.pop((part.upstream, offer.route.native_name), None)

    def forget(self, upstream: str) -> None:
        self._needed = {key: needed for key, needed in self._needed.items() if key[0] != upstream}

    def lacking(self, upstream: str, tool: str, capabilities: bytes) -> list[str]:
        """What a client that declared these would have to declare in addition; nothing: it is not that."""
        needed = self._needed.get((upstream, tool), frozenset())
        return sorted(needed - questions_declared(capabilities))


class KnownLists:
    def __init__(self) -> None:
        self.some_clients_only = SomeClientsOnly()
        self._known: dict[Key, Listing] = {}
        # A session's own connection said that this changed, and was not asked since.
        self._changed_at_own: set[tuple[str, OfferKind, str]] = set()
        self._catalogs: dict[OfferKind, dict[tuple[int, ...], tuple[Catalog, Sequence[Part]]]] = {
            kind: {} for kind in OfferKind
        }
        # The upstream that had a uri first keeps it, even if others list the same one later.
        self._claims: dict[OfferKind, dict[str, set[str]]] = {kind: {} for kind in OfferKind}
        self.conflicts: dict[OfferKind, dict[str, list[str]]] = {}  # of the last catalog of each kind
        # What `list_reports` says of an upstream, until a list changes: health is asked for each second.
        self.notes: dict[str, list[str]] = {}
        self.version = 0  # grows whenever `get` or `standing_in` may know of other offers than before

    def get(self, key: Key) -> Listing | None:
        return self._known.get(key)

    def standing_in(self, key: Key) -> Listing | None:
        """The best that is known: of the view itself, of what it declares, of the common one."""
        return next(iter(self.all_standing_in(key)), None)

    def all_standing_in(self, key: Key) -> tuple[Listing, ...]:
        """Those that the view's next list may be the same as, the best first."""
        name, kind, view = key
        keys = [(name, kind, other) for other in dict.fromkeys((view, view.shared, COMMON))]
        return tuple(self._known[key] for key in keys if key in self._known)

    def told_by(self, name: str) -> dict[OfferKind, list[Listing]]:
        """What this upstream lists of each kind, in each view."""
        told: dict[OfferKind, list[Listing]] = {kind: [] for kind in OfferKind}
        for (upstream, kind, _), listing in self._known.items():
            if upstream == name:
                told[kind].append(listing)
        return told

    def is_new_view(self, key: Key) -> bool:
        """A server that shows the same to all has no view that declares something."""
        view = key[2]
        return bool(view.declared) and not view.session_id and key not in self._known

    def shared_keys(self, name: str) -> list[Key]:
        """The lists of this upstream that more than one session may be shown."""
        return [key for key in self._known if key[0] == name and not key[2].session_id]

    def judged_before(self, version: int) -> list[tuple[Key, Listing]]:
        """The lists that were judged by what the operator said earlier (`ports.Faces`)."""
        return [
            (key, listing)
            for key, listing in self._known.items()
            if listing.pages and listing.faces_version != version
        ]

    def is_fresh(self, key: Key, now: float) -> bool:
        """For listing."""
        known = self._known.get(key)
        return known is not None and known.fresh_until_mono > now and not self.is_changed_at_own(key)

    def is_changed_at_own(self, key: Key) -> bool:
        name, kind, view = key
        return bool(view.session_id) and (name, kind, view.session_id) in self._changed_at_own

    # ---- changes

    def take(self, key: Key, listing: Listing) -> bool:
        """Whether it is another one than those who are shown it were shown before."""
        name, kind, view = key
        before = self.standing_in(key)
        self.notes.pop(name, None)
        self._known.pop(key, None)  # so that the one that was taken longest ago stays first
        self._known[key] = listing
        if view.session_id:
            self._changed_at_own.discard((name, kind, view.session_id))
        elif view != COMMON:
            self._make_room(name, view)
        if not listing.part.offers if before is None else before.part is listing.part:
            return False
        self.version += 1
        self._take_over(key, listing)
        self._catalogs[kind].clear()
        return True

    def outdate(self, key: Key) -> None:
        """Ask again the next time; until then it serves."""
        listing = self._known.get(key)
        if listing is not None:
            self.version += 1
            self._known[key] = replace(listing, told_at_mono=0.0, fresh_until_mono=0.0)

    def changed(self, name: str, kind: OfferKind, session_id: str | None) -> None:
        """An upstream said so, on the connection of this session or of all."""
        self.version += 1
        if session_id is not None and len(self._changed_at_own) < _MAX_CHANGED_AT_OWN:
            self._changed_at_own.add((name, kind, session_id))
        for key in list(self._known):
            if key[:2] == (name, kind) and (session_id is None or key[2].session_id == session_id):
                self.outdate(key)

    def forget_session(self, session_id: str) -> None:
        self._forget([key for key in self._known if key[2].session_id == session_id])
        self._changed_at_own = {entry for entry in self._changed_at_own if entry[2] != session_id}

    def forget_declared(self, name: str, view: View | None = None) -> None:
        """What this upstream lists to clients that declare something, or to those of one view."""
        keys = self.shared_keys(name)
        self._forget([key for key in keys if key[2] == view or (view is None and key[2].declared)])

    def forget_upstream(self, name: str) -> list[Key]:
        """It is gone. Returns the lists that had offers."""
        gone = [key for key in self._known if key[0] == name]
        had_offers = [key for key in gone if self._known[key].part.offers]
        self._forget_all(name, gone)
        for kind in OfferKind:
            self._claims[kind].pop(name, None)
            self.conflicts.get(kind, {}).pop(name, None)
            self._catalogs[kind].clear()
        return had_offers

    def replace_upstream(self, name: str) -> None:
        """Another one has its place: what it told to all stands until the new one tells."""
        self._forget_all(name, [key for key in self._known if key[0] == name and key[2] != COMMON])
        for key in self.shared_keys(name):
            self.outdate(key)

    def reread(self, name: str, kind: OfferKind, choice: ToolChoice | None) -> list[Key]:
        """These lists are to be read in another way, and so asked for again; what `choice` leaves out goes at
        once. Returns them."""
        keys = [key for key in self._known if key[:2] == (name, kind)]
        for key in keys:
            listing = self._known[key]
            part = listing.part if choice is None else listing.part.chosen_by(choice)
            self._known[key] = replace(listing, part=part, digest=b"", fresh_until_mono=0.0)
        self.notes.pop(name, None)
        self._catalogs[kind].clear()
        return keys

    def _forget_all(self, name: str, keys: list[Key]) -> None:
        self.version += 1
        self.notes.clear()
        self._forget(keys)
        self._changed_at_own = {entry for entry in self._changed_at_own if entry[0] != name}
        self.some_clients_only.forget(name)

    def _forget(self, keys: list[Key]) -> None:
        for key in keys:
            self.version += 1
            self.notes.pop(key[0], None)
            del self._known[key]

    def _make_room(self, name: str, newest: View) -> None:
        views = dict.fromkeys(key[2] for key in self.shared_keys(name) if key[2] not in (COMMON, newest))
        if len(views) >= _MAX_VIEWS:
            self.forget_declared(name, next(iter(views)))

    def _take_over(self, key: Key, listing: Listing) -> None:
        name, kind, view = key
        if kind.key != "name":  # a uri that its owner no longer lists is anybody's again
            listed = {uri for known in self.told_by(name)[kind] for uri in known.part.offers}
            self._claims[kind].get(name, set()).intersection_update(listed)
        if kind is OfferKind.TOOL and view == COMMON:
            self.some_clients_only.note_common(listing.part)
        elif kind is OfferKind.TOOL:
            common = self._known.get((name, kind, COMMON))
            shown_to_all = common.part.offers if common is not None else {}
            self.some_clients_only.note(listing.part, shown_to_all, view.declared.encode())

    # ---- catalogs

    def catalog(self, kind: OfferKind, keys: Iterable[Key]) -> Catalog:
        """`keys`: one for each upstream, in the operator's order."""
        listings = [self.standing_in(key) for key in keys]
        parts = [listing.part for listing in listings if listing is not None]
        catalogs, made_of = self._catalogs[kind], tuple(map(id, parts))
        found = catalogs.get(made_of)
        if found is not None:
            return found[0]
        if len(catalogs) >= _MAX_CATALOGS:
            del catalogs[next(iter(catalogs))]
        catalog = build_catalog(kind, parts, self._claims[kind])
        catalogs[made_of] = (catalog, parts)  # the parts stay, and so their ids stay theirs
        self.conflicts[kind] = catalog.conflicts
        self.notes.clear()
        return catalog


def is_old(listing: Listing) -> bool:
    """For routing: told longer ago than we believe an upstream that says nothing."""
    return listing.told_at_mono + DEFAULT_TTL_S < time.monotonic()
