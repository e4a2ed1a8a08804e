"""One definition: what is found in it, and what callers see of it: as the server says it, as it was accepted,
or not at all. Knows neither the lock's file nor other definitions.

Rules
1. What an operator blocked is not seen, whatever the server says.
2. What was accepted is seen as it is; also what the scan would hold: the operator saw it.
3. With `hold`, a change keeps the accepted face, and what is new is not seen. With `watch` both pass, unless
   the scan holds them.
4. At first sight everything is accepted, unless the scan holds it.
5. Where the lock cannot be used nothing is accepted: `hold` shows nothing, `watch` what the scan lets pass.
"""

import hashlib
import json
from dataclasses import dataclass
from enum import Enum

from callgate.model.trust import Change, Flaw, TrustMode
from callgate.trust.canonical import UnreadableError, digest_of_unreadable, read_definition
from callgate.trust.lock_file import Pin
from callgate.trust.scan import scan_read, unreadable

# Definitions that are remembered; those of more servers than anybody has.
_MAX_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True)
class Looked:
    digest: str
    flaws: tuple[Flaw, ...]

    @property
    def holds(self) -> bool:
        return any(flaw.holds for flaw in self.flaws)


class _OwnNames:
    """Made once for a server's whole list: each of its definitions asks for the same names."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.key = hash(names).to_bytes(8, "big", signed=True)
        self.lowered = frozenset(name.lower() for name in names)


class LookedAt:
    """By its bytes: a list that is told again costs next to nothing."""

    def __init__(self) -> None:
        self._known: dict[bytes, Looked] = {}
        self._own = _OwnNames(frozenset())

    def look(self, definition: bytes, own_names: frozenset[str]) -> Looked:
        """`own_names`: of the same server, which a definition may speak of."""
        own = self._own
        if own.names is not own_names:
            own = self._own = _OwnNames(own_names)
        key = hashlib.blake2b(definition, digest_size=16, key=own.key).digest()
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_REMEMBERED:
                self._known.clear()
            known = self._known[key] = _looked(definition, own.lowered)
        return known


def _looked(definition: bytes, lowered_names: frozenset[str]) -> Looked:
    try:
        read = read_definition(definition)
    except UnreadableError as problem:
        return Looked(digest_of_unreadable(definition), unreadable(str(problem)))
    return Looked(read.digest, scan_read(read, lowered_names))


def name_of(definition: bytes, key: str) -> str | None:
    """As the relay reads it: of a member that is given twice the last one counts."""
    try:
        name = json.loads(definition).get(key)
    except (ValueError, RecursionError, AttributeError):
        return None
    return name if isinstance(name, str) else None


class Face(Enum):
    AS_IT_IS = "as it is"
    ACCEPTED = "accepted"  # as it was accepted, or not at all where that is not known
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Shown:
    face: Face
    change: Change | None = None  # None: it is as it was accepted
    accepts: bool = False  # to be accepted now, at first sight


def judge(mode: TrustMode, pin: Pin | None, looked: Looked, *, is_first: bool, has_lock: bool) -> Shown:
    """`is_first`: nothing of the kind was accepted of this server yet."""
    holds = looked.holds
    if pin is not None and pin.is_blocked:
        return Shown(Face.NONE, "blocked")
    if pin is not None and pin.digest == looked.digest:
        return Shown(Face.AS_IT_IS)
    if not has_lock:
        return Shown(Face.NONE if mode == "hold" or holds else Face.AS_IT_IS, "new")
    if pin is None or not pin.digest:
        if is_first and not holds:
            return Shown(Face.AS_IT_IS, accepts=True)
        return Shown(Face.NONE if mode == "hold" or holds else Face.AS_IT_IS, "new")
    return Shown(Face.ACCEPTED if mode == "hold" or holds else Face.AS_IT_IS, "changed")
