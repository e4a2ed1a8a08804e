"""A group's rows as frames of the journal.

The store takes rows best by whole row groups: those are compressed and written once, anything else is logged
first and rewritten with what follows it. So no frame of events goes beyond a multiple of a row group.
"""

from collections.abc import Sequence

import msgspec

from callgate.recorder.build_rows import storable
from callgate.recorder.journal.frames import EVENTS, GAPS, OPENED, SESSIONS, frame
from callgate.recorder.rows import EventRow, GapRow, Group, SessionRow
from callgate.recorder.store.day_files import ROW_GROUP_ROWS

_encode = msgspec.json.Encoder().encode


class Framer:
    """Used from the recorder's thread only."""

    def __init__(self) -> None:
        self.room_rows = ROW_GROUP_ROWS  # events until a row group is full

    def frames_of(self, group: Group) -> list[bytearray]:
        """`group`: with no more events than there is room."""
        frames: list[bytearray] = []
        if group.sessions:
            frames.append(frame(SESSIONS, _encoded(group.sessions), len(group.sessions)))
        if group.opened:
            frames.append(_with_bodies(OPENED, group.opened))
        if group.events:
            self.room_rows -= len(group.events)
            frames.append(_with_bodies(EVENTS, group.events, self.room_rows))
            self.room_rows = self.room_rows or ROW_GROUP_ROWS
        if group.gaps:
            frames.append(frame(GAPS, _encoded(group.gaps), len(group.gaps)))
        return frames


def _with_bodies(kind: bytes, rows: list[EventRow], wanted_rows: int = 0) -> bytearray:
    requests = [row.request_json for row in rows]
    responses = [row.response_json for row in rows]
    for row in rows:
        row.request_json = row.response_json = None
    try:
        rows_json = _encoded(rows)
    finally:  # whoever listens is told them too
        for row, request, response in zip(rows, requests, responses, strict=True):
            row.request_json, row.response_json = request, response
    bodies = [body or b"" for body in requests + responses]
    return frame(kind, rows_json, len(rows), bodies, wanted_rows=wanted_rows)


def _encoded(rows: Sequence[SessionRow] | Sequence[EventRow] | Sequence[GapRow]) -> bytes:
    try:
        return _encode(rows)
    except Exception:  # noqa: BLE001 - a name with a lone surrogate: it costs its own odd characters, no more
        return _encode([storable(row) for row in rows])
