"""Copies a record from one store to another, section by section, and compares both sides.

Each piece is stored exactly once, under a key that says where it was read: a copy may be stopped at any
moment, and run again for what is missing, or for what is new. What the target has already, by whichever way
it came (the record was copied from there once), is left out.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date

import msgspec

from callgate.ports.record_store import AlreadyStoredError
from callgate.recorder.days.record_days import (
    DaySource,
    DayTarget,
    Piece,
    RowDigest,
    Section,
    batch_of_events,
    batch_of_gaps,
    batch_of_sessions,
)
from callgate.recorder.rows import GapRow


@dataclass(frozen=True, slots=True)
class CopyProgress:
    day: date
    section: int  # which of them, from 1
    sections: int
    events: int  # copied so far, of this section


@dataclass(frozen=True, slots=True)
class CopiedSection:
    """Of one section, what both sides have."""

    day: date
    name: str
    copied: int  # now; the others were there
    there: RowDigest
    here: RowDigest

    @property
    def is_equal(self) -> bool:
        return (self.there.rows, self.there.hex) == (self.here.rows, self.here.hex)


Tell = Callable[[CopyProgress], object]


async def copy_days(source: DaySource, target: DayTarget, tell: Tell) -> list[CopiedSection]:
    """Raises SetupError, when it is to be run again."""
    sections = await source.sections()
    copied: list[CopiedSection] = []
    for number, section in enumerate(sections, 1):

        def told(events: int, number: int = number, section: Section = section) -> None:
            tell(CopyProgress(section.day, number, len(sections), events))

        count = await copy_section(source, target, section, told)
        copied.append(await _compared(source, target, section, count))
    return copied


async def copy_section(
    source: DaySource, target: DayTarget, section: Section, told: Callable[[int], object]
) -> int:
    """How many events were not there yet."""
    segment = f"copy-{source.source_id}.{section.name}"
    gaps_segment = f"{segment}.gaps"
    told(0)
    copied = 0
    rest = await source.rest(section)
    sessions = batch_of_sessions(segment, rest.sessions)
    reached = await target.reached([segment, gaps_segment, *sessions.reached])
    if rest.sessions and not sessions.reached.keys() & reached.keys():
        await target.write(section.day, sessions)
    begin = reached.get(gaps_segment, 0)
    if rest.gaps[begin:]:
        gaps = _without(await target.gaps(section.day), rest.gaps[begin:])
        await target.write(section.day, batch_of_gaps(gaps_segment, gaps, begin, len(rest.gaps)))
    is_empty = segment not in reached and not (await target.counts(section.day)).events
    async for found in source.pieces(section, reached.get(segment, 0)):
        piece = found if is_empty else await _missing(target, section, found)
        with suppress(AlreadyStoredError):  # the answer to an earlier attempt was lost
            await target.write(section.day, batch_of_events(segment, piece))
            copied += len(piece.events)
        told(copied)
    return copied


async def _missing(target: DayTarget, section: Section, piece: Piece) -> Piece:
    there = {row.id for row in await target.find(section.day, [row.id for row in piece.events])}
    return replace(piece, events=[row for row in piece.events if row.id not in there])


def _without(known: Sequence[GapRow], gaps: Sequence[GapRow]) -> list[GapRow]:
    """Gaps have no id: one that is known goes for one that is the same."""
    left = Counter(map(_told, known))
    found: list[GapRow] = []
    for gap in gaps:
        if left[_told(gap)] > 0:
            left[_told(gap)] -= 1
        else:
            found.append(gap)
    return found


def _told(gap: GapRow) -> bytes:
    return msgspec.json.encode(gap)


async def _compared(source: DaySource, target: DayTarget, section: Section, copied: int) -> CopiedSection:
    """Every row of the source is looked for by its id: the target may have others of that day."""
    there, here = RowDigest(), RowDigest()
    async for piece in source.pieces(section, 0):
        there.add(piece.events)
        here.add(await target.find(section.day, [row.id for row in piece.events]))
    return CopiedSection(section.day, section.name, copied, there, here)
