"""What is told of the lists: how an upstream is doing with them, and the hop of a list. Asks nobody.

A server that runs and does not list its tools is of no use to anybody: it is shown as down, or as starting
while it takes long. One that told them before is served on with those, and a note says so.
"""

import time
from dataclasses import replace

import msgspec

from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.offers import OfferKind
from callgate.model.view import COMMON
from callgate.ports.faces import Faces
from callgate.relay.lists.known_lists import KnownLists
from callgate.relay.lists.listing_attempts import Attempt, Attempts, Key

# An upstream that is up and has not answered for so long is shown with that.
_SLOW_S = 5.0


def judged(
    health: Health, known: KnownLists, attempts: Attempts, max_offers: int, faces: Faces | None
) -> Health:
    """The health of an upstream with what is wrong with its lists, left out of them, or held."""
    notes = known.notes(health.name, max_offers)
    failing = _failing(health.name, attempts) if health.state is State.UP else {}
    tools = failing.pop(OfferKind.TOOL, None)
    if tools is not None and known.get((health.name, OfferKind.TOOL, COMMON)) is None:
        state, code, text = tools
        health = replace(health, state=state, detail=text, error_code=code)
    elif tools is not None:  # what it said before is offered, and can be called
        health = replace(health, error_code=tools[1])
        notes.append(tools[2])
    notes += [text for _, _, text in failing.values()]
    notes += faces.notes(health.name) if faces is not None else []
    return replace(health, notes=tuple(notes)) if notes else health


def _failing(name: str, attempts: Attempts) -> dict[OfferKind, tuple[State, str | None, str]]:
    """The lists that a server which is up does not tell, and how that is shown."""
    found: dict[OfferKind, tuple[State, str | None, str]] = {}
    for kind in OfferKind:
        key = (name, kind, COMMON)
        trouble, attempt = attempts.trouble(key), attempts.running(key)
        waited_s = time.monotonic() - attempt.began_mono if attempt and attempt.began_up else 0.0
        if trouble is not None:
            text = f"It runs, but {kind.method} fails and is asked again: {trouble.message}"
            found[kind] = (State.DOWN, trouble.code, text)
        elif waited_s > _SLOW_S:
            text = f"It runs, but did not answer {kind.method} for {waited_s:.0f} s"
            found[kind] = (State.STARTING, None, text)
    return found


def hop_of(key: Key, attempt: Attempt | None) -> Hop:
    """Of one upstream in a list of all. `attempt`: to ask it; None: what was known was fresh."""
    name, kind, _ = key
    if attempt is not None and not attempt.is_running:
        return msgspec.structs.replace(attempt.hop)
    now = time.monotonic()
    hop = Hop(name, kind.method, b"", now, ended_mono=now, cached=attempt is None)
    if attempt is not None:
        hop.error = f"{name} has not answered {kind.method} yet: what was known of it was used"
    return hop
