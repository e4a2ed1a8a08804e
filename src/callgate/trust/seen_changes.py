"""What servers say otherwise than it was accepted, as it was seen last. The log tells each change once."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from callgate.model.trust import SINGLE_KINDS, Extent, PinnedKind, TrustItem
from callgate.trust.lock_file import Pin

_log = logging.getLogger(__name__)

# Of one server and kind: it may make up new names all day.
_MAX_ITEMS = 20_000
# Of one look at a list: what it writes to our log, it writes again with each change.
_MAX_TOLD = 10


@dataclass(slots=True)
class _Seen:
    """Of one server and kind."""

    items: dict[str, TrustItem] = field(default_factory=dict[str, TrustItem])  # of what everybody is listed
    listed: frozenset[str] | None = None  # to everybody, all of it, as told last
    for_some: dict[str, TrustItem] = field(default_factory=dict[str, TrustItem])  # of what some clients are

    @property
    def all(self) -> dict[str, TrustItem]:
        return {**self.for_some, **self.items}


class SeenChanges:
    def __init__(self, hide: Callable[[str, str], str]) -> None:
        """`hide`: takes the secrets of a server's entry out of its words, for the log."""
        self._hide = hide
        self._seen: dict[tuple[str, PinnedKind], _Seen] = {}

    def is_for_some(self, server: str, kind: PinnedKind, name: str) -> bool:
        seen = self._seen.get((server, kind))
        return seen is not None and name in seen.for_some and name not in (seen.listed or ())

    def of(self, server: str, kind: PinnedKind, pins: Mapping[str, Pin]) -> list[TrustItem]:
        """`pins`: what was accepted or blocked; what is not listed any more is told too."""
        seen = self._seen.get((server, kind)) or _Seen()
        changed = seen.all
        items = [changed[name] for name in sorted(changed)]
        if kind in SINGLE_KINDS:
            return items
        not_listed = [
            TrustItem(kind, name, "blocked" if pin.is_blocked else "gone", False, pin.digest)
            for name, pin in sorted(pins.items())
            if name not in changed
            and (pin.is_blocked or not (pin.for_some or seen.listed is None or name in seen.listed))
        ]
        return items + not_listed

    def names(self, server: str, kind: PinnedKind) -> frozenset[str]:
        """Of all that was listed last."""
        seen = self._seen.get((server, kind)) or _Seen()
        return (seen.listed or frozenset()) | seen.all.keys()

    def holds(self, server: str) -> bool:
        seen = [found for (name, _), found in list(self._seen.items()) if name == server]
        return any(item.is_held for found in seen for item in list(found.all.values()))

    def settle(self, server: str, items: Sequence[TrustItem]) -> None:
        """The operator answered: nothing is known of them until their list is judged again."""
        for item in items:
            if (seen := self._seen.get((server, item.kind))) is not None:
                seen.items.pop(item.name, None)
                seen.for_some.pop(item.name, None)

    def note(
        self,
        server: str,
        kind: PinnedKind,
        items: dict[str, TrustItem],
        listed: frozenset[str],
        extent: Extent,
    ) -> None:
        """`items`: what of `listed` is not as it was accepted."""
        seen = self._seen.setdefault((server, kind), _Seen())
        before = seen.all
        if extent == "common":
            seen.items, seen.listed = items, listed
            seen.for_some = {name: one for name, one in seen.for_some.items() if name not in listed}
        elif extent == "capable":
            seen.for_some = items
        else:
            for name in listed:
                seen.for_some.pop(name, None)
            seen.for_some |= items
            while len(seen.for_some) > _MAX_ITEMS:
                del seen.for_some[next(iter(seen.for_some))]
        changed = [item for name, item in seen.all.items() if _is_news(before.get(name), item)]
        for item in changed[:_MAX_TOLD]:
            self._tell(server, item)
        if len(changed) > _MAX_TOLD:
            more = len(changed) - _MAX_TOLD
            _log.warning("%s: and %d more; `callgate trust` lists them", server, more)

    def _tell(self, server: str, item: TrustItem) -> None:
        flaws = ", ".join(dict.fromkeys(flaw.words for flaw in item.flaws if flaw.holds))
        _log.warning(
            "%s: the %s %s is %s%s%s",
            server,
            item.kind,
            self._hide(server, item.name) or "(whole)",
            item.change,
            " and held" if item.is_held else "",
            f" ({flaws})" if flaws else "",
        )


def _is_news(before: TrustItem | None, now: TrustItem) -> bool:
    return before is None or before.digest != now.digest
