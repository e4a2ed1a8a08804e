"""What callers see of one definition: as the server says it, as it was accepted, or not at all. Pure.

Rules
1. What an operator blocked is not seen, whatever the server says.
2. What was accepted is seen as it is; also what the scan would hold: the operator saw it.
3. With `hold`, a change keeps the accepted face, and what is new is not seen. With `watch` both pass, unless
   the scan holds them.
4. At first sight everything is accepted, unless the scan holds it.
5. Where the lock cannot be used nothing is accepted: `hold` shows nothing, `watch` what the scan lets pass.
"""

from dataclasses import dataclass
from enum import Enum

from callgate.model.trust import Change, TrustMode
from callgate.trust.lock_file import Pin


class Face(Enum):
    AS_IT_IS = "as it is"
    ACCEPTED = "accepted"  # as it was accepted, or not at all where that is not known
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Judgement:
    face: Face
    change: Change | None = None  # None: it is as it was accepted
    accepts: bool = False  # to be accepted now, at first sight


def judge(
    mode: TrustMode, pin: Pin | None, digest: str, *, holds: bool, is_first: bool, has_lock: bool
) -> Judgement:
    """`holds`: the scan does. `is_first`: nothing of the kind was accepted of this server yet."""
    if pin is not None and pin.is_blocked:
        return Judgement(Face.NONE, "blocked")
    if pin is not None and pin.digest == digest:
        return Judgement(Face.AS_IT_IS)
    if not has_lock:
        return Judgement(Face.NONE if mode == "hold" or holds else Face.AS_IT_IS, "new")
    if pin is None or not pin.digest:
        if is_first and not holds:
            return Judgement(Face.AS_IT_IS, accepts=True)
        return Judgement(Face.NONE if mode == "hold" or holds else Face.AS_IT_IS, "new")
    return Judgement(Face.ACCEPTED if mode == "hold" or holds else Face.AS_IT_IS, "changed")
