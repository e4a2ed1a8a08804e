"""What was taken from the loop, as rows: which ones an event makes, and which it does not.

1. A settled exchange is one row. One that was told to be open, because it lasts, is written as open before.
2. A session has a row when it opens and when it closes, and one more on every day on which it is used: each
   day's file of the record must make sense by itself.
3. What was lost is told with the next rows.
"""

import time
from collections.abc import Iterable

from callgate.model.events import Aside, ExchangeOpened, ExchangeSettled, SessionOpened
from callgate.model.exchange import Exchange
from callgate.model.session import Session
from callgate.recorder.build_rows import RowBuilder
from callgate.recorder.intake import Bodiless, Taken
from callgate.recorder.losses import Losses
from callgate.recorder.rows import EventRow, Group, SessionRow

# Of requests in one frame of open exchanges, far from the journal's limit; the others are written next time.
_OPEN_BYTES = 16 * 1024 * 1024
_NO_ROW = "no row could be made of it"
_MAX_KNOWN_SESSIONS = 100_000
_SECONDS_A_DAY = 86_400


class Grouper:
    """Used from the recorder's thread only."""

    def __init__(self, builder: RowBuilder, writer_id: str) -> None:
        self._builder = builder
        self._writer_id = writer_id
        self._told: dict[str, Exchange] = {}  # open, oldest first, not written yet
        self._open: set[str] = set()  # written as open
        self._sessions: set[str] = set()  # of today
        self._today = 0

    def group(self, taken: Iterable[Taken], losses: Losses) -> Group:
        """Never raises."""
        self._turn_page()
        group = Group()
        settled: list[Exchange] = []
        bodiless: dict[str, Bodiless] = {}
        for event in taken:
            if isinstance(event, ExchangeOpened):
                if event.exchange.settlement is None:
                    self._told[event.exchange.exchange_id] = event.exchange
            elif isinstance(event, (ExchangeSettled, Bodiless)):
                exchange = event.exchange
                if exchange.settlement is None:  # a bug of whoever emitted it
                    losses.missing.add(exchange.opened_at, _NO_ROW)
                    continue
                settled.append(exchange)
                if isinstance(event, Bodiless):
                    bodiless[exchange.exchange_id] = event
                self._told.pop(exchange.exchange_id, None)
                if exchange.session.session_id not in self._sessions:
                    self._note_session(exchange.session, group)
            elif isinstance(event, Aside):
                self._add_aside(event, group, losses)
            elif isinstance(event, SessionOpened):
                group.created.append(self._note_session(event.session, group))
            else:
                self._note_session(event.session, group, is_end=True)
        group.events += self._event_rows(settled, losses)
        for row in group.events if bodiless else ():
            if (bare := bodiless.get(row.id)) is not None:
                row.request_bytes, row.response_bytes = bare.request_bytes, bare.response_bytes
                row.is_cut = True
        group.opened = self._opened_rows(group)
        group.gaps = losses.rows()
        return group

    def _add_aside(self, aside: Aside, group: Group, losses: Losses) -> None:
        try:
            row = self._builder.aside_row(aside)
        except Exception:  # noqa: BLE001 - whatever it was made of, it costs no other
            losses.missing.add(aside.at_s, _NO_ROW)
            return
        self._builder.sequence.number([row])
        group.events.append(row)

    def _event_rows(self, settled: list[Exchange], losses: Losses) -> list[EventRow]:
        if not settled:
            return []
        rows, missing = self._builder.event_rows(settled)
        for _ in range(missing):
            losses.missing.add(time.time(), _NO_ROW)
        if self._open:
            for row in rows:
                if row.id in self._open:
                    self._open.discard(row.id)
                    row.was_open = True
        return rows

    def _opened_rows(self, group: Group) -> list[EventRow]:
        if not self._told:
            return []
        written: list[Exchange] = []
        size = 0
        for exchange in self._told.values():
            if size > _OPEN_BYTES:
                break
            written.append(exchange)
            size += len(exchange.arrival.params)
        rows, _ = self._builder.open_rows(written)
        for exchange in written:
            del self._told[exchange.exchange_id]
            if exchange.session.session_id not in self._sessions:
                self._note_session(exchange.session, group)
        for row in rows:
            self._open.add(row.id)
            row.writer = self._writer_id
        return rows

    def _note_session(self, session: Session, group: Group, is_end: bool = False) -> SessionRow:
        row = self._builder.session_row(session)
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
