"""Which session an arrival belongs to.

Rules
1. Legacy: one session per handshake; it lives until the client ends it, its stream closes, or (HTTP) it was
   idle for a day.
2. Modern (and anything before a handshake): principal, client and workspace make the session; a gap of more
   than `gap_s` begins a new one. Two principals never share one.
3. Opening and closing are each said once, through `on_event`.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable

from callgate.model.events import SessionClosed, SessionOpened
from callgate.model.exchange import Arrival
from callgate.model.identity import Principal, new_exchange_id
from callgate.model.session import Session

# Clients that crash never send DELETE; without an end their sessions would pile up.
LEGACY_IDLE_S = 24 * 3600.0
# Whoever opens more is not a person with agents; the ones that were idle longest end first.
_MAX_SESSIONS = 20_000

_Key = tuple[str, str | None, str | None, str | None, str, str | None]


class SessionBook:
    def __init__(self, gap_s: float, on_event: Callable[[SessionOpened | SessionClosed], None]) -> None:
        self._gap_s = gap_s
        self._on_event = on_event
        # Oldest activity first, so that what has expired is always at the front.
        self._handshakes: OrderedDict[str, Session] = OrderedDict()
        self._derived: OrderedDict[_Key, Session] = OrderedDict()

    def handshake(self, arrival: Arrival, now_s: float) -> Session:
        if arrival.transport != "http":
            return self._open(arrival, now_s)  # it lives and ends with its connection
        self._expire(self._handshakes, now_s - LEGACY_IDLE_S)
        # 256 bits from the CSPRNG: whoever knows the id is in the session (2025-11-25, transports).
        handshake_id = secrets.token_urlsafe(32)
        session = self._handshakes[handshake_id] = self._open(arrival, now_s, handshake_id)
        return session

    def find(self, handshake_id: str, principal: Principal) -> Session | None:
        session = self._handshakes.get(handshake_id)
        return session if session is not None and session.principal == principal else None

    def of(self, arrival: Arrival, now_s: float) -> Session:
        """The session of any arrival but `initialize`, touched."""
        session = arrival.session or self._derive(arrival, now_s)
        session.last_seen_at = now_s
        if session.handshake_id in self._handshakes:
            self._handshakes.move_to_end(session.handshake_id)
        return session

    def end(self, session: Session, now_s: float) -> None:
        if session.ended_at is not None:
            return
        session.ended_at = now_s
        if session.handshake_id is not None:
            self._handshakes.pop(session.handshake_id, None)
        self._on_event(SessionClosed(session))

    def end_all(self, now_s: float) -> None:
        for session in [*self._handshakes.values(), *self._derived.values()]:
            self.end(session, now_s)
        self._derived.clear()

    def _derive(self, arrival: Arrival, now_s: float) -> Session:
        self._expire(self._derived, now_s - self._gap_s)
        envelope = arrival.envelope
        key: _Key = (
            arrival.principal.name,
            envelope.client_name,
            envelope.client_version,
            arrival.workspace,
            arrival.transport,
            arrival.target,
        )
        session = self._derived.get(key)
        if session is None:
            session = self._derived[key] = self._open(arrival, now_s)
        self._derived.move_to_end(key)
        return session

    def _open(self, arrival: Arrival, now_s: float, handshake_id: str | None = None) -> Session:
        session = Session(
            session_id=new_exchange_id(now_s),
            principal=arrival.principal,
            transport=arrival.transport,
            envelope=arrival.envelope,
            created_at=now_s,
            last_seen_at=now_s,
            workspace=arrival.workspace,
            target=arrival.target,
            handshake_id=handshake_id,
        )
        self._on_event(SessionOpened(session))
        return session

    def _expire(
        self, book: "OrderedDict[str, Session] | OrderedDict[_Key, Session]", before_s: float
    ) -> None:
        while book:
            key, session = next(iter(book.items()))
            if session.last_seen_at >= before_s and len(book) < _MAX_SESSIONS:
                return
            book.pop(key)  # pyright: ignore[reportArgumentType] - the key comes from this very book
            self.end(session, session.last_seen_at)
