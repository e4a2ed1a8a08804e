"""A group's rows as frames of the journal.

The store takes rows best by whole row groups: those are compressed and written once, anything else is logged
first and rewritten with what follows it. So no frame of events goes beyond a multiple of a row group.
"""

from collections.abc import Sequence

from callgate.recorder.flush.batch import ROW_GROUP_ROWS
from callgate.recorder.group_rows import Group
from callgate.recorder.journal.frames import CALLS, EVENTS, GAPS, OPENED, SESSIONS, frame
from callgate.recorder.redact_rows import RowRedactor


class Framer:
    """Used by one thread at a time."""

    def __init__(self, redactor: RowRedactor) -> None:
        self._redactor = redactor
        self.room_rows = ROW_GROUP_ROWS  # events until a row group is full

    def frames_of(self, group: Group) -> list[bytearray]:
        """`group`: with no more events than there is room. Its rows are redacted when this returns."""
        frames: list[bytearray] = []
        if group.sessions:
            frames.append(frame(SESSIONS, self._redactor.sessions_json(group.sessions), len(group.sessions)))
        if group.opened:
            rows_json, bodies = self._redactor.events_json(group.opened)
            frames.append(frame(OPENED, rows_json, len(group.opened), bodies))
        calls = self._redactor.clean_calls_json(group.calls) if group.calls else None
        if calls is None:
            group.spell_out_calls()
        if group.events:
            rows_json, bodies = self._redactor.events_json(group.events)
            frames.append(self._of_events(EVENTS, len(group.events), rows_json, bodies))
        if calls is not None:
            frames.append(self._of_events(CALLS, len(group.calls), *calls))
        if group.gaps:
            frames.append(frame(GAPS, self._redactor.gaps_json(group.gaps), len(group.gaps)))
        return frames

    def clean_frames_of(self, group: Group) -> list[bytearray] | None:
        """The same where that is short. None, and nothing has changed, if there may be something to redact or
        to shorten, or if there are rows of anything but exchanges."""
        if group.sessions or group.gaps:
            return None
        count = len(group.calls)
        opened = self._redactor.clean_json(group.opened) if group.opened else None
        events = self._redactor.clean_json(group.events) if group.events else None
        calls = self._redactor.clean_calls_json(group.calls) if count else None
        if (
            (group.opened and opened is None)
            or (group.events and events is None)
            or (count and calls is None)
        ):
            return None
        frames: list[bytearray] = []
        if opened is not None:
            frames.append(frame(OPENED, opened[0], len(group.opened), opened[1]))
        if events is not None:
            frames.append(self._of_events(EVENTS, len(group.events), *events))
        if calls is not None:
            frames.append(self._of_events(CALLS, count, *calls))
        return frames

    def _of_events(self, kind: bytes, count: int, rows_json: bytes, bodies: Sequence[bytes]) -> bytearray:
        self.room_rows -= count
        made = frame(kind, rows_json, count, bodies, wanted_rows=self.room_rows)
        self.room_rows = self.room_rows or ROW_GROUP_ROWS
        return made
