"""A group's rows as frames of the journal.

The store takes rows best by whole row groups: those are compressed and written once, anything else is logged
first and rewritten with what follows it. So no frame of events goes beyond a multiple of a row group.
"""

from callgate.recorder.flush.batch import ROW_GROUP_ROWS
from callgate.recorder.journal.frames import EVENTS, GAPS, OPENED, SESSIONS, frame
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.rows import EventRow, Group


class Framer:
    """Used from the recorder's thread only."""

    def __init__(self, redactor: RowRedactor) -> None:
        self._redactor = redactor
        self.room_rows = ROW_GROUP_ROWS  # events until a row group is full

    def frames_of(self, group: Group) -> list[bytearray]:
        """`group`: with no more events than there is room. Its rows are redacted when this returns."""
        frames: list[bytearray] = []
        if group.sessions:
            frames.append(frame(SESSIONS, self._redactor.sessions_json(group.sessions), len(group.sessions)))
        if group.opened:
            frames.append(self._with_bodies(OPENED, group.opened))
        if group.events:
            self.room_rows -= len(group.events)
            frames.append(self._with_bodies(EVENTS, group.events, self.room_rows))
            self.room_rows = self.room_rows or ROW_GROUP_ROWS
        if group.gaps:
            frames.append(frame(GAPS, self._redactor.gaps_json(group.gaps), len(group.gaps)))
        return frames

    def _with_bodies(self, kind: bytes, rows: list[EventRow], wanted_rows: int = 0) -> bytearray:
        rows_json, bodies = self._redactor.events_json(rows)
        return frame(kind, rows_json, len(rows), bodies, wanted_rows=wanted_rows)
