"""Which session an arrival belongs to.

Rules
1. Legacy: one session per handshake; it lives until the client ends it, its stream closes, or (HTTP) it was
   idle for a day.
2. Modern (and anything before a handshake): principal, client and workspace make the session; a gap of more
   than `gap_s` begins a new one. Two principals never share one, nor do two pipes: each is one client, whose
   sessions end with it.
3. Opening and closing are each said once, through `on_event`.
4. With replicas, a handshake id names its home, and a modern session over HTTP has the id that every replica
   gives it. It is over for all of them when nobody saw it: a replica forgets it without closing it.
"""

import secrets
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable

from callgate.model.envelope import Era
from callgate.model.events import SessionClosed, SessionOpened
from callgate.model.exchange import Arrival
from callgate.model.identity import Principal, new_exchange_id
from callgate.model.session import Presence, Session
from callgate.ports.homes import AdoptedSession, Homes

# Clients that crash never send DELETE; without an end their sessions would pile up.
LEGACY_IDLE_S = 24 * 3600.0
# Of one principal. No person with agents opens more; the ones that were idle longest end first.
_MAX_SESSIONS = 2_000

_Key = tuple[str | None, str | None, str | None, str, str | None, Presence | None, bool]
_PRESENCE = 5  # its place in a key


class SessionBook:
    def __init__(
        self,
        gap_s: float,
        on_event: Callable[[SessionOpened | SessionClosed], None],
        homes: Homes | None = None,
    ) -> None:
        self.gap_s = gap_s
        self._homes = homes
        self._on_event = on_event
        # By principal, so that none can crowd out another; oldest activity first, to the second, so that
        # what has expired is at the front.
        self._handshakes = defaultdict[str, OrderedDict[str, Session]](OrderedDict)
        self._derived = defaultdict[str, OrderedDict[_Key, Session]](OrderedDict)

    def handshake(self, arrival: Arrival, now_s: float) -> Session:
        if arrival.transport != "http":
            return self._open(arrival, now_s)  # it lives and ends with its connection
        # 256 bits from the CSPRNG: whoever knows the id is in the session (2025-11-25, transports).
        homes = self._homes
        handshake_id = homes.new_handshake_id(arrival.principal) if homes else secrets.token_urlsafe(32)
        book = self._handshakes_of(arrival.principal, now_s)
        session = book[handshake_id] = self._open(arrival, now_s, handshake_id)
        return session

    def _handshakes_of(self, principal: Principal, now_s: float) -> OrderedDict[str, Session]:
        book = self._handshakes[principal.name]
        self._expire(book, now_s - LEGACY_IDLE_S)
        return book

    def find(self, handshake_id: str, principal: Principal) -> Session | None:
        book = self._handshakes.get(principal.name)
        return book.get(handshake_id) if book is not None else None

    def adopt(
        self, adopted: AdoptedSession, handshake_id: str, principal: Principal, now_s: float
    ) -> Session:
        """A handshake session of a replica that is gone. Its open calls are lost; the rest goes on."""
        book = self._handshakes_of(principal, now_s)
        session = book[handshake_id] = Session(
            session_id=adopted.session_id,
            principal=principal,
            transport="http",
            envelope=adopted.envelope,
            created_at=adopted.created_at,
            last_seen_at=now_s,
            workspace=adopted.workspace,
            target=adopted.target,
            handshake_id=handshake_id,
        )
        self._on_event(SessionOpened(session))
        return session

    def known(self, arrival: Arrival, now_s: float) -> Session | None:
        """As `of`, but none is begun."""
        # A legacy arrival says itself which session it belongs to. A modern one may be over by now.
        is_given = arrival.session is not None and arrival.session.era is Era.LEGACY
        if not is_given and self._is_shared(arrival):
            book = self._derived.get(arrival.principal.name)
            found = book.get(_key_of(arrival)) if book is not None else None
            if found is None or found.last_seen_at < now_s - self.gap_s:
                return None
        return self.of(arrival, now_s)

    async def claim(self, arrival: Arrival) -> Session:
        """A modern session that was not seen here: as another replica knows it, or a new one."""
        assert self._homes is not None
        now_s = time.time()
        key = self._homes.modern_key(_parts_of(arrival), now_s)
        found = await self._homes.claim(key)
        now_s = time.time()
        if (known := self.known(arrival, now_s)) is not None:  # another request was faster
            return known
        session = self._derive(arrival, now_s, found.session_id)
        self._homes.entered(key, session, found.home)
        return session

    def of(self, arrival: Arrival, now_s: float) -> Session:
        """The session of any arrival but `initialize`, touched."""
        session = arrival.session
        if session is None or session.envelope.era is not Era.LEGACY:  # as `known`
            session = self._derive(arrival, now_s)
        if session.last_seen_at // 1 != now_s // 1:  # books are in the order of seconds
            book = self._handshakes.get(session.principal.name)
            if book is not None and session.handshake_id in book:
                book.move_to_end(session.handshake_id)
        session.last_seen_at = now_s
        return session

    def end(self, session: Session, now_s: float, *, goes_on: bool = False) -> None:
        """`goes_on`: at another replica."""
        if session.ended_at is not None:
            return
        session.ended_at = now_s
        book = self._handshakes.get(session.principal.name)
        if book is not None and session.handshake_id is not None:
            book.pop(session.handshake_id, None)
        self._on_event(SessionClosed(session, goes_on))

    def end_stream(self, presence: Presence, principal: Principal, now_s: float) -> None:
        """The pipe of a client closed."""
        book = self._derived.get(principal.name, OrderedDict[_Key, Session]())
        for key in [key for key in book if key[_PRESENCE] is presence]:
            self.end(book.pop(key), now_s)

    def end_all(self, now_s: float) -> None:
        books = [*self._handshakes.values(), *self._derived.values()]
        for session in [session for book in books for session in book.values()]:
            self.end(session, now_s, goes_on=self._homes is not None)
        self._derived.clear()

    def _is_shared(self, arrival: Arrival) -> bool:
        """Other replicas may have the session of this arrival: it is no pipe."""
        return self._homes is not None and arrival.transport == "http" and arrival.presence is None

    def _derive(self, arrival: Arrival, now_s: float, session_id: str | None = None) -> Session:
        book = self._derived[arrival.principal.name]
        key = _key_of(arrival)
        session = book.get(key)
        if session is not None and session.last_seen_at // 1 == now_s // 1:
            return session
        self._expire(book, now_s - self.gap_s)
        session = book.get(key)
        if session is None:
            if session_id is None and self._homes is not None and self._is_shared(arrival):
                session_id = self._homes.modern_key(_parts_of(arrival), now_s).session_id
            session = book[key] = self._open(arrival, now_s, session_id=session_id)
        book.move_to_end(key)
        return session

    def _open(
        self,
        arrival: Arrival,
        now_s: float,
        handshake_id: str | None = None,
        session_id: str | None = None,
    ) -> Session:
        session = Session(
            session_id=session_id or new_exchange_id(now_s),
            principal=arrival.principal,
            transport=arrival.transport,
            envelope=arrival.envelope,
            created_at=now_s,
            last_seen_at=now_s,
            workspace=arrival.workspace,
            is_local=arrival.is_local,
            target=arrival.target,
            handshake_id=handshake_id,
            presence=arrival.presence or Presence(),
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
            is_shared = self._homes is not None and session.handshake_id is None
            self.end(session, session.last_seen_at, goes_on=is_shared)


def _key_of(arrival: Arrival) -> _Key:
    envelope = arrival.envelope
    return (
        envelope.client_name,
        envelope.client_version,
        arrival.workspace,
        arrival.transport,
        arrival.target,
        arrival.presence,
        arrival.is_local,
    )


def _parts_of(arrival: Arrival) -> tuple[str | None, ...]:
    """What makes a session for all replicas."""
    return (arrival.principal.name, *_key_of(arrival)[:5])
