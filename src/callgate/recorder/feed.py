"""Redacted rows to whoever listens, as they are recorded; implements `ports.RowFeed`.

A slow listener misses rows and is told how many; the others and the recorder do not notice. On the loop.
"""

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Iterator

import msgspec

from callgate.ports.row_feed import FeedRow, Happening, Missed
from callgate.recorder.rows import EventRow, Group, SessionRow

# Of one listener; rows are shared among them. Who is this far behind reads the record.
_MAX_WAITING = 2_000
# A stream is for looking at: the record has the rest of a body.
_SHOWN_CHARS = 2048


class _Listener:
    def __init__(self) -> None:
        self._waiting: deque[FeedRow] = deque()
        self._missed = 0
        self._is_told = asyncio.Event()

    def tell(self, rows: list[FeedRow], missed: int = 0) -> None:
        # Once behind, nothing more until that was told: who comes back with the id of a row it was given must
        # not have passed the gap.
        room = 0 if self._missed else max(0, _MAX_WAITING - len(self._waiting))
        self._waiting.extend(rows[:room])
        self._missed += len(rows) - min(room, len(rows)) + missed
        if rows or missed:
            self._is_told.set()

    async def next(self) -> FeedRow | Missed:
        while not self._waiting and not self._missed:
            self._is_told.clear()
            await self._is_told.wait()
        if self._waiting:
            return self._waiting.popleft()
        missed, self._missed = self._missed, 0
        return Missed(missed)


class Feed:
    """Rows are told in the order of their numbers (see `Sequence`): while those of other processes are being
    stored, rows with higher numbers wait here."""

    def __init__(self) -> None:
        self._is_held = False
        self._held: list[FeedRow] = []
        self._held_back = 0  # more than anybody would have been told
        # Weakly: a stream that was given up before its first row has nobody to take it off the list.
        self._listeners: weakref.WeakSet[_Listener] = weakref.WeakSet()
        self._last_seq = 0

    @property
    def has_listeners(self) -> bool:
        """May be asked from any thread."""
        return bool(self._listeners)

    def listen(self) -> AsyncGenerator[FeedRow | Missed]:
        listener = _Listener()
        self._listeners.add(listener)  # now, not with the first row that is asked for: none falls in between
        return self._rows_for(listener)

    async def _rows_for(self, listener: _Listener) -> AsyncGenerator[FeedRow | Missed]:
        try:
            while True:
                yield await listener.next()
        finally:
            self._listeners.discard(listener)

    def tell(self, group: Group) -> None:
        rows = list(self._rows(group))
        if self._is_held:
            room = max(0, _MAX_WAITING - len(self._held))
            self._held += rows[:room]
            self._held_back += len(rows) - min(room, len(rows))
        else:
            self._tell(rows)

    def hold(self) -> None:
        """Rows of others have numbers from here on, and are about to be stored."""
        self._is_held = True

    def release(self, group: Group | None) -> None:
        """They are stored; None: they are not, and will get other numbers."""
        rows = list(self._rows(group)) if group is not None and self._listeners else []
        rows, self._held = rows + self._held, []
        held_back, self._held_back = self._held_back, 0
        self._is_held = False
        self._tell(rows, held_back)

    def _tell(self, rows: list[FeedRow], missed: int = 0) -> None:
        for listener in self._listeners:
            listener.tell(rows, missed)

    def _rows(self, group: Group) -> Iterator[FeedRow]:
        for session in group.created:
            yield self._of_session("session_created", session)
        for row in group.opened:
            yield self._of_event("exchange_started", row)
        touched: dict[str, None] = {}
        for row in group.events:
            if not row.was_open:
                yield self._of_event("exchange_started", row)
            yield self._of_event("exchange_settled", row)
            if row.session_id is not None:
                touched[row.session_id] = None
        for session_id in touched:
            yield FeedRow(self._last_seq, "session_updated", {"session_id": session_id})
        for session in group.sessions:
            if session.ended_at is not None:
                yield self._of_session("session_closed", session)

    def _of_session(self, happening: Happening, session: SessionRow) -> FeedRow:
        row = {name: value for name, value in msgspec.to_builtins(session).items() if name != "writer"}
        return FeedRow(self._last_seq, happening, row)

    def _of_event(self, happening: Happening, row: EventRow) -> FeedRow:
        seq = row.seq or 0
        self._last_seq = max(self._last_seq, seq)
        told = {name: getattr(row, name) for name in row.__struct_fields__ if name not in _UNTOLD}
        for body in ("request_json", "response_json"):
            if told[body] is not None:
                told[body] = _beginning(told[body])
        if happening == "exchange_started":
            told = {name: value for name, value in told.items() if name in _KNOWN_AT_FIRST}
        return FeedRow(seq, happening, told)


def _beginning(body: bytes) -> str:
    return str(body[: 4 * _SHOWN_CHARS], "utf-8", "replace")[:_SHOWN_CHARS]  # of 4 bytes each at most


_UNTOLD = frozenset({"hops", "writer", "was_open"})
_KNOWN_AT_FIRST = frozenset(
    {
        "id", "ts", "session_id", "method", "client", "kind", "sender", "rpc_id", "seq", "server_name",
        "tool_name", "request_json", "annotations", "request_bytes", "trace_id",
        "principal", "via",
    }
)  # fmt: skip
