"""Which session an arrival belongs to."""

from dataclasses import replace

import msgspec
from relay.stage import LEGACY, MODERN, arrival

from callgate.model.events import SessionClosed, SessionOpened
from callgate.model.exchange import Arrival
from callgate.model.identity import LOCAL, Principal
from callgate.model.session import Presence
from callgate.relay.session_book import LEGACY_IDLE_S, SessionBook

GAP_S = 1800.0


class Book:
    def __init__(self) -> None:
        self.events: list[SessionOpened | SessionClosed] = []
        self.book = SessionBook(GAP_S, self.events.append)

    def said(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


def test_a_handshake_is_found_by_its_id_and_its_principal_only() -> None:
    book = Book().book
    session = book.handshake(arrival("initialize", envelope=LEGACY), 0)
    assert session.handshake_id is not None
    assert len(session.handshake_id) >= 43
    assert book.find(session.handshake_id, LOCAL) is session
    assert book.find(session.handshake_id, Principal("other")) is None
    assert book.find("made-up", LOCAL) is None


def test_ending_a_session_is_said_once_and_it_is_gone() -> None:
    stage = Book()
    session = stage.book.handshake(arrival("initialize", envelope=LEGACY), 0)
    stage.book.end(session, 5)
    stage.book.end(session, 6)
    assert stage.said() == ["SessionOpened", "SessionClosed"]
    assert session.ended_at == 5
    assert session.handshake_id is not None
    assert stage.book.find(session.handshake_id, LOCAL) is None


def test_a_modern_client_keeps_its_session_until_the_gap_is_too_long() -> None:
    stage = Book()
    first = stage.book.of(arrival("x"), 0)
    assert stage.book.of(arrival("x"), GAP_S) is first
    assert stage.book.of(arrival("x"), 3 * GAP_S) is not first
    assert stage.said() == ["SessionOpened", "SessionClosed", "SessionOpened"]
    assert first.ended_at == GAP_S


def test_principal_client_and_workspace_each_make_a_session_of_their_own() -> None:
    book = Book().book
    here = arrival("x")
    others = [
        arrival("x", principal=Principal("other")),
        arrival("x", envelope=replace(MODERN, client_name="someone else")),
        arrival("x", envelope=replace(MODERN, client_version="2")),
        msgspec.structs.replace(here, workspace="/elsewhere"),
        msgspec.structs.replace(here, transport="stdio"),
    ]
    assert len({book.of(entry, 0).session_id for entry in [here, *others]}) == 6


def test_a_modern_session_ends_with_its_pipe_and_with_no_other() -> None:
    stage = Book()
    one, two = Presence(), Presence()

    def on(pipe: Presence) -> Arrival:
        return msgspec.structs.replace(arrival("x"), presence=pipe)

    first, second = stage.book.of(on(one), 0), stage.book.of(on(two), 0)
    without = stage.book.of(arrival("x"), 0)
    stage.book.end_stream(one, LOCAL, 5)
    assert [session.ended_at for session in (first, second, without)] == [5, None, None]
    assert stage.book.of(on(two), 6) is second
    stage.book.end_stream(two, Principal("other"), 7)
    assert second.ended_at is None


def test_a_forgotten_handshake_ends_after_a_day_without_activity() -> None:
    stage = Book()
    idle = stage.book.handshake(arrival("initialize", envelope=LEGACY), 0)
    active = stage.book.handshake(arrival("initialize", envelope=LEGACY), 0)
    stage.book.of(arrival("x", envelope=LEGACY, session=active), LEGACY_IDLE_S)
    stage.book.handshake(arrival("initialize", envelope=LEGACY), LEGACY_IDLE_S + 1)
    assert (idle.ended_at, active.ended_at) == (0, None)


def test_closing_the_book_ends_every_session() -> None:
    stage = Book()
    sessions = [
        stage.book.handshake(arrival("initialize", envelope=LEGACY), 0),
        stage.book.of(arrival("x"), 0),
    ]
    stage.book.end_all(9)
    assert [session.ended_at for session in sessions] == [9, 9]
    assert stage.said().count("SessionClosed") == 2
