"""Redacted rows for listeners, as they are recorded; implements `ports.RowFeed`.

Of this process, and of the others on its folder as far as it stores their rows. On the loop.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator

import msgspec

from callgate.ports.row_feed import FeedRow, Happening, Missed
from callgate.recorder.flush.foreign_rows import ForeignGroup
from callgate.recorder.group_rows import Group
from callgate.recorder.listeners import Listeners
from callgate.recorder.rows import EventRow, SessionRow
from callgate.recorder.sequence import Sequence

# Held back while rows of others are stored; as many as a listener may have waiting.
_MAX_HELD = 2_000
# A stream is for looking at: the record has the rest of a body.
_SHOWN_CHARS = 2048


class Feed:
    """Rows are told in the order of their numbers (see `Sequence`): while those of other processes are being
    stored, rows with higher numbers wait here."""

    def __init__(self) -> None:
        self._is_held = False
        self._held: list[FeedRow] = []
        self._held_back = 0  # more than anybody would have been told
        self._listeners = Listeners()
        self._last_seq = 0

    @property
    def has_listeners(self) -> bool:
        """May be asked from any thread."""
        return bool(self._listeners)

    def listen(self) -> AsyncGenerator[FeedRow | Missed]:
        return self._listeners.listen()

    async def ready(self) -> None:
        """Whoever listens is told everything from then on."""

    def tell(self, group: Group) -> None:
        rows = list(self._rows(group))
        if self._is_held:
            room = max(0, _MAX_HELD - len(self._held))
            self._held += rows[:room]
            self._held_back += len(rows) - min(room, len(rows))
        else:
            self._listeners.tell(rows)

    def hold(self) -> None:
        """Rows of others have numbers from here on, and are about to be stored."""
        self._is_held = True

    def release(self, group: ForeignGroup | None) -> None:
        """They are stored; None: they are not, and will get other numbers."""
        rows = list(self._rows(group)) if group is not None and self._listeners else []
        rows, self._held = rows + self._held, []
        held_back, self._held_back = self._held_back, 0
        self._is_held = False
        self._listeners.tell(rows, held_back)

    def _rows(self, group: Group | ForeignGroup) -> Iterator[FeedRow]:
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


class FeedNumbers:
    """Numbers for rows of other processes, which this feed tells. Implements `LiveNumbers`."""

    def __init__(self, sequence: Sequence, feed: Feed, loop: asyncio.AbstractEventLoop) -> None:
        self._sequence = sequence
        self._feed = feed
        self._loop = loop

    def take(self, count: int) -> tuple[int, bool]:
        with self._sequence.lock:
            first = self._sequence.take(count)
            self._loop.call_soon_threadsafe(self._feed.hold)
        return first, self._feed.has_listeners

    def tell(self, group: ForeignGroup | None) -> None:
        self._loop.call_soon_threadsafe(self._feed.release, group)


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
