"""What was taken from the loop, as rows: which ones an event makes, and which it does not.

1. A settled exchange is one row, of an ordinary call what is its own (`call_rows`). One that was told to be
   open, because it lasts, is written as open before.
2. A session has a row when it opens and when it closes, and one more on every day on which it is used: each
   day's file of the record must make sense by itself.
3. What was lost is told with the next rows.
"""

import logging
import time
from collections.abc import Iterable

import msgspec

from callgate.model.events import Aside, ExchangeOpened, ExchangeSettled, SessionOpened
from callgate.model.exchange import Exchange
from callgate.model.session import Session
from callgate.recorder.build_rows import aside_row, event_row, open_row, session_row
from callgate.recorder.call_rows import Calls
from callgate.recorder.intake import Bodiless, Taken
from callgate.recorder.losses import Losses
from callgate.recorder.rows import EventRow, GapRow, SessionRow
from callgate.recorder.sequence import Sequence

_log = logging.getLogger(__name__)

# Of requests in one frame of open exchanges, far from the journal's limit; the others are written next time.
_OPEN_BYTES = 16 * 1024 * 1024
_NO_ROW = "no row could be made of it"
_MAX_KNOWN_SESSIONS = 100_000
_SECONDS_A_DAY = 86_400


class Group(msgspec.Struct):
    """Rows that are journalled together; `created` are those of `sessions` that just began."""

    created: list[SessionRow] = []
    sessions: list[SessionRow] = []
    opened: list[EventRow] = []
    events: list[EventRow] = []
    calls: Calls = msgspec.field(default_factory=Calls)
    gaps: list[GapRow] = []

    def spell_out_calls(self) -> None:
        """As whole rows, which can be redacted, shortened and shown."""
        if self.calls:
            self.events += self.calls.event_rows()
            self.calls = Calls()


class Grouper:
    """Used by one thread at a time."""

    def __init__(self, sequence: Sequence, writer_id: str) -> None:
        self._sequence = sequence
        self._writer_id = writer_id
        self._told: dict[str, Exchange] = {}  # open, oldest first, not written yet
        self._open: set[str] = set()  # written as open
        self._sessions: set[str] = set()  # of today
        self._today = 0

    def group(self, taken: Iterable[Taken], losses: Losses) -> Group:
        """Rows as they were said: `redact_rows` looks through them. Never raises."""
        self._turn_page()
        group = Group()
        for event in taken:
            if isinstance(event, ExchangeSettled) and self._add_call(event.exchange, group):
                continue
            if isinstance(event, (ExchangeSettled, Bodiless)):
                self._add_settled(event, group, losses)
            elif isinstance(event, ExchangeOpened):
                if event.exchange.settlement is None:
                    self._told[event.exchange.exchange_id] = event.exchange
            elif isinstance(event, Aside):
                self._add_aside(event, group, losses)
            elif isinstance(event, SessionOpened):
                group.created.append(self._note_session(event.session, group))
            else:
                self._note_session(event.session, group, is_end=True)
        if self._told:
            self._add_opened(group)
        if group.events:
            self._sequence.number(group.events)
        self._sequence.number_calls(group.calls)
        group.gaps = losses.rows()
        return group

    def _add_call(self, exchange: Exchange, group: Group) -> bool:
        """False: it is no ordinary call, or was told to be open."""
        if self._told or self._open:
            return False
        try:
            if not group.calls.add(exchange):
                return False
        except Exception:  # noqa: BLE001 - whatever it is: `_add_settled` tells
            return False
        if exchange.session.session_id not in self._sessions:
            self._note_session(exchange.session, group)
        return True

    def _add_settled(self, event: ExchangeSettled | Bodiless, group: Group, losses: Losses) -> None:
        exchange = event.exchange
        exchange_id = exchange.exchange_id
        was_open, is_whole = exchange_id in self._open, isinstance(event, ExchangeSettled)
        row = None
        try:
            if was_open or not is_whole or not group.calls.add(exchange):
                row = event_row(exchange)
        except Exception:  # noqa: BLE001 - not even settled, or made of something else: it costs no other
            _log.exception("an event could not be recorded")
            losses.missing.add(exchange.opened_at, _NO_ROW)
            return
        if self._told:
            self._told.pop(exchange_id, None)
        if exchange.session.session_id not in self._sessions:
            self._note_session(exchange.session, group)
        if row is None:
            return
        if isinstance(event, Bodiless):
            row.request_bytes, row.response_bytes = event.request_bytes, event.response_bytes
            row.is_cut = True
        if was_open:
            self._open.discard(exchange_id)
            row.was_open = True
        group.events.append(row)

    def _add_aside(self, aside: Aside, group: Group, losses: Losses) -> None:
        try:
            group.events.append(aside_row(aside))
        except Exception:  # noqa: BLE001 - see above
            losses.missing.add(aside.at_s, _NO_ROW)

    def _add_opened(self, group: Group) -> None:
        size = 0
        for exchange in list(self._told.values()):
            if size > _OPEN_BYTES:
                break
            size += len(exchange.arrival.params)
            del self._told[exchange.exchange_id]
            try:
                row = open_row(exchange)
            except Exception:  # noqa: BLE001 - see above; its end will tell of it
                _log.exception("an open call could not be recorded")
                continue
            if row.session_id not in self._sessions:
                self._note_session(exchange.session, group)
            self._open.add(row.id)
            row.writer = self._writer_id
            group.opened.append(row)
        self._sequence.number(group.opened)

    def _note_session(self, session: Session, group: Group, is_end: bool = False) -> SessionRow:
        row = session_row(session)
        row.writer = self._writer_id
        group.sessions.append(row)
        if is_end:
            self._sessions.discard(session.session_id)
            return row
        row.ended_at = None  # it may have ended since, but that is another event
        if len(self._sessions) < _MAX_KNOWN_SESSIONS:
            self._sessions.add(session.session_id)
        return row

    def _turn_page(self) -> None:
        today = int(time.time() // _SECONDS_A_DAY)
        if today != self._today:
            self._today = today
            self._sessions.clear()
