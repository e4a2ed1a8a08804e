"""Each definition as it is looked at once: its name, its digest, and what the scan finds in it."""

import hashlib
import json
from dataclasses import dataclass

from callgate.model.trust import Flaw
from callgate.trust.canonical import digest_of
from callgate.trust.scan import scan

# Definitions that are remembered; those of more servers than anybody has.
_MAX_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True)
class Looked:
    digest: str
    flaws: tuple[Flaw, ...]

    @property
    def holds(self) -> bool:
        return any(flaw.holds for flaw in self.flaws)


class LookedAt:
    """By its bytes: a list that is told again costs next to nothing."""

    def __init__(self) -> None:
        self._known: dict[bytes, Looked] = {}

    def look(self, definition: bytes, own_names: frozenset[str]) -> Looked:
        """`own_names`: of the same server, which a definition may speak of."""
        names = hash(own_names).to_bytes(8, "big", signed=True)
        key = hashlib.blake2b(definition, digest_size=16, key=names).digest()
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_REMEMBERED:
                self._known.clear()
            known = self._known[key] = Looked(digest_of(definition), _flaws(definition, own_names))
        return known


def _flaws(definition: bytes, own_names: frozenset[str]) -> tuple[Flaw, ...]:
    return tuple(
        Flaw(one.kind, one.words, one.tier == "holds", one.where, one.excerpt)
        for one in scan(definition, own_names)
    )


def name_of(definition: bytes) -> str | None:
    """As the relay reads it: of a member that is given twice the last one counts."""
    try:
        name = json.loads(definition).get("name")
    except (ValueError, RecursionError, AttributeError):
        return None
    return name if isinstance(name, str) else None
