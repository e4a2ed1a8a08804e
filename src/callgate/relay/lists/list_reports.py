"""What is told of the lists: how an upstream is doing with them, what of them is left out or called
otherwise, which rules of its entry fit nothing, and the hop of a list. Asks nobody.

A server that runs and does not list its tools is of no use to anybody: it is shown as down, or as starting
while it takes long. One that told them before is served on with those, and a note says so.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.offers import OfferKind
from callgate.model.view import COMMON
from callgate.model.wording import clip
from callgate.ports.faces import Faces
from callgate.relay.lists.ask_listing import Listing, words_for
from callgate.relay.lists.catalog import Part
from callgate.relay.lists.known_lists import KnownLists
from callgate.relay.lists.listing_attempts import Attempt, Attempts, Key
from callgate.relay.lists.read_listing import MAX_LISTING_BYTES

# An upstream that is up and has not answered for so long is shown with that.
_SLOW_S = 5.0
_MAX_NAMED = 5
_MAX_NAME_CHARS = 100


def judged(
    health: Health, known: KnownLists, attempts: Attempts, max_offers: int, faces: Faces | None
) -> Health:
    """The health of an upstream with what is wrong with its lists, left out of them, or held."""
    name = health.name
    if name not in known.notes:
        known.notes[name] = list(_notes(name, known, max_offers))
    notes = list(known.notes[name])
    for kind in OfferKind if health.state is State.UP else ():
        key = (name, kind, COMMON)
        trouble, attempt = attempts.trouble(key), attempts.running(key)
        waited_s = time.monotonic() - attempt.hop.started_mono if attempt and attempt.began_up else 0.0
        if trouble is not None:
            state, code = State.DOWN, trouble.code
            text = f"It runs, but {kind.method} fails and is asked again: {trouble.message}"
        elif waited_s > _SLOW_S:
            state, code = State.STARTING, None
            text = f"It runs, but did not answer {kind.method} for {waited_s:.0f} s"
        else:
            continue
        if kind is OfferKind.TOOL and known.get(key) is None:
            health = replace(health, state=state, detail=text, error_code=code)
            continue
        if kind is OfferKind.TOOL:  # what it said before is offered, and can be called
            health = replace(health, error_code=code)
        notes.append(text)
    notes += faces.notes(name) if faces is not None else []
    return replace(health, notes=tuple(notes)) if notes else health


def _notes(name: str, known: KnownLists, max_offers: int) -> Iterator[str]:
    for kind, listings in known.told_by(name).items():
        cut = [listing for listing in listings if listing.has_more or listing.part.left_out]
        yield from dict.fromkeys(_left_out(kind, listing, max_offers) for listing in cut)
        yield from listing_notes([listing.part for listing in listings], words_for(kind))
        yield from known.conflicts.get(kind, {}).get(name, ())


def _left_out(kind: OfferKind, listing: Listing, max_offers: int) -> str:
    part = listing.part
    listed = len(part.offers) + part.left_out
    more = "more than " if listing.has_more else ""
    return (
        f"It lists {more}{listed:,} {words_for(kind)}, of which {len(part.offers):,} are offered: see "
        f"[server] max_offers ({max_offers:,}; at most {MAX_LISTING_BYTES // 1024**2} MiB)"
    )


def listing_notes(parts: Sequence[Part], what: str) -> list[str]:
    """`parts`: what one server lists of one kind, in each view. `what`: "tools", "prompts"."""
    return [*_unused_rules(parts), *dict.fromkeys(note for part in parts for note in _notes_of(part, what))]


def _unused_rules(parts: Sequence[Part]) -> Iterator[str]:
    """A rule that fits a tool in one view is in use: some tools are listed to some clients only."""
    first, *others = parts or [Part("")]
    for rule in first.unused_rules:
        if all(rule in other.unused_rules for other in others):
            name = clip(rule.name, _MAX_NAME_CHARS)
            yield f'{rule.key}: "{name}" fits no tool that {first.upstream} lists'


def _notes_of(part: Part, what: str) -> Iterator[str]:
    if part.not_chosen:
        named = _some([clip(name, _MAX_NAME_CHARS) for name in part.not_chosen])
        yield f"{len(part.not_chosen):,} of its {what} are left out, as its entry says: {named}"
    if part.renamed:
        named = _some([f"{clip(native, _MAX_NAME_CHARS)} is {public}" for native, public in part.renamed])
        yield (
            f"{len(part.renamed):,} of its {what} have other names here, since clients take at most 64 "
            f"characters, letters, digits, _ and -: {named}"
        )


def _some(named: Sequence[str]) -> str:
    more = len(named) - _MAX_NAMED
    return ", ".join(named[:_MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


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
