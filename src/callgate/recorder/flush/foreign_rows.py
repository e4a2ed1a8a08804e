"""Rows written by other processes on the same folder: renumbers them and publishes them.

Their own process gave them numbers that lie between ours. A listener that is past those numbers would never
get them, so they get our next numbers when they are about to be stored, and are published when they are.
"""

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import EVENTS, OPENED, SESSIONS, Frame
from callgate.recorder.journal.journal import writer_of
from callgate.recorder.rows import EventRow, SessionRow

_Row = TypeVar("_Row", EventRow, SessionRow)
Write = Callable[[Batch], None]

_MAX_KNOWN_SESSIONS = 10_000


class ForeignGroup(msgspec.Struct):
    """Rows of others that were stored together; `created` are those of `sessions` that just began."""

    created: list[SessionRow] = []
    sessions: list[SessionRow] = []
    opened: list[EventRow] = []
    events: list[EventRow] = []


class LiveNumbers(Protocol):
    """Of the live stream that they are told in."""

    def take(self, count: int) -> tuple[int, bool]:
        """The first of so many numbers, and whether somebody listens. The stream holds back its own rows with
        higher numbers until `tell`."""
        ...

    def tell(self, group: ForeignGroup | None) -> None:
        """They are stored; None: they are not, or nobody listens."""
        ...


class ForeignRows:
    """Used from the store's thread."""

    def __init__(self, own_writer: str, numbers: LiveNumbers) -> None:
        self._own_writer = own_writer
        self._numbers = numbers
        self._known_sessions: set[str] = set()

    def writing(self, segment: Path, write: Write) -> Write:
        """`write` as it is to be done for what this segment holds."""
        if writer_of(segment) == self._own_writer:
            return write
        return lambda batch: self._store(batch, write)

    def _store(self, batch: Batch, write: Write) -> None:
        batch.spell_out_calls()
        frames = {kind: _rows_of(batch.frames[kind], EventRow) for kind in (OPENED, EVENTS)}
        group = self._group_of(batch, frames)
        numbered = [*group.opened, *group.events]
        first, has_listeners = self._numbers.take(len(numbered))
        for seq, row in enumerate(numbered, first):
            row.seq = seq
        told: ForeignGroup | None = None
        try:
            for kind, found in frames.items():
                for frame, rows in zip(batch.frames[kind], found, strict=True):
                    if rows:
                        frame.rows_json = msgspec.json.encode(rows)
            write(batch)
            if has_listeners:
                _add_bodies(batch, frames)
                told = group
        finally:
            self._numbers.tell(told)

    def _group_of(self, batch: Batch, frames: dict[bytes, list[list[EventRow]]]) -> ForeignGroup:
        sessions = list(chain.from_iterable(_rows_of(batch.frames[SESSIONS], SessionRow)))
        created = [row for row in sessions if row.ended_at is None and self._is_new(row.session_id)]
        opened, events = (list(chain.from_iterable(frames[kind])) for kind in (OPENED, EVENTS))
        return ForeignGroup(created, sessions, opened, events)

    def _is_new(self, session_id: str) -> bool:
        if session_id in self._known_sessions or len(self._known_sessions) >= _MAX_KNOWN_SESSIONS:
            return False
        self._known_sessions.add(session_id)
        return True


def _rows_of(frames: list[Frame], shape: type[_Row]) -> list[list[_Row]]:
    """Frame by frame; none of one that cannot be read: the store says so, and numbers do not matter then."""
    found: list[list[_Row]] = []
    for frame in frames:
        try:
            found.append(msgspec.json.decode(frame.rows_json, type=list[shape]))
        except msgspec.DecodeError:
            found.append([])
    return found


def _add_bodies(batch: Batch, frames: dict[bytes, list[list[EventRow]]]) -> None:
    """Listeners get them too."""
    for kind, found in frames.items():
        for frame, rows in zip(batch.frames[kind], found, strict=True):
            if frame.bodies is not None:
                for place, row in enumerate(rows):
                    request, response = frame.bodies.of_row(place)
                    row.request_json, row.response_json = bytes(request) or None, bytes(response) or None
